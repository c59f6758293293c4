"""One TLB miss that stalls more than 30 warps, under SharedTLB and under MASK: a worked example.

``python -m experiments.mask.story shared.h5 mask.h5 [FOLDER]`` takes two runs of one workload with
recorded intervals, walks, walk_reads and requests, prints their numbers and draws the pictures of
`docs/timelines.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr
from attrs import frozen

from gpusim.plots import PALETTE, new_figure, save, stacked_area, stacked_bars
from gpusim.results import open_result
from gpusim.timelines import Selection, Window, walk_waits
from gpusim.timelines.binning import Occupancy
from gpusim.timelines.warp_picture import draw_warps

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from gpusim.results import Result

MANY = 30
"""Warps of an SM that wait for one walk: §4.1 counts misses that stall more."""

AROUND = 0.6
"""Cycles shown before and after a miss, in lengths of the longer one."""

NAMED = 3
"""Walks with a colour of their own."""


@frozen
class Miss:
    """A TLB miss of an SM: a page for which some of its warps wait.

    Attributes:
        walk: row in `walks`.
        sm: the SM.
        warps: of the SM that wait for the walk.
        since, until: cycles in which the first began and the last ended to wait.
    """

    walk: int
    sm: int
    warps: int
    since: int
    until: int

    @property
    def cycles(self) -> int:
        """From the first warp's lookup to the last one's translation."""
        return self.until - self.since


def misses_of(waits: pd.DataFrame) -> pd.DataFrame:
    """Each miss of an SM, by what `walk_waits` tells: walk, sm, warps, since, until."""
    each = waits.groupby(["walk", "sm"], as_index=False)
    return each.agg(warps=("warp", "nunique"), since=("since", "min"), until=("until", "max"))


def worst_miss(misses: pd.DataFrame) -> Miss:
    """The miss with the most warps; of equals, the longest."""
    longest = misses.assign(cycles=misses.until - misses.since)
    worst = longest.sort_values(["warps", "cycles"], kind="stable").iloc[-1]
    return Miss(*(int(worst[name]) for name in ("walk", "sm", "warps", "since", "until")))


def waiting(waits: pd.DataFrame, window: Window) -> xr.DataArray:
    """Warps that wait for each walk in the mean of each bin: dimensions ``cycle`` and ``walk``."""
    inside = waits[(waits.since < window.end) & (waits.until > window.begin)]
    walks, group = np.unique(inside.walk.to_numpy(), return_inverse=True)
    found = Occupancy(window, len(walks))
    found.add(inside.since.to_numpy(), inside.until.to_numpy(), group)
    return xr.DataArray(
        found.cycles() / window.widths[:, np.newaxis],
        dims=("cycle", "walk"),
        coords={"cycle": window.edges[:-1] - window.begin, "walk": walks},
    )


def numbers(result: Result, waits: pd.DataFrame) -> dict[str, float]:
    """What the whole run says about misses, and each application's IPC."""
    misses = misses_of(waits)
    many = misses[misses.warps > MANY]
    of_gpu = waits.groupby("walk").warp.nunique()
    found = {
        "misses of an SM that took a walk": len(misses),
        f"of these, with more than {MANY} warps": len(many),
        f"cycles of a miss with more than {MANY} warps, mean": (many.until - many.since).mean(),
        "warps that wait for a miss, mean": misses.warps.mean(),
        "warps that wait for a miss, most": misses.warps.max(),
        "warps of the whole GPU that wait for a walk, most": of_gpu.max(),
        "cycles of a walk, mean": result.summary["walk_latency"],
    }
    for app in result.applications.name:
        for name, title in (("ipc", "IPC"), ("tlb_L2_hit_rate", "L2 TLB hit rate")):
            found[f"{title} of {app}"] = result.summary[f"{app}/{name}"]
    return found


def draw_waiting(runs: dict[str, tuple[pd.DataFrame, Window]]) -> Picture:
    """Designs below one another, on the same axes: a stack of walks, the largest in colours."""
    figure = new_figure("page", height=1.5 * len(runs))
    column = figure.subplots(len(runs), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    top = 0.0
    for (name, (waits, window)), axes in zip(runs.items(), column, strict=True):
        data = waiting(waits, window)
        order = data.sum("cycle").to_series().sort_values(ascending=False, kind="stable").index
        few, rest = order[:NAMED], order[NAMED:]
        parts = [data.sel(walk=[walk]) for walk in few]
        if len(rest):
            parts.append(data.sel(walk=rest).sum("walk").expand_dims(walk=[-1], axis=1))
        labels = [f"walk {walk}" for walk in few] + ["other walks"] * bool(len(rest))
        shown = xr.concat(parts, "walk").assign_coords(walk=labels)
        colours = dict(zip(labels, [*PALETTE[:NAMED], "0.8"][-len(labels) :], strict=True))
        stacked_area(
            shown, end=window.end - window.begin, colours=colours, title=name,
            ylabel="waiting warps", ax=axes,
        )  # fmt: skip
        top = max(top, axes.get_ylim()[1])
        axes.label_outer()
    column[0].set_ylim(0, top)
    column[-1].set_xlabel("cycles")
    return figure


def draw_stalls(results: dict[str, Result]) -> Picture:
    """Where the warp-cycles of each application's first run went."""
    rows = {}
    for design, result in results.items():
        for app, sums in zip(result.applications.name, result.stall_sums.sum("sm"), strict=True):
            rows[f"{app}, {design}"] = sums.to_series()
    figure = new_figure("page", height=2.6)
    stacked_bars(
        pd.DataFrame(rows).T.sort_index(), lump=0.01, ylabel="share of warp-cycles",
        ax=figure.subplots(),
    )  # fmt: skip
    return figure


def main(shared: Path, mask: Path, folder: Path) -> None:
    """Print the numbers of both runs; draw the warps, who waits for which walk, and the stalls."""
    folder.mkdir(parents=True, exist_ok=True)
    with open_result(shared) as base, open_result(mask) as other:
        results = {"SharedTLB": base, "MASK": other}
        waits = {name: walk_waits(result) for name, result in results.items()}
        worst = {name: worst_miss(misses_of(found)) for name, found in waits.items()}
        margin = int(AROUND * max(miss.cycles for miss in worst.values()))
        length = max(miss.cycles for miss in worst.values()) + 2 * margin
        shown = {}
        for name, miss in worst.items():
            begin = max(miss.since - margin, 0)
            end = min(begin + length, int(results[name].summary["cycles"]))
            print(f"{name}: {miss}; cycles {begin} to {end}")
            of_sm = waits[name][waits[name].sm == miss.sm]
            window = Window(begin, end, 1)
            shown[f"{name}, SM {miss.sm} from cycle {begin:,}"] = (of_sm, window)
            picture = draw_warps(results[name], window, Selection(sm=miss.sm))
            save(picture, folder / f"story_{name.lower()}.png")
        print(pd.DataFrame({name: numbers(results[name], waits[name]) for name in results}))
        save(draw_waiting(shown), folder / "story_waiting.png")
        save(draw_stalls(results), folder / "story_stalls.png")


if __name__ == "__main__":
    arguments = [Path(one) for one in sys.argv[1:]]
    main(*arguments[:2], *(arguments[2:] or [Path("docs/pictures")]))
