"""How the cost of a run grows with its transactions, and with the warps and SMs of the machine.

Run with ``gpusim study growth``: the kernel that misses the L1 TLB most of the time
(`experiments.speed`), on ``kepler-uvm``; time a transaction, and the memory that the run took
beyond what was there before its first cycle.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments.speed import run_case

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

CASE, ITERATIONS = "tlb-miss-heavy", 120
TIMES = (1, 2, 4, 8, 16)
WARPS = (8, 16, 32, 64)
SMS = (2, 4, 8, 16, 32)


def points() -> Iterator[tuple[str, tuple[str, ...]]]:
    """What is varied, and the options of `experiments.speed_case` for it."""
    for times in TIMES:
        yield f"{times} × as long", ("--iterations", str(times * ITERATIONS))
    for warps in WARPS:
        threads = f"sm.max_threads={warps * 32}"
        yield f"{warps} warps an SM", ("--set", f"sm.max_warps={warps}", "--set", threads)
    for sms in SMS:
        yield f"{sms} SMs", ("--set", f"sm.count={sms}")


def main() -> None:
    """Run all points and print them."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    table = Table(title="cost of a transaction, and memory of a run")
    table.add_column("")
    for heading in ("transactions", "µs each", "events each", "MB", "form"):
        table.add_column(heading, justify="right", no_wrap=True)
    for label, options in track(list(points()), "running", console=Console(stderr=True)):
        found = run_case(CASE, *options)
        count = found["transactions"]
        table.add_row(
            label,
            f"{count:,}",
            f"{found['seconds'] / count * 1e6:.1f}",
            f"{found['events'] / count:.2f}",
            f"{found['kilobytes'] / 1024:.1f}",
            found["form"],
        )
    Console().print(table)


if __name__ == "__main__":
    main()
