"""What a memory transaction costs, in bare SimPy timeouts measured in the same process.

Run with ``gpusim study speed [--json]``.  Six cases: three kernels, one whose loads hit
everywhere, one that misses the L1 TLB most of the time, one that streams from DRAM; a graph
program; a pair of programs under MASK; a mix of instances under STAR.  The price in timeouts means
the same on every machine.

Where gpusim is installed compiled, its two forms are measured in turn, each run in a process of its
own; otherwise only the form that there is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from attrs import asdict, frozen
from rich.console import Console
from rich.table import Table

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

AIMS = {
    "hit-heavy": 3,
    "tlb-miss-heavy": 9,
    "dram-heavy": 12,
    "graph": None,
    "pair under mask": None,
    "mix under star": None,
}
"""Cases, and the prices in timeouts that we aim at, compiled."""

_CASE = Path(__file__).with_name("speed_case.py")
_COMPILED = "compiled"


@frozen
class Price:
    """What one case cost in one form, the median over some runs.

    Attributes:
        case, form: of what.
        transactions, cycles: of one run; all runs have the same.
        transactions_per_second, events_per_transaction, timeout_ns, timeouts_per_transaction: the
            figures.
    """

    case: str
    form: str
    transactions: int
    cycles: int
    transactions_per_second: float
    events_per_transaction: float
    timeout_ns: float
    timeouts_per_transaction: float


def measure(case: str, repeats: int) -> list[Price]:
    """The price of a case in each form that there is, by runs in turn."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for _ in range(repeats):
        for options in ((), ("--interpreted",)):
            found = run_case(case, *options)
            runs.setdefault(found["form"], []).append(found)
            if found["form"] != _COMPILED:  # there is no other
                break
    return [_price(case, form, found) for form, found in runs.items()]


def run_case(case: str, *options: str) -> dict[str, Any]:
    """Run a case in a process of its own, which finds the gpusim that is installed.

    Args:
        case: its name.
        options: of `experiments.speed_case`.

    Raises:
        RuntimeError: it failed; the message is what it wrote.
    """
    command = [sys.executable, str(_CASE), case, *options]
    ended = subprocess.run(  # noqa: S603  (a script beside this one)
        command, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{ended.stderr}")
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def _price(case: str, form: str, runs: list[dict[str, Any]]) -> Price:
    count = runs[0]["transactions"]
    seconds = median(run["seconds"] for run in runs)
    timeout = median(run["timeout_seconds"] for run in runs)
    return Price(
        case=case,
        form=form,
        transactions=int(count),
        cycles=int(runs[0]["cycles"]),
        transactions_per_second=count / seconds,
        events_per_transaction=runs[0]["events"] / count,
        timeout_ns=timeout * 1e9,
        timeouts_per_transaction=median(run["seconds"] / run["timeout_seconds"] for run in runs)
        / count,
    )


def main() -> None:
    """Measure all cases and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"of these: {', '.join(AIMS)} (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each form (default 3)")
    arguments = parser.parse_args()
    if unknown := [case for case in arguments.cases if case not in AIMS]:
        parser.error(f"there is no case {unknown[0]!r}; allowed: {', '.join(AIMS)}")
    prices = [
        price for case in arguments.cases or AIMS for price in measure(case, arguments.repeats)
    ]
    if arguments.json:
        print(json.dumps({"prices": [asdict(price) for price in prices]}))
    else:
        Console().print(_table(prices))


def _table(prices: list[Price]) -> Table:
    table = Table(title="price of a transaction, in bare SimPy timeouts")
    table.add_column("case", no_wrap=True)
    table.add_column("form", no_wrap=True)
    for heading in ("count", "a second", "events", "timeout", "price", "aim", "gain"):
        table.add_column(heading, justify="right", no_wrap=True)
    pure = {price.case: price for price in prices if price.form != _COMPILED}
    for price in prices:
        compiled = price.form == _COMPILED
        aim = AIMS[price.case] if compiled else None
        gain = price.transactions_per_second / pure[price.case].transactions_per_second
        table.add_row(
            price.case,
            price.form,
            f"{price.transactions:,}",
            f"{price.transactions_per_second:,.0f}",
            f"{price.events_per_transaction:.2f}",
            f"{price.timeout_ns:.0f} ns",
            f"{price.timeouts_per_transaction:.1f}",
            f"≤ {aim}" if aim else "",
            f"{gain:.2f} ×" if compiled else "",
        )
    return table


if __name__ == "__main__":
    main()
