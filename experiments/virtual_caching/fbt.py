"""VC's forward–backward table: what it sees, smaller ones, its area (§3, §4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusim.machine.cost import storage
from gpusim.machine.load import load_model
from gpusim.studies.reproduce import Bars, Material, Measured, figure, most, number, numbers_of_one

from .common import MODEL, OPT, PROGRAMS, RATES, cycles, some, sweep

if TYPE_CHECKING:
    import pandas as pd

FOUND, L1, SYNONYMS = "found in the forward table", "L1 hit rate", "synonyms"
LOW_RATE = 0.6


@figure(
    id="vc.sec4.fbt",
    title="§4: what the forward–backward table sees",
    about="VC With OPT: misses of the IOMMU TLB whose page is in the forward table; hit rates of "
    "virtual L1 caches; misses of the L2 cache under names that do not lead.",
    sweeps=(RATES,),
    table=numbers_of_one(
        {FOUND: "tlb_FBT_hit_rate", L1: "l1_hit_rate", SYNONYMS: "fbt_synonyms"},
        PROGRAMS,
        {"variant": OPT},
    ),
    draw=Bars("hit rate", lambda table: table[[FOUND, L1]]),
)
def what_it_sees(table: pd.DataFrame) -> dict[str, Measured]:
    """Arithmetic means over the programs."""
    return {
        "vc.sec3.synonyms_rare": number(100 * table[SYNONYMS].mean()),
        "vc.sec4.fbt_hit": number(100 * table[FOUND].mean()),
        "vc.sec4.l1_hit_low": most(table[L1] < LOW_RATE),
    }


STUDIED = some(["mis", "pagerank", "lud", "nw"])
"""Our choice: two graphs, a matrix, and the program that touches most pages."""

KEY = "fbt.entries"
WHOLE = 16384
ENTRIES = [4096, 1024, 512, 256]
"""Our choice: the programs were shortened, so only tables below the paper's fill."""

EVICTIONS, FILTERED = " evictions", " filtered"


def small_tables(material: Material) -> pd.DataFrame:
    """Performance relative to 16K entries; pages evicted; invalidations that L1 caches filtered."""
    designs = {f"{entries}": {"variant": OPT, KEY: entries} for entries in (WHOLE, *ENTRIES)}
    times = material.numbers("cycles", STUDIED, designs)
    small = {name: design for name, design in designs.items() if name != f"{WHOLE}"}
    evictions = material.numbers("fbt_evictions", STUDIED, small)
    filtered = material.numbers("l1_invalidations_filtered", STUDIED, small)
    performance = (1 / times[list(small)]).mul(times[f"{WHOLE}"], axis=0)
    return performance.join(evictions.add_suffix(EVICTIONS)).join(filtered.add_suffix(FILTERED))


@figure(
    id="vc.sec4.fbt_small",
    title="§4.2: small forward–backward tables",
    about="VC With OPT, four programs: performance relative to 16K entries, pages that had to go, "
    "and the share of messages about them that the filters of L1 caches stopped (nan: there "
    "were none).",
    sweeps=(
        sweep(
            variants=[OPT], workloads=STUDIED.values(), record=["tlb"], set={KEY: [WHOLE, *ENTRIES]}
        ),
    ),
    table=small_tables,
    draw=Bars("relative to 16K entries", lambda table: table[list(map(str, ENTRIES))]),
)
def invalidation_filter(table: pd.DataFrame) -> dict[str, Measured]:
    """Mean over the runs in which something was evicted."""
    filtered = table[[f"{entries}{FILTERED}" for entries in ENTRIES]]
    found = filtered.to_numpy(float)
    found = found[~np.isnan(found)]
    mean = 100 * found.mean() if found.size else float("nan")
    text = f"{found.size} runs with evictions"
    return {"vc.sec4.filter_effective": number(mean, text=text)}


HALF = "vc-opt-8k"
TIME, EVICTED = "performance with 8K entries", "evictions"


def half_of_the_entries(material: Material) -> pd.DataFrame:
    """Time with 16K entries relative to that with 8K; pages that 8K entries had to evict."""
    import pandas as pd

    times = cycles(material, [OPT, HALF])
    evictions = material.numbers("fbt_evictions", PROGRAMS, [HALF])[HALF]
    return pd.DataFrame({TIME: times[OPT] / times[HALF], EVICTED: evictions})


@figure(
    id="vc.sec4.fbt_8k",
    title="§4.3: a forward–backward table of 8K entries",
    about="VC With OPT with 8K entries beside 16K; our shortened programs touch fewer pages than "
    "the paper's.",
    sweeps=(RATES, sweep(variants=[HALF], record=["tlb"])),
    table=half_of_the_entries,
    draw=Bars("relative to 16K entries", lambda table: table[[TIME]]),
)
def half_a_table(table: pd.DataFrame) -> dict[str, Measured]:
    """Arithmetic mean over the programs."""
    text = f"{table[EVICTED].sum():.0f} pages evicted in all"
    return {"vc.sec4.fbt_8k": number(table[TIME].mean(), text=text)}


BT, FT, FILTER = "backward table", "forward table", "invalidation filter"
CACHES, REACH, VECTOR = "data of all caches", "reach of the tables", "bits for a page of 2 MB"
KB, HUGE_PAGE = 1024, 2 << 20


def structures(_: Material) -> pd.DataFrame:
    """KB of one instance of each, and of the caches and what the tables reach; bits of a vector."""
    import pandas as pd

    model = load_model(MODEL, [OPT])
    config = model.config
    assert config.fbt is not None
    kept = {
        part.storage.name: part.storage.bits / 8 / KB
        for part in storage(model)
        if part.storage and part.storage.name in (BT, FT, FILTER)
    }
    kept[CACHES] = (config.sm.count * config.l1.size + config.l2.size) / KB
    kept[REACH] = config.fbt.entries * config.memory.page / KB
    kept[VECTOR] = HUGE_PAGE / config.l2.line
    return pd.DataFrame({"KB": kept}).rename_axis("structure")


@figure(
    id="vc.sec4.area",
    title="§4.3: area",
    about="KB of one structure, as `gpusim cost apu-hsa --variant vc-opt` tells them; the last "
    "row is in bits.",
    table=structures,
    draw=Bars("KB", lambda table: table.loc[[BT, FT, FILTER]]),
    cell="{:.4g}",
)
def area(table: pd.DataFrame) -> dict[str, Measured]:
    """The paper's arithmetic."""
    size = table["KB"]
    both = size[BT] + size[FT]
    return {
        "vc.sec4.area_bytes": number(size[BT], size[FT], both),
        "vc.sec4.area_share": number(100 * both / size[CACHES]),
        "vc.sec4.reach_vector": number(size[REACH] / KB, size[VECTOR], size[FILTER]),
    }
