"""The TLB miss that stalls most warps, under SharedTLB and under MASK: a worked example.

``gpusim study mask.story shared.h5 mask.h5 [FOLDER]`` takes two runs of one workload with
recorded intervals, walks, walk_reads and requests, prints their numbers and draws the pictures of
`docs/timelines.md`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import xarray as xr
from attrs import frozen

from gpusim.results import open_result
from gpusim.studies.scripts import FOLDER
from gpusim.views.plots import PALETTE, new_figure, save, stacked_area, stacked_bars
from gpusim.views.timelines import Selection, Window, walk_waits
from gpusim.views.timelines.binning import Occupancy
from gpusim.views.timelines.warp_picture import draw_warps

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from gpusim.results import Result

MANY = 10
"""Warps of an SM that wait for one walk; §4.1 counts misses that stall more than 30."""

AROUND = 0.6
"""Cycles shown before and after a miss, in lengths of the longer one."""

NAMED = 3
WALKS = ["the walk", "another", "a third", "other walks"]
"""What a picture names: the walk of the miss, and of the others those waited for most."""


@frozen
class Miss:
    """A TLB miss of an SM: a page for which some of its warps wait.

    Attributes:
        walk: row in `walks`.
        page: its virtual page number; of application `asid`.
        sm: the SM.
        warps: of the SM that wait for the walk.
        since, until: cycles in which the first began and the last ended to wait.
    """

    walk: int
    asid: int
    page: int
    sm: int
    warps: int
    since: int
    until: int

    @property
    def cycles(self) -> int:
        """From the first warp's lookup to the last one's translation."""
        return self.until - self.since


def misses_of(result: Result, waits: pd.DataFrame) -> pd.DataFrame:
    """Each miss of an SM, from what `walk_waits` tells; columns as the attributes of `Miss`."""
    pages = result.table("walks", columns=["asid", "vpn"]).rename(columns={"vpn": "page"})
    each = waits.join(pages, on="walk").groupby(["walk", "asid", "page", "sm"], as_index=False)
    return each.agg(warps=("warp", "nunique"), since=("since", "min"), until=("until", "max"))


def worst_miss(misses: pd.DataFrame) -> Miss:
    """The miss with the most warps; of equals, the longest."""
    longest = misses.assign(cycles=misses.until - misses.since)
    worst = longest.sort_values(["warps", "cycles"], kind="stable").iloc[-1]
    return Miss(*(int(value) for value in worst[misses.columns]))


def same_page(misses: pd.DataFrame, miss: Miss) -> pd.DataFrame:
    """Misses on the page of another run's miss; all if there is none."""
    found = misses[(misses.asid == miss.asid) & (misses.page == miss.page)]
    return found if len(found) else misses


def tell(name: str, result: Result, miss: Miss) -> None:
    """Print a miss, and how long its walk was at each level of the page table."""
    walk = result.table("walks", miss.walk, miss.walk + 1).iloc[0]
    reads = result.table("walk_reads")
    own = reads[
        (reads.asid == miss.asid)
        & (reads.vpn == miss.page)
        & (reads.begin >= walk.started)
        & (reads.end <= walk.finished)
    ]
    levels = ", ".join(f"level {one.depth} {one.end - one.begin}" for one in own.itertuples())
    print(
        f"{name}: page {miss.page:#x} of address space {miss.asid}, {miss.warps} warps of SM "
        f"{miss.sm} in cycles {miss.since:,} to {miss.until:,} ({miss.cycles}); its walk takes "
        f"{walk.finished - walk.started} cycles: {levels}"
    )


def waiting(waits: pd.DataFrame, window: Window, walk: int) -> xr.DataArray:
    """Warps that wait for each walk in each cycle: dimensions ``cycle`` and ``walk``.

    Cycles are those since the window began; `walk` comes first, then the others in the order of
    their warp-cycles, the largest first; those after the first `NAMED` are one.
    """
    inside = waits[(waits.since < window.end) & (waits.until > window.begin)]
    stays = inside.until.clip(upper=window.end) - inside.since.clip(lower=window.begin)
    cycles = stays.groupby(inside.walk).sum()
    others = cycles.drop(walk).sort_values(ascending=False, kind="stable").index
    order = [walk, *others.tolist()]
    group = inside.walk.map({one: min(row, NAMED) for row, one in enumerate(order)})
    found = Occupancy(window, NAMED + 1)
    found.add(inside.since.to_numpy(), inside.until.to_numpy(), group.to_numpy())
    return xr.DataArray(
        found.cycles(),
        dims=("cycle", "walk"),
        coords={"cycle": window.edges[:-1] - window.begin, "walk": WALKS},
        attrs={"long_name": "waiting warps"},
    )


def numbers(result: Result, waits: pd.DataFrame) -> dict[str, float]:
    """What the whole run says about misses, and each application's IPC."""
    misses = misses_of(result, waits)
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


def draw_waiting(runs: dict[str, tuple[pd.DataFrame, Window, int]]) -> Picture:
    """Designs below one another, on the same axes: a stack of walks, the largest in colours."""
    figure = new_figure("page", height=1.5 * len(runs))
    column = figure.subplots(len(runs), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    colours = dict(zip(WALKS, (*PALETTE[:NAMED], "0.8"), strict=True))
    top = 0.0
    for (name, shown), axes in zip(runs.items(), column, strict=True):
        stacked_area(
            waiting(*shown),
            end=shown[1].end - shown[1].begin,
            colours=colours,
            title=name,
            ax=axes,
        )
        axes.label_outer()
        top = max(top, axes.get_ylim()[1])
    column[0].set_ylim(0, top)
    column[-1].set_xlabel("cycles")
    return figure


def draw_stalls(results: dict[str, Result]) -> Picture:
    """Where the warp-cycles of each application's first run went."""
    rows = {}
    for design, result in results.items():
        for app, sums in zip(result.applications.name, result.stall_sums.sum("sm"), strict=True):
            rows[f"{app}, {design}"] = sums.to_series()
    by_application = sorted(rows, key=lambda row: row.partition(",")[0])
    figure = new_figure("page", height=2.6)
    stacked_bars(
        pd.DataFrame(rows)[by_application].T,
        lump=0.01,
        ylabel="share of warp-cycles",
        ax=figure.subplots(),
    )
    return figure


def tell_story(shared: Path, mask: Path, folder: Path) -> None:
    """Print the numbers of both runs; draw the warps, who waits for which walk, and the stalls."""
    folder.mkdir(parents=True, exist_ok=True)
    with open_result(shared) as base, open_result(mask) as other:
        results = {"SharedTLB": base, "MASK": other}
        waits = {name: walk_waits(result) for name, result in results.items()}
        misses = {name: misses_of(results[name], found) for name, found in waits.items()}
        first = worst_miss(misses["SharedTLB"])
        shown_misses = {"SharedTLB": first, "MASK": worst_miss(same_page(misses["MASK"], first))}
        length = max(miss.cycles for miss in shown_misses.values())
        shown = {}
        for name, miss in shown_misses.items():
            tell(name, results[name], miss)
            begin = max(miss.since - int(AROUND * length), 0)
            window = Window(begin, miss.since + int((1 + AROUND) * length), 1)
            picture = draw_warps(results[name], window, Selection(sm=miss.sm))
            save(picture, folder / f"story_{name.lower()}.png")
            of_sm = waits[name][waits[name].sm == miss.sm]
            shown[f"{name}: SM {miss.sm}, from cycle {begin:,} on"] = (of_sm, window, miss.walk)
        table = pd.DataFrame({name: numbers(one, waits[name]) for name, one in results.items()})
        print(table.map("{:,.4g}".format).to_string())
        save(draw_waiting(shown), folder / "story_waiting.png")
        save(draw_stalls(results), folder / "story_stalls.png")


def main() -> None:
    """Take the two runs and the folder from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("shared", type=Path, help="a run on variant sharedtlb")
    parser.add_argument("mask", type=Path, help="a run of the same on a variant of MASK")
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=FOLDER / "mask.story",
        help="where pictures go (default: %(default)s)",
    )
    arguments = parser.parse_args()
    tell_story(arguments.shared, arguments.mask, arguments.folder)


if __name__ == "__main__":
    main()
