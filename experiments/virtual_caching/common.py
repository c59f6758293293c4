"""What figures of VC share: machine, programs, designs, runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gpusim.studies.reproduce import Material, programs_of
from gpusim.studies.reproduce.programs import entries_of
from gpusim.studies.sweep.spec import Sweep
from gpusim.views.plots import PALETTE, bar_groups, new_figure
from gpusim.views.plots.bars import GROUP
from gpusim.views.plots.labels import legend_above
from gpusim.workloads.library import find_workload

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from gpusim.results.result import Result
    from gpusim.studies.reproduce.tables import Table

MODEL = "apu-hsa"
"""Table 1."""

PAPER = "virtual-caching"

PROGRAMS = programs_of(PAPER)
"""§3: fifteen programs of two suites."""

_STATED = {name: entry.table.stated for name, entry in entries_of(PAPER).items()}
HIGH = [name for name in PROGRAMS if _STATED[name]["bandwidth"] == "high"]
LOW = [name for name in PROGRAMS if _STATED[name]["bandwidth"] == "low"]
"""§5.2: groups by translation bandwidth."""

PANNOTIA = [name for name in PROGRAMS if find_workload(name).table.suite == "Pannotia"]
RODINIA = [name for name in PROGRAMS if name not in PANNOTIA]

IDEAL, SMALL, LARGE = "ideal-mmu", "baseline-512", "baseline-16k"
UNLIMITED, SMALL_UNLIMITED = "bandwidth-inf", "bandwidth-inf+baseline-512"
VC, OPT = "vc", "vc-opt"
"""Table 2, and baselines whose IOMMU TLB answers any number of lookups a cycle."""


sweep = partial(Sweep, models=MODEL, workloads=PROGRAMS.values())
"""Programs on some designs."""

sweep_high = partial(sweep, workloads=[PROGRAMS[name] for name in HIGH])
"""A sweep of the programs of high bandwidth, on some designs."""

WATCHED = sweep(variants=[SMALL], record=["tlb_misses", "lifetimes"])
"""The baseline: Figures 2, 4, 9 and 12, and the pages in its L2 cache."""

RATES = sweep(variants=[UNLIMITED, OPT], record=["tlb"])
"""Lookups of the IOMMU TLB: Figures 3 and 8; every figure of the proposal."""

BASELINES = sweep(variants=[IDEAL, LARGE])


NOISE = 0.01
"""Differences of a percent are the accident of a run (our choice)."""


def falls(values: Sequence[float]) -> bool:
    """Whether each is at most noise above the one before, and the last really below the first."""
    steps = np.diff(values)
    return bool((steps <= NOISE).all() and values[-1] < values[0] - NOISE)


def some(programs: Iterable[str]) -> dict[str, str]:
    """Some programs and their workloads."""
    return {name: PROGRAMS[name] for name in programs}


def cycles(
    material: Material, designs: Iterable[str], programs: Iterable[str] = PROGRAMS
) -> pd.DataFrame:
    """Execution times: a column a design."""
    return material.numbers("cycles", some(programs), list(designs))


def recorded(reading: Callable[[Result], Mapping[str, float]], variant: str) -> Table:
    """The table of numbers that runs of a design recorded: a row a program; NaN without a run."""

    def table(material: Material) -> pd.DataFrame:
        import pandas as pd

        found = material.read(reading, PROGRAMS, {"variant": variant})
        rows = pd.DataFrame.from_dict(found, orient="index")
        return rows.reindex(list(PROGRAMS)).rename_axis("program")

    return table


def bars_of_windows(
    means: pd.DataFrame, deviations: pd.DataFrame, most: pd.Series[float] | None = None
) -> Picture:
    """Lookups a cycle in windows: bars of means, one a column, one deviation about each, dots."""
    highest = (means.to_numpy() + deviations.to_numpy()).max()
    if most is not None:
        highest = max(highest, most.max())
    figure = new_figure("page", height=2.4)
    axes = bar_groups(
        means,
        geomean=False,
        limit=1.05 * highest,
        ylabel="lookups per cycle",
        ax=figure.subplots(),
    )
    apart = GROUP / means.shape[1]
    for number, name in enumerate(means.columns):
        middles = np.arange(len(means)) + (number - (means.shape[1] - 1) / 2) * apart
        axes.errorbar(
            middles,
            means[name],
            deviations.iloc[:, number],
            fmt="none",
            ecolor="black",
            elinewidth=0.8,
            capsize=2,
            label="" if number else "one standard deviation",
        )
    if most is not None:
        axes.plot(range(len(most)), most, "o", color=PALETTE[1], markersize=3, label="most")
    legend_above(axes)
    return figure
