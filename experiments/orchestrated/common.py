"""What figures of ORCH share: machine, programs, designs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpusim.studies.characterize.characterization import TLB_MARK
from gpusim.studies.characterize.plot import plot_bins
from gpusim.studies.reproduce import Material, Survey, normalised, programs_of
from gpusim.views.plots import bar_groups, new_figure, sweep_lines
from gpusim.views.plots.labels import legend_above

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from gpusim.studies.characterize import ApplicationCharacterization

MODEL = "kepler-uvm"
"""Table III."""

PROGRAMS = programs_of("orchestrated")
"""Table II."""

WORKLOADS = tuple(PROGRAMS.values())
MATRIX = ["atax", "bicg", "gemm", "mvt"]
IRREGULAR = ["bfs", "color", "mis", "nw", "pagerank", "3dconv"]

STUDIED = {name: PROGRAMS[name] for name in ("mis", "atax", "gemm")}
"""One of each kind: for studies of readings, which need many runs."""

PROPOSAL = "partitioning-sharing"
DESIGNS = ("baseline", "scheduling", "partitioning", PROPOSAL)
"""Each with what the one before has (§V)."""

SURVEY = Survey(model=MODEL, workloads=WORKLOADS)
"""Figures 3 to 6."""

DISTANCES = [1 << power for power in range(3, 14)]
"""Figures 5 and 6 begin at 2^3."""


def bars(table: pd.DataFrame, ylabel: str, *, baseline: bool = True) -> Picture:
    """Programs side by side; with the baseline as a line at 1, or hit rates without a geomean."""
    figure = new_figure("page", height=2.4)
    bar_groups(
        table,
        baseline="baseline" if baseline else None,
        geomean=baseline,
        ylabel=ylabel,
        ax=figure.subplots(),
    )
    return figure


def draw_bins(table: pd.DataFrame, title: str, what: str) -> Picture:
    """Stacked bars of the first five columns: the bins of reuse intensity."""
    figure = new_figure("page", height=2.4)
    plot_bins(figure.subplots(), list(table.index), list(table.iloc[:, :5].to_numpy()), title, what)
    return figure


def cumulative(found: dict[str, ApplicationCharacterization], measure: str) -> pd.DataFrame:
    """Shares of reuses up to each of `DISTANCES`, and of those beyond a TLB."""
    import pandas as pd

    rows = {
        name: [
            *(app.distributions[measure].at_most(bound) for bound in DISTANCES),
            1 - app.distributions[measure].at_most(TLB_MARK),
        ]
        for name, app in found.items()
    }
    columns = [*(f"≤ {bound:,}" for bound in DISTANCES), BEYOND]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return table.rename_axis("program")


BEYOND = f"beyond {TLB_MARK}"


def draw_distances(table: pd.DataFrame) -> Picture:
    """Cumulative shares over powers of two, a line a program."""
    figure = new_figure("page", height=3)
    lines = table.iloc[:, : len(DISTANCES)].T
    lines.index = DISTANCES
    axes = sweep_lines(
        lines,
        xlabel="distinct other pages in between",
        ylabel="share of reuses",
        ax=figure.subplots(),
    )
    axes.axvline(
        TLB_MARK, color="black", linewidth=0.8, linestyle=(0, (4, 2)), label="entries of the TLB"
    )
    axes.set_ylim(0, 1.02)
    legend_above(axes)
    return figure


RATE = " hit rate"
"""In the names of columns."""


def readings_table(material: Material, readings: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Times relative to the baseline, and hit rates, of the proposal with some settings each."""
    designs: dict[str, Mapping[str, object]] = {"baseline": {"variant": "baseline"}}
    designs |= {name: {"variant": PROPOSAL, **settings} for name, settings in readings.items()}
    times = normalised(material.numbers("cycles", STUDIED, designs))
    rates = material.numbers("tlb_L1_hit_rate_mean", STUDIED, designs)
    return times.join(rates.add_suffix(RATE))


def draw_readings(table: pd.DataFrame) -> Picture:
    """The times of a `readings_table`."""
    times = table[[name for name in table.columns if not name.endswith(RATE)]]
    return bars(times, "execution time,\nrelative to the baseline")
