"""Performance of STAR and its rivals relative to the baseline, harmonic means of the workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Bars, Material, Measured, figure, number
from gpusim.studies.reproduce.mixes import together
from gpusim.studies.sweep.point import BASELINE

from .common import BASE, STAR, STUDIED, WORKLOADS, percent, shared, sweep, sweep_over
from .performance import gains

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from gpusim.studies.reproduce.tables import Table

RELATIVE = "performance,\nrelative to the baseline"


def over_base(shown: Sequence[str], over: Mapping[str, tuple[str, str]] | None = None) -> Table:
    """Performance relative to the baseline, a row a workload.

    Args:
        shown: designs.
        over: more columns: a design, and the one that it is relative to.
    """

    def table(material: Material) -> pd.DataFrame:
        found = gains(material, WORKLOADS, shared([BASE, *shown]))[list(shown)]
        for name, (design, baseline) in (over or {}).items():
            found[name] = gains(material, WORKLOADS, shared([baseline, design]), baseline)[design]
        return found

    return table


def side_by_side(shown: Sequence[str]) -> Bars:
    """The picture of some designs."""
    return Bars(RELATIVE, lambda table: table[list(shown)])


LAYOUTS = ("sequential only", "stride only", STAR)


@figure(
    id="star.fig12",
    title="Fig. 12: sequential and stride layouts",
    about="Performance relative to the baseline, harmonic means of the workloads.",
    sweeps=(sweep_over(LAYOUTS),),
    table=over_base(LAYOUTS),
    draw=side_by_side(LAYOUTS),
)
def layouts(table: pd.DataFrame) -> dict[str, Measured]:
    """Gains over the baseline."""
    gain = percent(table)
    sequential, stride = gain[LAYOUTS[0]], gain[LAYOUTS[1]]
    both = ", ".join(
        f"{name}: {sequential[name]:.1f} and {stride[name]:.1f} %" for name in ("W1", "W10")
    )
    return {
        "star.fig12.layouts": number(*gain.T[AVERAGE][list(LAYOUTS)]),
        "star.fig12.pattern_preference": Measured(
            holds=bool(stride["W1"] > sequential["W1"] and sequential["W10"] > stride["W10"]),
            text=f"sequential and stride, {both}",
        ),
    }


BASES = ("STAR, 4 bases", STAR)


@figure(
    id="star.fig15",
    title="Fig. 15: four bases",
    about="Performance relative to the baseline, harmonic means of the workloads.",
    sweeps=(sweep_over(BASES),),
    table=over_base(BASES),
    draw=side_by_side(BASES),
)
def four_bases(table: pd.DataFrame) -> dict[str, Measured]:
    """Gains over the baseline."""
    return {"star.fig15.four_base": number(*percent(table.T[AVERAGE][list(BASES)]))}


STRIDES = {"stride 1": "star", "stride 2": "star-stride-2", "stride 4": "star-stride-4"}
SAME = 5.0
"""Percentage points (our choice)."""


def by_stride(material: Material) -> pd.DataFrame:
    """Performance relative to the baseline, a row a workload."""
    designs = together({BASE: BASELINE, **STRIDES})
    return gains(material, STUDIED, designs)[list(STRIDES)]


@figure(
    id="star.fig16",
    title="Fig. 16: strides of 1, 2 and 4 sub-entries",
    about="Performance relative to the baseline, harmonic means of six workloads.",
    sweeps=(sweep(variants=[BASELINE, *STRIDES.values()], workloads=STUDIED.values(), alone=()),),
    table=by_stride,
    draw=side_by_side([*STRIDES]),
)
def strides(table: pd.DataFrame) -> dict[str, Measured]:
    """How far apart they are, and which is best where."""
    gain = percent(table)
    mean = gain.loc[AVERAGE]
    one, longer = gain["stride 1"], gain[["stride 2", "stride 4"]]
    holds = all(one[name] > longer.loc[name].max() for name in ("W1", "W2"))
    cases = ", ".join(
        f"{name} {' / '.join(f'{value:.1f}' for value in gain.loc[name])} %"
        for name in ("W1", "W2", "W5")
    )
    return {
        "star.fig16.stride_sizes": Measured(
            holds=bool(mean.max() - mean.min() < SAME),
            text=", ".join(f"{name} {value:.1f} %" for name, value in mean.items()),
        ),
        "star.fig16.stride_cases": Measured(
            holds=bool(holds and longer.loc["W5"].min() > one["W5"]), text=cases
        ),
    }


RIVALS = ("Half-Sub-Double-Set", "Half-Sub-Double-Way-Seq", "Half-Sub-Double-Way-Para")
WITH_RIVALS = (*RIVALS, STAR)
OVER = "STAR / "


@figure(
    id="star.fig18",
    title="Fig. 18: other TLB designs",
    about="Performance relative to the baseline, harmonic means of the workloads.",
    sweeps=(sweep_over(WITH_RIVALS),),
    table=over_base(WITH_RIVALS, {OVER + name: (STAR, name) for name in RIVALS}),
    draw=side_by_side(WITH_RIVALS),
)
def rivals(table: pd.DataFrame) -> dict[str, Measured]:
    """STAR's gains over each, and one of the baseline's."""
    para = percent(table[RIVALS[-1]])
    return {
        "star.fig18.alternatives": number(
            *(percent(table[OVER + name][AVERAGE]) for name in RIVALS)
        ),
        "star.fig18.w8_para": number(para["W8"]),
    }


ON_HUGE = {name: WORKLOADS[name] for name in ("W1", "W2", "W3", "W5")}
HUGE, STAR_HUGE = "huge pages", "STAR, huge pages"
HUGE_DESIGNS = {
    BASE: BASELINE,
    STAR: "star",
    HUGE: "huge-pages",
    STAR_HUGE: "huge-pages+star",
    "static, huge pages": "huge-pages+static-ways",
}
OVER_HUGE = "STAR / baseline, huge pages"


def with_huge_pages(material: Material) -> pd.DataFrame:
    """Performance relative to the baseline with small pages, a row a workload."""
    designs = together(HUGE_DESIGNS)
    found = gains(material, ON_HUGE, designs).drop(columns=BASE)
    huge = {name: designs[name] for name in (HUGE, STAR_HUGE)}
    return found.assign(**{OVER_HUGE: gains(material, ON_HUGE, huge, HUGE)[STAR_HUGE]})


@figure(
    id="star.fig19",
    title="Fig. 19: huge pages",
    about="Performance relative to the baseline with small pages, harmonic means of four "
    "workloads; an entry of 16 huge pages, the designs on top.",
    sweeps=(sweep(variants=HUGE_DESIGNS.values(), workloads=ON_HUGE.values(), alone=()),),
    table=with_huge_pages,
    draw=Bars(RELATIVE, lambda table: table.drop(columns=OVER_HUGE)),
)
def huge_pages(table: pd.DataFrame) -> dict[str, Measured]:
    """STAR's gain with huge pages, and with small ones beside it."""
    small = percent(table[STAR][AVERAGE])
    return {
        "star.fig19.large_pages": number(
            percent(table[OVER_HUGE][AVERAGE]), text=f"with small pages {small:.1f} %"
        )
    }


STATIC = ("static", "STAR + static")
OVER_STATIC = "STAR + static / static"
WORST = {"W6", "W8", "W10"}


@figure(
    id="star.fig20",
    title="Fig. 20: static partitions",
    about="The L3 TLB's ways dealt out 4, 2 and 2, alone and with STAR in the ways of each. "
    "Performance relative to the baseline, harmonic means of the workloads.",
    sweeps=(sweep_over(STATIC),),
    table=over_base(STATIC, {OVER_STATIC: ("STAR + static", "static")}),
    draw=side_by_side(STATIC),
)
def static_partitions(table: pd.DataFrame) -> dict[str, Measured]:
    """Gains over the baseline."""
    static = percent(table["static"])
    worst = static.drop(AVERAGE).nsmallest(len(WORST))
    return {
        "star.fig20.static": number(static[AVERAGE]),
        "star.fig20.static_worst": Measured(
            holds=set(worst.index) == WORST,
            text=", ".join(f"{name} {value:+.1f} %" for name, value in worst.items()),
        ),
        "star.fig20.star_on_static": number(percent(table[OVER_STATIC][AVERAGE])),
    }


TOKENS = ("MASK", STAR)
OVER_MASK = "STAR / MASK"


@figure(
    id="star.fig21",
    title="Fig. 21: MASK's tokens on the L3 TLB",
    about="MASK's TLB-fill tokens and bypass cache on the L3 TLB: "
    "warps without a token fill the bypass cache, with single translations. "
    "Performance relative to the baseline, harmonic means of the workloads.",
    sweeps=(sweep_over(TOKENS),),
    table=over_base(TOKENS, {OVER_MASK: (STAR, "MASK")}),
    draw=side_by_side(TOKENS),
)
def masks_tokens(table: pd.DataFrame) -> dict[str, Measured]:
    """STAR's gain over MASK."""
    return {"star.fig21.vs_mask": number(percent(table[OVER_MASK][AVERAGE]))}
