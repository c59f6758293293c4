"""What translation costs on VC's baselines: where the time goes, bandwidth and queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import (
    AVERAGE,
    Bars,
    Figure,
    Material,
    Measured,
    figure,
    number,
    numbers,
    one,
    with_average,
)
from gpusim.views.plots import PALETTE, new_figure, stacked_bars

from .common import (
    BASELINES,
    HIGH,
    IDEAL,
    LARGE,
    OPT,
    RATES,
    SMALL,
    SMALL_UNLIMITED,
    UNLIMITED,
    WATCHED,
    cycles,
    falls,
    some,
    sweep,
    sweep_high,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

WALKS, TURNS = "page walks", "serialisation"
PAIRS = {"512": (SMALL, SMALL_UNLIMITED), "16K": (LARGE, UNLIMITED)}
"""By entries of the IOMMU TLB: with one lookup a cycle, and with any number."""

LITTLE = 0.25
"""A benefit is small if it is less than this of what is lost (our choice)."""


def overheads(material: Material) -> pd.DataFrame:
    """Time beyond that of the ideal MMU, relative to it."""
    import pandas as pd

    designs = [IDEAL, *(variant for pair in PAIRS.values() for variant in pair)]
    times = cycles(material, designs)
    ideal = times[IDEAL]
    parts = {}
    for entries, (limited, unlimited) in PAIRS.items():
        parts[f"{entries} {WALKS}"] = times[unlimited] / ideal - 1
        parts[f"{entries} {TURNS}"] = (times[limited] - times[unlimited]) / ideal
    return with_average(pd.DataFrame(parts))


def average_overheads(table: pd.DataFrame) -> pd.DataFrame:
    """A row a size, a column a part."""
    import pandas as pd

    mean = table.loc[AVERAGE]
    rows = {
        f"{entries} entries": {part: mean[f"{entries} {part}"] for part in (WALKS, TURNS)}
        for entries in PAIRS
    }
    return pd.DataFrame(rows).T


def draw_overheads(table: pd.DataFrame) -> Picture:
    """The averages; a part below 0 has no bar."""
    figure = new_figure("column", height=2.4)
    stacked_bars(
        average_overheads(table).clip(lower=0),
        shares=False,
        colours=dict(zip((WALKS, TURNS), PALETTE, strict=False)),
        ylabel="overhead over IDEAL MMU",
        ax=figure.subplots(),
    )
    return figure


@figure(
    id="vc.fig4",
    title="Fig. 4: what translation costs",
    about="Time beyond that of IDEAL MMU, relative to it: what is left with any number of lookups "
    "a cycle in the IOMMU TLB is that of page walks (and of the ways there), the rest is "
    "serialisation. Arithmetic means.",
    sweeps=(WATCHED, RATES, BASELINES, sweep(variants=[SMALL_UNLIMITED])),
    table=overheads,
    draw=draw_overheads,
)
def where_the_time_goes(table: pd.DataFrame) -> dict[str, Measured]:
    """The averages over the programs."""
    parts = average_overheads(table)
    small, large = parts.sum(axis=1)
    saved = 1 - large / small
    turns = parts[TURNS].iloc[0] / small
    return {
        "vc.fig4.overhead": number(100 * small),
        "vc.fig4.large_tlb_little": one(saved, saved < LITTLE),
        "vc.fig4.serialisation_dominates": one(turns, turns > 1 / 2),
    }


LIMITED = sweep_high(variants=["bandwidth-2", "bandwidth-4"])
WIDTHS = {"1": LARGE, "2": "bandwidth-2", "4": "bandwidth-4", "inf": UNLIMITED}
"""Lookups a cycle."""


def overheads_by_width(material: Material) -> pd.DataFrame:
    """Time beyond that of the ideal MMU, relative to it."""
    times = cycles(material, [IDEAL, *WIDTHS.values()], HIGH)
    found = times[list(WIDTHS.values())].div(times[IDEAL], axis=0) - 1
    return with_average(found.set_axis(list(WIDTHS), axis=1))


@figure(
    id="vc.fig5",
    title="Fig. 5: bandwidth of the IOMMU TLB",
    about="Time beyond that of IDEAL MMU, relative to it, with an IOMMU TLB of 16K entries and 1, "
    "2, 4 and any number of lookups a cycle; programs of high translation bandwidth.",
    sweeps=(BASELINES, RATES, LIMITED),
    table=overheads_by_width,
    draw=Bars("overhead over IDEAL MMU"),
)
def bandwidth(table: pd.DataFrame) -> dict[str, Measured]:
    """The averages."""
    mean = table.T[AVERAGE].tolist()
    return {
        "vc.fig5.bw_monotone": Measured(
            holds=falls(mean),
            text=" > ".join(f"{value:.1%}" for value in mean),
        )
    }


QUEUES = {f"{width} a cycle": {"variant": name} for width, name in WIDTHS.items()}

QUEUE = Figure(
    id="vc.queue",
    title="§3: the queue of the IOMMU TLB",
    about="Mean cycles that a lookup waits for its turn. The queue has 64 places in the limited "
    "designs; what finds it full waits in the MSHRs of the compute units, which is not "
    "counted here.",
    sweeps=(BASELINES, RATES, LIMITED),
    table=numbers(
        "tlb_L2_queueing",
        some(HIGH),
        {**QUEUES, "VC With OPT": {"variant": OPT}},
        with_average,
    ),
    draw=Bars("cycles in the queue"),
    cell="{:.1f}",
    after="vc.fig5",
)
