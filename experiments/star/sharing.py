"""STAR §V-B: entries shared, reverted and evicted over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusim.studies.reproduce import Figure, Material
from gpusim.views.plots import new_figure, sweep_lines

from .common import DESIGNS, STAR, WORKLOADS, sweep_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from gpusim.results.result import Result

SHOWN = {name: WORKLOADS[name] for name in ("W2", "W7")}
L3 = 2
PARTS = 10
"""Of a run."""

EVENTS = ("shares", "reverts", "conflicts", "evictions")


def over_time(result: Result) -> pd.DataFrame:
    """Events per 1000 cycles in each part of a run, which ends with the last first run."""
    import pandas as pd

    events = result.table("sharing")
    events = events[events["level"] == L3]
    end = int(result.applications["end"].max())
    edges = np.linspace(0, end, PARTS + 1)
    counts = events[list(EVENTS)].astype(np.int64)  # recorded in two bytes: products would not fit
    found = {
        name: np.histogram(events["cycle"], edges, weights=counts[name])[0] * 1000 * PARTS / end
        for name in EVENTS
    }
    return pd.DataFrame(found, index=[100 * part // PARTS for part in range(1, PARTS + 1)])


def table(material: Material) -> pd.DataFrame:
    """What happens in each tenth of a run, per 1000 cycles."""
    import pandas as pd

    found = material.read(over_time, SHOWN, {"variant": DESIGNS[STAR]})
    parts = [one.add_prefix(f"{name} ") for name, one in found.items()]
    return pd.concat(parts, axis=1).rename_axis("% of the run")


def draw(table: pd.DataFrame) -> Picture:
    """A panel a workload."""
    figure = new_figure("page", height=2.4)
    for place, name in zip(figure.subplots(1, len(SHOWN)), SHOWN, strict=True):
        of_workload = table[[f"{name} {event}" for event in EVENTS]]
        sweep_lines(
            of_workload.set_axis(list(EVENTS), axis=1),
            ylabel="per 1000 cycles",
            title=name,
            ax=place,
        )
    return figure


FIGURE = Figure(
    id="star.sec5.sharing",
    title="§V-B: shared entries over time",
    about="Of the L3 TLB, per 1000 cycles in each tenth of the run: bases that joined an entry of "
    "another one, entries that went back to one base, pages that lost their sub-entry to another "
    "page of their base, entries evicted.",
    sweeps=(sweep_of([DESIGNS[STAR]], SHOWN, alone=(), record=["sharing"]),),
    table=table,
    draw=draw,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
