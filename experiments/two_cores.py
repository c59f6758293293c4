"""How much faster one run is on two cores, and what it costs that both sides have their own loops.

Run with ``gpusim study two-cores [--repeats N] [--csv FILE]``: addresses that miss the L1 TLB, and
such that stream from DRAM, on full products; in turn with the order of events that models have,
with ``crossbar.order = "memory-first"`` on one core, and with that on two.  Each run is a process
of its own; times are those of the run without imports, and CPU seconds are of all its processes.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import gpusim

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

MODELS = ("v100", "h100")
WARPS, LANES, LINE, PAGE = 2560, 32, 128, 2 << 20
PAGES, LINES = 128, 64
"""Pages that are touched, more than an L1 TLB has and fewer than an L2 TLB maps; lines of each."""

HOW: Mapping[str, tuple[dict[str, str], int]] = {
    "today": ({}, 1),
    "memory first": ({"crossbar.order": "memory-first"}, 1),
    "two cores": ({"crossbar.order": "memory-first"}, 2),
}
"""Settings of the model, and cores."""


def tlb_misses() -> NDArray[np.int64]:
    """Eight lanes load a line of a page; both are drawn at random, of lines that L2 caches hold."""
    draw, shape = np.random.default_rng(0), (WARPS, 24, LANES // 8)
    lines = draw.integers(0, PAGES, shape) * PAGE + draw.integers(0, LINES, shape) * LINE
    return lines.repeat(8, axis=2) + np.arange(LANES) % 8 * 4


def dram() -> NDArray[np.int64]:
    """Sixteen bytes a lane, four lines a warp, all warps together streaming through an array."""
    steps = 24
    places = np.arange(steps)[None, :, None] * WARPS + np.arange(WARPS)[:, None, None]
    return (places * LANES + np.arange(LANES)) * 16


CASES = {"TLB misses": tlb_misses, "DRAM": dram}


def run_once(case: str, model: str, how: str) -> dict[str, Any]:
    """Run a case in this process."""
    overrides, cores = HOW[how]
    machine = gpusim.load_model(model, overrides=overrides)
    workload = gpusim.workload_of(CASES[case]())
    wall, cpu = time.perf_counter(), os.times()
    with gpusim.simulate(machine, workload, cores=cores) as result:
        after = os.times()
        return {
            "transactions": result.summary["transactions"],
            "cycles": result.summary["cycles"],
            "digest": result.digest,
            "seconds": time.perf_counter() - wall,
            "cpu_seconds": sum(after[:4]) - sum(cpu[:4]),
        }


def _run_apart(*arguments: str) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, str(Path(__file__)), "--one", *arguments]
    ended = subprocess.run(  # noqa: S603  (this script)
        command, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def measure(case: str, model: str, repeats: int) -> dict[str, Any]:
    """The least times of a case, as a row of the table: what else runs only makes them longer."""
    runs: dict[str, list[dict[str, Any]]] = {how: [] for how in HOW}
    for _ in range(repeats):
        for how, found in runs.items():
            found.append(_run_apart(case, model, how))
    row: dict[str, Any] = {"model": model, "case": case}
    row["transactions"] = int(runs["today"][0]["transactions"])
    for how, found in runs.items():
        name = how.replace(" ", "_")
        row[f"cycles_{name}"] = int(found[0]["cycles"])
        row[f"seconds_{name}"] = round(min(one["seconds"] for one in found), 2)
        row[f"cpu_seconds_{name}"] = round(min(one["cpu_seconds"] for one in found), 2)
    row["factor_to_today"] = round(row["seconds_today"] / row["seconds_two_cores"], 2)
    first = row["seconds_memory_first"] / row["seconds_two_cores"]
    row["factor_to_memory_first"] = round(first, 2)
    digests = {one["digest"] for how in ("memory first", "two cores") for one in runs[how]}
    row["same_digest"] = len(digests) == 1
    return row


def main() -> None:
    """Measure all cases, and print them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3, help="runs of each kind (default 3)")
    parser.add_argument("--csv", type=Path, help="file of the table")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(run_once(*arguments.one)))
        return
    rows = [measure(case, model, arguments.repeats) for model in MODELS for case in CASES]
    table = Table(*rows[0], title="one run on two cores")
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console().print(table)
    if arguments.csv:
        with arguments.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
