"""What recording costs: time, bytes and memory of runs with nothing and with everything recorded.

Run with ``gpusim study record-overhead [--json] [--repeats N] [--record NAMES]``.  Every
run has a process of its own, runs with and without recording alternate, and the best of each
counts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from attrs import asdict, field, frozen
from rich.console import Console
from rich.table import Table

from experiments.counts import positive
from gpusim.core.process_memory import peak_bytes
from gpusim.machine.load import load_model
from gpusim.results.event_tables import RECORDS, check_records
from gpusim.runs.simulate import simulate
from gpusim.workloads.workload import load_workload

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""


@frozen
class Case:
    """A model and a workload, with the parameters that make its run take a few seconds."""

    model: str
    workload: str
    scale: str
    parameters: Mapping[str, object] = field(factory=dict)


CASES = (
    Case("kepler-uvm", "bfs", "smoke", {"graph.vertices": 8192}),
    Case("kepler-uvm", "atax", "quick", {"n": 1024, "iterations": 32}),
    Case("maxwell-mask", "pagerank", "smoke", {"graph.vertices": 4096}),
    Case("a100-mig", "gemm", "smoke", {"n": 192}),
)


@frozen
class Run:
    """One run, measured in its own process: seconds of it, peak memory of the process."""

    digest: str
    transactions: int
    rows: int
    file_bytes: int
    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int


@frozen
class Price:
    """What recording cost in one case; ratios are of the best runs with and without."""

    model: str
    workload: str
    transactions: int
    rows: int
    bytes_per_row: float
    plain_cpu_seconds: float
    cpu_ratio: float
    wall_ratio: float
    plain_peak_bytes: int
    added_peak_bytes: int


def run(case: Case, records: Sequence[str], folder: str) -> Run:
    """Run a case once, its result in a file in `folder`."""
    model = load_model(case.model)
    workload = load_workload(case.workload, case.scale, overrides=case.parameters)
    path = Path(folder) / "run.h5"
    cpu, wall = time.process_time(), time.perf_counter()
    with simulate(model, workload, record=records, output=path) as result:
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        return Run(
            digest=result.digest,
            transactions=int(result.summary["transactions"]),
            rows=sum(result.tables.values()),
            file_bytes=path.stat().st_size,
            cpu_seconds=cpu,
            wall_seconds=wall,
            peak_bytes=peak_bytes(),
        )


def measure(case: Case, records: Sequence[str], repeats: int) -> Price:
    """Run a case with and without recording, in turns.

    Raises:
        AssertionError: the digests differ.
    """
    plain: list[Run] = []
    recorded: list[Run] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes,
    ):
        for _ in range(repeats):
            plain.append(processes.submit(run, case, (), folder).result())
            recorded.append(processes.submit(run, case, records, folder).result())
    assert len({one.digest for one in plain + recorded}) == 1, "recording changed the result"
    rows = recorded[0].rows
    added_bytes = recorded[0].file_bytes - plain[0].file_bytes
    cpu = min(one.cpu_seconds for one in plain)
    peak = min(one.peak_bytes for one in plain)
    return Price(
        model=case.model,
        workload=case.workload,
        transactions=plain[0].transactions,
        rows=rows,
        bytes_per_row=added_bytes / rows,
        plain_cpu_seconds=cpu,
        cpu_ratio=min(one.cpu_seconds for one in recorded) / cpu,
        wall_ratio=min(one.wall_seconds for one in recorded)
        / min(one.wall_seconds for one in plain),
        plain_peak_bytes=peak,
        added_peak_bytes=min(one.peak_bytes for one in recorded) - peak,
    )


def main() -> None:
    """Measure all cases and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--repeats", type=positive, default=3, help="runs of each kind (default 3)")
    parser.add_argument("--record", default=",".join(RECORDS), help="what to record (all)")
    arguments = parser.parse_args()
    records = arguments.record.split(",")
    check_records(records)
    prices = [measure(case, records, arguments.repeats) for case in CASES]
    if arguments.json:
        print(json.dumps({"records": records, "prices": [asdict(price) for price in prices]}))
        return
    table = Table(title=f"price of recording {', '.join(records)}")
    table.add_column("run", no_wrap=True)
    headings = (
        "transactions",
        "rows",
        "bytes/row",
        "CPU s",
        "CPU ratio",
        "wall ratio",
        "MiB",
        "added",
    )
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for price in prices:
        table.add_row(
            f"{price.model} {price.workload}",
            f"{price.transactions:,}",
            f"{price.rows:,}",
            f"{price.bytes_per_row:.1f}",
            f"{price.plain_cpu_seconds:.2f}",
            f"{price.cpu_ratio:.2f}",
            f"{price.wall_ratio:.2f}",
            f"{price.plain_peak_bytes / 2**20:.0f}",
            f"{price.added_peak_bytes / 2**20:+.0f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
