"""Pairs of programs: windows at random places of both against whole runs that begin differently.

How the phases of two programs meet is an accident: a latency that is one cycle longer shifts them.
``gpusim study sampled-pairs`` runs each pair whole, ten times with other latencies of the L2 cache
and of the way to it, and once in windows, and prints whether the interval holds the spread of the
ten; with ``--doc`` it writes the table into docs/sampling.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from experiments.marked import grid, tell
from experiments.run_shown import run_shown
from experiments.sampling import SAMPLE
from gpusim.studies.scripts import FOLDER
from gpusim.studies.sweep.results import SweepResults
from gpusim.studies.sweep.spec import Sweep

MODEL, SCALE = "maxwell-mask", "paper"
PAIRS = {
    "transform_backprop": "windows=20,length=8kcycles,warm=4kcycles",
    "stencil_chip": "windows=20,length=8kcycles,warm=4kcycles",
}
"""Files of `experiments/pairs`, and their windows."""

SHIFTS = {
    "l2.latency": ["8 cycles", "9 cycles", "10 cycles", "11 cycles", "12 cycles"],
    "crossbar.latency": ["8 cycles", "9 cycles"],
}
"""About those of the model."""

HEAD = (
    "pair", "number", "ten shifted runs", "spread", "estimate", "interval", "holds the spread",
    "timed, seconds: a whole run / windows",
)  # fmt: skip


@frozen
class Band:
    """A number of a pair.

    Attributes:
        name: which, such as ``cycles`` or ``HOTSPOT/ipc``.
        least, most: of the shifted runs.
        value, low, high: the estimate and its interval.
    """

    name: str
    least: float
    most: float
    value: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the interval holds all runs."""
        return self.low <= self.least and self.most <= self.high


def sweeps(name: str) -> tuple[Sweep, Sweep]:
    """A pair whole and shifted, and in windows."""
    path = Path(__file__).parent / "pairs" / f"{name}.toml"
    whole = Sweep(
        name=f"{name}-whole", title=f"{name}, whole, shifted", models=MODEL, workloads=str(path),
        scale=SCALE, set=SHIFTS,
    )  # fmt: skip
    windows = Sweep(
        name=f"{name}-windows", title=f"{name}, in windows", models=MODEL, workloads=str(path),
        scale=SCALE, set={SAMPLE: [PAIRS[name]]},
    )  # fmt: skip
    return whole, windows


def bands(whole: SweepResults, windows: SweepResults) -> Iterator[Band]:
    """Cycles of the pair, and the IPC of each program."""
    with windows.open(windows.table.key.iloc[0]) as part:
        facts = part.estimates.set_index("name").to_dict("index")
        names = ["cycles", *(f"{app}/ipc" for app in part.applications.name)]
    for name in names:
        values = whole.table[name].to_numpy(float)
        found = facts[name]
        yield Band(
            name, float(values.min()), float(values.max()), float(found["value"]),
            float(found["low"]), float(found["high"]),
        )  # fmt: skip


def rows(name: str, whole: SweepResults, windows: SweepResults) -> Iterator[list[str]]:
    """A row a number."""
    with whole.open(whole.table.key.iloc[0]) as one, windows.open(windows.table.key.iloc[0]) as two:
        seconds = f"{one.wall.seconds:.0f} / {two.wall.seconds:.0f}"
    for band in bands(whole, windows):
        yield [
            f"`{name}`", band.name, f"{band.least:,.4g} to {band.most:,.4g}",
            f"{band.most / band.least - 1:.1%}", f"{band.value:,.4g}",
            f"{band.low:,.4g} to {band.high:,.4g}", "yes" if band.holds else "no", seconds,
        ]  # fmt: skip


def main() -> None:
    """Run, then print or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--doc", type=Path, help="page whose table is replaced")
    parser.add_argument(
        "--output", type=Path, default=FOLDER / "sampled-pairs",
        help="folder of runs, which is continued (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, help="processes; default: one a core")
    arguments = parser.parse_args()
    found: list[list[str]] = []
    for name in PAIRS:
        whole, windows = (
            run_shown(sweep, arguments.output, arguments.jobs) for sweep in sweeps(name)
        )
        found += rows(name, whole, windows)
    tell(arguments.doc, "sampled pairs", grid(HEAD, found))


if __name__ == "__main__":
    main()
