"""Pairs of programs: windows at random places of both against whole runs that begin differently.

How the phases of two programs meet is an accident: a latency that is one cycle longer shifts them.
``gpusim study sampled-pairs`` runs each pair whole, ten times with other latencies of the L2 cache
and of the way to it, and five times in windows, at other places each time, and prints how many of
the intervals hold the spread of the ten; with ``--doc`` it writes the table into docs/sampling.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path
from typing import Any

from attrs import frozen

from experiments.marked import grid, tell
from experiments.run_shown import run_shown, study_options
from experiments.sampling import SAMPLE
from gpusim.studies.sweep.results import SweepResults
from gpusim.studies.sweep.spec import Sweep

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

MODEL, VARIANT, SCALE = "kepler-uvm", "quarter", "paper"
PAIRS = ("transform_backprop", "stencil_chip")
"""Files of `experiments/pairs`."""

WINDOWS = "windows=60,length=12kinstructions,warm=12kinstructions"
SEEDS = range(5)
"""Seeds of the places of windows."""

SHIFTS = {
    "l2.latency": ["8 cycles", "9 cycles", "10 cycles", "11 cycles", "12 cycles"],
    "crossbar.latency": ["60 cycles", "61 cycles"],
}
"""About those of the model."""

HEAD = (
    "pair",
    "number",
    "ten shifted runs",
    "interval of an estimate",
    "intervals that hold the spread",
)


@frozen
class Band:
    """A number of a pair.

    Attributes:
        name: which, such as ``cycles`` or ``hotspot/ipc``.
        least, most: of the shifted runs.
        estimates: (value, low, high) of each of the runs in windows; NaN: there is no interval.
    """

    name: str
    least: float
    most: float
    estimates: Sequence[tuple[float, float, float]]

    @property
    def holding(self) -> int:
        """How many of the intervals hold all runs."""
        return sum(low <= self.least and self.most <= high for _, low, high in self.estimates)


def sweeps(name: str) -> tuple[Sweep, Sweep]:
    """A pair whole and shifted, and in windows."""
    path = Path(__file__).parent / "pairs" / f"{name}.toml"
    common: dict[str, Any] = {
        "models": MODEL,
        "workloads": str(path),
        "variants": VARIANT,
        "scale": SCALE,
    }
    whole = Sweep(name=f"{name}-whole", title=f"{name}, whole, shifted", set=SHIFTS, **common)
    plans = [f"{WINDOWS},seed={seed}" for seed in SEEDS]
    windows = Sweep(
        name=f"{name}-windows", title=f"{name}, in windows", set={SAMPLE: plans}, **common
    )
    return whole, windows


def bands(whole: SweepResults, windows: SweepResults) -> Iterator[Band]:
    """Cycles of the pair, and the IPC of each program."""
    found = []
    for key in windows.table.key:
        with windows.open(key) as part:
            found.append(part.estimates.set_index("name")[["value", "low", "high"]])
            names = ["cycles", *(f"{app}/ipc" for app in part.applications.name)]
    for name in names:
        values = whole.table[name].to_numpy(float)
        each = [tuple(estimates.loc[name].to_numpy(float)) for estimates in found]
        yield Band(name, float(values.min()), float(values.max()), each)


def rows(name: str, whole: SweepResults, windows: SweepResults) -> Iterator[list[str]]:
    """A row a number."""
    for band in bands(whole, windows):
        _, low, high = band.estimates[0]
        yield [
            f"`{name}`",
            band.name,
            f"{band.least:,.4g} to {band.most:,.4g}",
            "none" if isnan(low) else f"{low:,.4g} to {high:,.4g}",
            f"{band.holding} of {len(band.estimates)}",
        ]


def main() -> None:
    """Run, then print or write."""
    arguments = study_options(__doc__, "sampled-pairs").parse_args()
    found: list[list[str]] = []
    for name in PAIRS:
        whole, windows = (
            run_shown(sweep, arguments.output, arguments.jobs) for sweep in sweeps(name)
        )
        found += rows(name, whole, windows)
    tell(arguments.doc, "sampled pairs", grid(HEAD, found))


if __name__ == "__main__":
    main()
