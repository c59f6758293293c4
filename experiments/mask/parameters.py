"""Studies of a parameter of MASK or of its machine, on one pair a category: weighted speedups."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gpusim.studies.reproduce import (
    AVERAGE,
    Bars,
    Figure,
    Lines,
    Measured,
    compared,
    figure,
    number,
    one,
    with_average,
)

from .common import (
    BASE,
    DESIGNS,
    HUGE,
    IDEAL,
    MASK,
    PARTS,
    PWCACHE,
    SMS,
    STUDIED,
    gain,
    of_ideal,
    pair_sweep,
    variants,
)

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.studies.reproduce.tables import Change

study = partial(pair_sweep, workloads=STUDIED.values())
"""The pairs on some designs, with some settings."""

SPEEDUP = "weighted_speedup"
BOTH = {"SharedTLB": BASE, "MASK": MASK}
ON_BASE = {"variant": BASE}
"""Where IPCs alone are measured."""


def over(values: list[int] | list[float]) -> Change:
    """A line a pair, of a table with a column for each value of a parameter."""
    return lambda table: table.T.set_axis(values)


BYPASS_ENTRIES = "tlb.L2.fill.bypass_entries"
BYPASS_SIZES = [16, 32, 64, 128]
TOKENS = PARTS["MASK-TLB"]
NO_MORE = 0.01
"""A gain that is none (our choice)."""


@figure(
    id="mask.sec72.bypass_size",
    title="§7.2: size of the TLB bypass cache",
    about="Weighted speedups of MASK-TLB, one pair a category.",
    sweeps=(
        study(variants=[BASE]),
        study(variants=[TOKENS], alone=(), set={BYPASS_ENTRIES: BYPASS_SIZES}),
    ),
    table=compared(
        SPEEDUP,
        STUDIED,
        {f"{size} entries": {"variant": TOKENS, BYPASS_ENTRIES: size} for size in BYPASS_SIZES},
        {**ON_BASE, BYPASS_ENTRIES: None},
    ),
    draw=Lines("entries of the bypass cache", "weighted speedup", over(BYPASS_SIZES)),
)
def bypass_size(table: pd.DataFrame) -> dict[str, Measured]:
    """The larger ones beside 32 entries."""
    means = table.mean()
    more = means[["64 entries", "128 entries"]].max() / means["32 entries"] - 1
    return {"mask.sec72.bypass_saturates": one(more, more < NO_MORE)}


INITIAL_TOKENS = "tlb.L2.fill.initial"
INITIAL_PARTS = [0.2, 0.4, 0.6, 0.8, 1.0]
SMALL = 0.01


@figure(
    id="mask.sec6",
    title="§6: InitialTokens",
    about="Weighted speedups of MASK, one pair a category, by the part of an application's "
    "warps that have tokens after the first epoch.",
    sweeps=(
        study(variants=[BASE]),
        study(variants=[MASK], alone=(), set={INITIAL_TOKENS: INITIAL_PARTS}),
    ),
    table=compared(
        SPEEDUP,
        STUDIED,
        {f"{part:.0%}": {"variant": MASK, INITIAL_TOKENS: part} for part in INITIAL_PARTS},
        {**ON_BASE, INITIAL_TOKENS: None},
    ),
    draw=Lines("InitialTokens, part of the warps", "weighted speedup", over(INITIAL_PARTS)),
    after="mask.sec73.large_pages",
)
def initial_tokens(table: pd.DataFrame) -> dict[str, Measured]:
    """From the worst to the best."""
    means = table.mean()
    spread = means.max() / means.min() - 1
    return {"mask.sec6.initial_tokens": one(spread, spread < SMALL)}


L1_SIZES, L2_SIZES = [16, 64, 256], [64, 512, 4096, 8192]
TIE = 0.02
"""Weighted speedups that are equal (our choice)."""


def sizes(key: str, entries: list[int]) -> dict[str, dict[str, object]]:
    """Both designs with TLBs of each size."""
    return {
        f"{name} {size}": {"variant": variant, key: size}
        for size in entries
        for name, variant in BOTH.items()
    }


def by_size(entries: list[int]) -> Change:
    """Means over the pairs, a row a size, a column a design."""

    def means(table: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        mean = table.T[AVERAGE]
        columns = {name: [mean[f"{name} {size}"] for size in entries] for name in BOTH}
        return pd.DataFrame(columns, index=entries)

    return means


L1_TLBS = Figure(
    id="mask.sec73.l1_tlb",
    title="§7.3: L1 TLB sizes",
    about="Weighted speedups, one pair a category; fully associative. IPCs alone are those of "
    "SharedTLB with as many entries. The paper gives no number.",
    sweeps=(
        study(
            variants=BOTH.values(),
            set={"tlb.L1.entries, tlb.L1.ways": [[one, one] for one in L1_SIZES]},
        ),
    ),
    table=compared(SPEEDUP, STUDIED, sizes("tlb.L1.entries", L1_SIZES), ON_BASE, with_average),
    draw=Lines("entries of an L1 TLB", "weighted speedup", by_size(L1_SIZES)),
    after="mask.table4",
)


@figure(
    id="mask.sec73.l2_tlb",
    title="§7.3: L2 TLB sizes",
    about="Weighted speedups, one pair a category; IPCs alone are those of SharedTLB with as "
    "many entries. With fewer than 256 entries all ways stay.",
    sweeps=(study(variants=BOTH.values(), set={"tlb.L2.entries": L2_SIZES}),),
    table=compared(SPEEDUP, STUDIED, sizes("tlb.L2.entries", L2_SIZES), ON_BASE, with_average),
    draw=Lines("entries of the L2 TLB", "weighted speedup", by_size(L2_SIZES)),
)
def l2_tlb_size(table: pd.DataFrame) -> dict[str, Measured]:
    """Where MASK is faster, and by how much."""
    means = by_size(L2_SIZES)(table)
    more = means["MASK"] / means["SharedTLB"] - 1
    last = L2_SIZES[-1]
    return {
        "mask.sec73.l2tlb_sweep": Measured(
            holds=bool((more.drop(last) > 0).all() and abs(more[last]) < TIE),
            text=", ".join(f"{entries}: {one:+.1%}" for entries, one in more.items()),
        )
    }


ROWS, OPEN, CLOSED = "dram.page_policy", "open", "closed"
WITH_PWCACHE = {"PWCache": PWCACHE, **BOTH}
MOST = 0.008


@figure(
    id="mask.sec73.row_policy",
    title="§7.3: open and closed rows",
    about="Weighted speedups, one pair a category; IPCs alone are those of SharedTLB with open "
    "rows.",
    sweeps=(study(variants=WITH_PWCACHE.values(), set={ROWS: [OPEN, CLOSED]}),),
    table=compared(
        SPEEDUP,
        STUDIED,
        {
            f"{name}, {rows}": {"variant": variant, ROWS: rows}
            for name, variant in WITH_PWCACHE.items()
            for rows in (OPEN, CLOSED)
        },
        {**ON_BASE, ROWS: OPEN},
        with_average,
    ),
    draw=Bars("weighted speedup"),
)
def row_policy(table: pd.DataFrame) -> dict[str, Measured]:
    """The design with the largest difference."""
    mean = table.T[AVERAGE]
    most = max(
        abs(mean[f"{name}, {CLOSED}"] / mean[f"{name}, {OPEN}"] - 1) for name in WITH_PWCACHE
    )
    return {"mask.sec73.row_policy": one(most, most <= MOST)}


OTHER = "app-aware-dram"
SCHEDULED = {
    "SharedTLB": f"{BASE}+{OTHER}",
    "MASK": f"{PARTS['MASK-TLB']}+{PARTS['MASK-Cache']}+{OTHER}",
}


@figure(
    id="mask.sec73.other_scheduler",
    title="§7.3: another DRAM scheduler",
    about="Weighted speedups, one pair a category, with a scheduler that serves row hits first "
    "and then applications in turn; MASK is its tokens and its L2 bypass.",
    sweeps=(study(variants=SCHEDULED.values(), alone=[SCHEDULED["SharedTLB"]]),),
    table=compared(SPEEDUP, STUDIED, variants(SCHEDULED), {"variant": SCHEDULED["SharedTLB"]}),
    draw=Bars("weighted speedup"),
)
def other_scheduler(table: pd.DataFrame) -> dict[str, Measured]:
    """Mean over the pairs; IPCs alone are those of SharedTLB with the same scheduler."""
    return {"mask.sec73.other_scheduler": number(gain(table, "MASK").mean())}


ON_HUGE_PAGES = {
    name: f"{variant}+{HUGE}" for name, variant in {**BOTH, IDEAL: DESIGNS[IDEAL]}.items()
}


@figure(
    id="mask.sec73.large_pages",
    title="§7.3: pages of 2 MB",
    about="Weighted speedups relative to Ideal's, all with pages of 2 MB, one pair a category.",
    sweeps=(study(variants=ON_HUGE_PAGES.values(), alone=[ON_HUGE_PAGES["SharedTLB"]]),),
    table=compared(
        SPEEDUP,
        STUDIED,
        variants(ON_HUGE_PAGES),
        {"variant": ON_HUGE_PAGES["SharedTLB"]},
        lambda table: with_average(of_ideal(table)),
    ),
    draw=Bars("weighted speedup,\nrelative to Ideal"),
)
def large_pages(table: pd.DataFrame) -> dict[str, Measured]:
    """What is missing on average."""
    lost = 100 * (1 - table.T[AVERAGE])
    return {"mask.sec73.large_pages": number(lost["SharedTLB"], lost["MASK"])}


STEP = 5
SPLITS = [f"{first}+{SMS - first}" for first in range(STEP, SMS, STEP)]
HALVES = f"{SMS // 2}+{SMS // 2}"


def halves_and_best(table: pd.DataFrame) -> pd.DataFrame:
    """By design, weighted speedups with halves of the SMs and with the best split."""
    import pandas as pd

    columns = {}
    for name in BOTH:
        of_design = table[[f"{name} {split}" for split in SPLITS]]
        columns[f"{name}, halves"] = of_design[f"{name} {HALVES}"]
        columns[f"{name}, best"] = of_design.max(axis=1)
    return pd.DataFrame(columns)


SPLITS_OF_SMS = Figure(
    id="mask.sec6.splits",
    title="§6: splits of the SMs",
    about="The paper's applications have the SMs that an exhaustive search finds best; ours "
    "have half of them each. Here is what a search in steps of five SMs finds, one pair "
    "a category: weighted speedups, IPCs alone on SharedTLB with as many SMs.",
    sweeps=(study(variants=BOTH.values(), split_step=STEP),),
    table=compared(
        SPEEDUP,
        STUDIED,
        {
            f"{name} {split}": {"variant": variant, "sms": split}
            for name, variant in BOTH.items()
            for split in SPLITS
        },
        ON_BASE,
    ),
    draw=Bars("weighted speedup", halves_and_best),
    after="mask.sec6",
)
