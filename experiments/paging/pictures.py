"""The pictures of the page."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments.paging.study import (
    FULL,
    PREFETCH,
    PROGRAMS,
    Runs,
    prefetched,
    simulate,
    with_room,
)
from experiments.paging.tables import slowdowns
from gpusim.views import plots
from gpusim.views.timelines import window_of
from gpusim.views.timelines.picture import draw_timeline

TIMELINE = "stencil2d"
"""It goes over its arrays three times."""

RECORDS = ("intervals", "walks", "fault_batches", "transfers")


def draw(runs: Runs, folder: Path) -> None:
    """All of them, into a folder."""
    axes = plots.sweep_lines(
        slowdowns(runs),
        xlabel="bytes of the arrays by bytes of device memory",
        ylabel="cycles, by those at 0.8",
    )
    plots.save(axes, folder / "paging_oversubscription.png")
    figure = plots.new_figure("page", height=2.6)
    plots.bar_groups(
        batches_by_policy(runs),
        ylabel="cycles, by those without prefetching",
        baseline="none",
        ax=figure.subplots(),
    )
    plots.save(figure, folder / "paging_prefetch.png")
    with simulate(TIMELINE, with_room(FULL), RECORDS) as result:
        plots.save(draw_timeline(result, window_of(result)), folder / "paging_timeline.png")


def batches_by_policy(runs: Runs) -> pd.DataFrame:
    """Cycles by program and prefetch policy, where not all fits."""
    return pd.DataFrame(
        {
            policy: [prefetched(runs, program, policy, FULL).cycles for program in PROGRAMS]
            for policy in PREFETCH
        },
        index=list(PROGRAMS),
    )
