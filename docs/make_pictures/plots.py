"""The gallery of `docs/plots.md`, from small runs: ``python docs/make_pictures/plots.py [FOLDER]``.

Takes about half a minute; the pictures go to `docs/pictures` where no folder is named.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from rich.progress import track

import gpusim
from gpusim.studies.sweep.pairs import gains_of
from gpusim.views import plots
from gpusim.views.timelines import activity, stalls, window_of

MODEL = "kepler-uvm"
PROGRAMS = ("atax", "bfs", "gemm", "gups", "mis", "mvt", "nw", "pagerank")
DESIGNS: Mapping[str, tuple[str, ...]] = {
    "baseline": (),
    "l1-tlb-256": ("l1-tlb-256",),
    "huge-pages": ("huge-pages",),
    "ideal-tlb": ("ideal-tlb",),
}


@cache
def run(program: str, design: str = "baseline", record: tuple[str, ...] = ()) -> gpusim.Result:
    """One run at smoke scale."""
    model = gpusim.load_model(MODEL, DESIGNS[design])
    return gpusim.simulate(model, gpusim.load_workload(program, "smoke"), record=record)


def watched(program: str) -> gpusim.Result:
    """A run of which all was recorded that the timelines need."""
    return run(program, record=("intervals", "tlb"))


def bar_groups() -> Axes:
    """Cycles of programs on designs, as speedups."""
    cycles = pd.DataFrame(
        {
            design: {name: run(name, design).summary["cycles"] for name in PROGRAMS}
            for design in DESIGNS
        }
    )
    return plots.bar_groups(cycles, baseline="baseline", speedup=True, limit=3)


def sorted_dots() -> Axes:
    """Hit rates of the L1 TLB of programs on designs, sorted."""
    designs = [design for design in DESIGNS if design != "ideal-tlb"]
    rates = pd.DataFrame(
        {
            design: {name: run(name, design).summary["tlb_L1_hit_rate_mean"] for name in PROGRAMS}
            for design in designs
        }
    )
    return plots.sorted_dots(rates, geomean=False, xlabel="L1 TLB hit rate")


def stated_below() -> Axes:
    """Bars, and below them made-up numbers of a paper beside ours."""
    first, *_, last = DESIGNS
    cycles = pd.DataFrame(
        {
            design: {name: run(name, design).summary["cycles"] for name in PROGRAMS}
            for design in (first, last)
        }
    )
    gains = 100 * (cycles[first] / cycles[last] - 1)
    figure = plots.new_figure("page", 1.8)
    axes = plots.bar_groups(cycles, baseline=first, speedup=True, limit=3, ax=figure.subplots())
    rows = [
        plots.Stated("mean gain", "%", 60.0, gains.mean()),
        plots.Stated("largest gain", "%", 310.0, gains.max()),
    ]
    plots.stated_below(figure, rows)
    return axes


def stacked_bars() -> Axes:
    """Where the warp-cycles of each program went."""
    rows = {name: run(name).stalls.set_index("state").warp_cycles for name in PROGRAMS}
    return plots.stacked_bars(pd.DataFrame(rows).T, lump=0.01, ylabel="share of warp-cycles")


def stacked_area() -> Axes:
    """Where they went, over time."""
    result = watched("bfs")
    return plots.stacked_area(stalls(result, window_of(result)))


def step_lines() -> Axes:
    """Hit rates of the TLB levels over time."""
    result = watched("bfs")
    return plots.step_lines(activity(result, window_of(result, bins=100)).tlb_hit_rate)


def cdf() -> Axes:
    """Reuse distances, which are values and counts."""
    model = gpusim.load_model(MODEL)
    found = {
        name: gpusim.characterize(gpusim.load_workload(name, "smoke"), model).applications[0]
        for name in ("atax", "bfs", "gemm", "gups", "nw")
    }
    distances = {name: app.distributions["distance_interleaved"] for name, app in found.items()}
    return plots.cdf(
        {name: one.value for name, one in distances.items()},
        counts={name: one.count for name, one in distances.items()},
        log2=True,
        mark={"L1 TLB": 64, "L2 TLB": 512},
        xlabel="distinct other pages in between",
        ylabel="share of reuses",
    )


def heat_map() -> Axes:
    """Hit rate of the TLB of each SM over time."""
    result = watched("hotspot")
    lookups = result.table("tlb").query("level == 0")
    edges = window_of(result, bins=100).edges
    shape = [np.arange(len(result.stall_sums) + 1), edges]
    asked, _, _ = np.histogram2d(lookups.instance, lookups.cycle, shape)
    hits, _, _ = np.histogram2d(lookups.instance, lookups.cycle, shape, weights=lookups.hit)
    rate = np.divide(hits, asked, out=np.full(asked.shape, np.nan), where=asked > 0)
    data = xr.DataArray(
        rate,
        {"SM": np.arange(len(rate)), "cycle": edges[:-1]},
        ("SM", "cycle"),
        attrs={"long_name": "L1 TLB hit rate", "units": "fraction"},
    )
    return plots.heat_map(data, low=0, high=1)


def sweep_lines() -> Axes:
    """IPC over the size of the L1 TLB; each graph is generated three times."""
    entries, seeds, programs = (4, 8, 16, 32, 64), (0, 1, 2), ("bfs", "mis", "pagerank")
    rows = []
    for size in entries:
        model = gpusim.load_model(MODEL, overrides={"tlb.L1.entries": size})
        for seed in seeds:
            results = {
                name: gpusim.simulate(model, gpusim.load_workload(name, "smoke", seed))
                for name in programs
            }
            ipc = {name: result.summary["ipc"] for name, result in results.items()}
            rows.append({"entries": size, "seed": seed, **ipc})
    data = pd.DataFrame(rows).set_index(["entries", "seed"])
    return plots.sweep_lines(data, xlabel="entries of an L1 TLB", ylabel="IPC")


def tornado() -> Axes:
    """What larger pages save in a program on machines that differ in one key."""
    readings = {
        "walks half as long": {"walk.latency": "250 cycles"},
        "2 walkers": {"walk.walkers": 2},
        "one instruction's misses": {"tlb.L1.misses": "hit-under-miss"},
        "256 entries": {"tlb.L1.entries": 256},
    }

    def saved(**keys: object) -> float:
        large = gpusim.load_model(MODEL, ["huge-pages"], keys)
        small = gpusim.load_model(MODEL, [], keys)
        program = gpusim.load_workload("mis", "smoke")
        cycles = [gpusim.simulate(one, program).summary["cycles"] for one in (small, large)]
        return 100 * (1 - cycles[1] / cycles[0])

    return plots.tornado(
        {name: saved(**keys) for name, keys in readings.items()},
        saved(),
        xlabel="cycles saved, %",
    )


def pair_matrix() -> Axes:
    """What parts that cost nothing gain, alone and in pairs, in three programs."""
    names = ["baseline", "ideal-l2-tlb", "fixed-walk", "ideal-crossbar", "ideal-dram"]
    sweep = gpusim.Sweep(
        models=MODEL, workloads=["bfs", "mis", "nw"], scale="smoke", variants=names, pairs=True
    )
    with tempfile.TemporaryDirectory() as folder:
        pairs = gains_of(gpusim.run_sweep(sweep, Path(folder) / "runs"), "ipc", names)
    return plots.pair_matrix(pairs.gains, pairs.beyond)


PICTURES: tuple[Callable[[], Axes], ...] = (
    bar_groups,
    sorted_dots,
    stated_below,
    stacked_bars,
    stacked_area,
    step_lines,
    cdf,
    heat_map,
    sweep_lines,
    tornado,
    pair_matrix,
)


def main(folder: Path) -> None:
    """Make all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    for picture in track(PICTURES, "drawing", transient=True):
        plots.save(picture(), folder / f"plots_{picture.__name__}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[1] / "pictures")
