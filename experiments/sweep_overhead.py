"""What a sweep costs: time a run beyond the simulation itself, and how much two processes gain.

Run with ``gpusim study sweep-overhead [--json] [--runs N] [--long N]``.  Tiny runs are
done by ``gpusim sweep -j 1`` and, in one plain process, by `gpusim.simulate`; longer ones by
``gpusim sweep`` with one process and with two.  Sweeps are timed from the start of the command to
its end.  On a machine that does something else, too, the figures are worth little, so its load is
printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import psutil
import tomli_w
from attrs import asdict, frozen
from rich.console import Console
from rich.table import Table

from experiments.counts import positive
from gpusim.machine.load import load_model
from gpusim.runs.simulate import simulate
from gpusim.studies.sweep.results import open_sweep
from gpusim.studies.sweep.spec import Sweep, to_plain
from gpusim.workloads.workload import load_workload

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""


@frozen
class Overhead:
    """Tiny runs: seconds of all of them in one process, and of the sweep."""

    runs: int
    plain_seconds: float
    sweep_seconds: float

    @property
    def per_run_seconds(self) -> float:
        """What the sweep adds to a run."""
        return (self.sweep_seconds - self.plain_seconds) / self.runs


@frozen
class SpeedUp:
    """Longer runs: seconds of the sweep with one process and with two."""

    runs: int
    one_seconds: float
    two_seconds: float

    @property
    def ratio(self) -> float:
        """How much sooner two processes are done."""
        return self.one_seconds / self.two_seconds


def tiny_runs(count: int) -> Sweep:
    """Runs of a tenth of a second or two."""
    return Sweep(name="tiny", models="tiny", workloads="nw", scale="smoke", seeds=range(count))


def long_runs(count: int) -> Sweep:
    """Runs of some seconds, one like the other: what their seeds decide takes no time."""
    return Sweep(
        name="long",
        models="kepler-uvm",
        workloads="atax",
        scale="quick",
        seeds=range(count),
        set={"workload.n": 1024, "workload.iterations": 32},
    )


def simulate_all(sweep: Sweep, folder: str) -> float:
    """Load and simulate every seed of a sweep in this process.

    Returns:
        the seconds that it took.
    """
    began = time.perf_counter()
    for seed in sweep.seeds:
        model = load_model(sweep.models[0])
        workload = load_workload(sweep.workloads[0], sweep.scale, seed)
        simulate(model, workload, output=Path(folder) / f"{seed}.h5").close()
    return time.perf_counter() - began


def run_sweep(sweep: Sweep, jobs: int) -> float:
    """Do a sweep in a new folder.

    Returns:
        the seconds that the command took.

    Raises:
        AssertionError: a run has failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / f"{sweep.name}.toml"
        spec.write_text(tomli_w.dumps(to_plain(sweep)))
        runs = Path(folder) / "runs"
        command = (sys.executable, "-m", "gpusim", "sweep", str(spec), "-o", str(runs))
        began = time.perf_counter()
        subprocess.run((*command, "-j", str(jobs)), check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        seconds = time.perf_counter() - began
        assert (open_sweep(runs).table["state"] == "done").all(), "a run has failed"
    return seconds


def measure_overhead(count: int) -> Overhead:
    """Tiny runs without and with a sweep."""
    sweep = tiny_runs(count)
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(1, get_context("spawn")) as processes,
    ):
        plain = processes.submit(simulate_all, sweep, folder).result()
    return Overhead(count, plain, run_sweep(sweep, 1))


def measure_speed_up(count: int) -> SpeedUp:
    """Longer runs with one process and with two."""
    sweep = long_runs(count)
    return SpeedUp(count, run_sweep(sweep, 1), run_sweep(sweep, 2))


def main() -> None:
    """Measure both and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--runs", type=positive, default=200, help="tiny runs (default 200)")
    parser.add_argument("--long", type=positive, default=24, help="longer runs (default 24)")
    arguments = parser.parse_args()
    load = psutil.getloadavg()[0]
    overhead, speed_up = measure_overhead(arguments.runs), measure_speed_up(arguments.long)
    if arguments.json:
        figures = {"load": load, "overhead": asdict(overhead), "speed_up": asdict(speed_up)}
        print(json.dumps(figures))
        return
    table = Table(title=f"price of a sweep ({os.cpu_count()} cores, load before {load:.1f})")
    table.add_column("what", no_wrap=True)
    for heading in ("runs", "plain s", "sweep s", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row(
        "tiny runs, one process",
        str(overhead.runs),
        f"{overhead.plain_seconds:.1f}",
        f"{overhead.sweep_seconds:.1f}",
        f"{overhead.per_run_seconds * 1000:+.1f} ms a run",
    )
    table.add_row(
        "longer runs, two processes",
        str(speed_up.runs),
        f"{speed_up.one_seconds:.1f}",
        f"{speed_up.two_seconds:.1f}",
        f"{speed_up.ratio:.2f} × one",
    )
    Console().print(table)


if __name__ == "__main__":
    main()
