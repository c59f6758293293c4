"""Two programs that do the same work, timed in turn: gpusim beside another simulator.

Run with ``gpusim study peers CASES.toml [--repeat 5] [--json]``.  A case is a pair of command
lines::

    [start]                          # commands that do next to nothing
    ours = "gpusim run rtx3070 tiny.g --json"
    theirs = "accel-sim.out -trace tiny.g -config gpgpusim.config -config trace.config"

    [cases.vectoradd]
    ours = "gpusim run rtx3070 vectoradd/kernelslist.g --json"
    theirs = "accel-sim.out -trace vectoradd/kernelslist.g -config …"
    transactions = 32768             # may be left out: prints µs for each of ours

The commands run in turn, ours, theirs, ours, …, each a whole process in the folder of the file,
without a shell.  What counts is the CPU time, user and system, of the process and of its children;
of several runs the least, because other work on a machine only adds.  A factor is theirs over
ours; net of start-up, both without the time of the commands under ``start``.  Peak memory is that
of the largest process.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import asdict, field, frozen
from rich.console import Console
from rich.table import Table

from experiments.counts import positive
from gpusim.core.errors import UserError
from gpusim.files.structure import StructureError, structure
from gpusim.files.toml_document import read_document

SIDES = ("ours", "theirs")


@frozen(kw_only=True)
class Case:
    """One piece of work: two command lines, and how many transactions it is; 0: unknown."""

    ours: str
    theirs: str
    transactions: int = 0


@frozen(kw_only=True)
class Cases:
    """What is compared: a file's tables.

    Attributes:
        cases: by name.
        start: commands that show what the start of a process takes; None: it is not left out.
    """

    cases: dict[str, Case]
    start: Case | None = None


@frozen
class Cost:
    """CPU seconds and peak memory (MB) of whole processes; of several, the least."""

    seconds: float = math.inf
    megabytes: float = math.inf

    def or_less(self, other: Cost) -> Cost:
        return Cost(min(self.seconds, other.seconds), min(self.megabytes, other.megabytes))


@frozen
class Compared:
    """One case: its costs, and by which factors theirs is more."""

    name: str
    ours: Cost
    theirs: Cost
    factor: float
    net_factor: float | None = field(default=None)
    microseconds: float | None = field(default=None)


def cost_of(command: str, folder: Path) -> Cost:
    """Run a command line.

    Raises:
        UserError: it is none, there is no such program, or it fails.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(  # noqa: S603  (the commands are the user's own)
                words_of(command), cwd=folder, stdout=subprocess.DEVNULL, stderr=errors
            )
        except OSError as error:
            raise UserError(f"{command}: {error.strerror}") from error
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            last = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise UserError(f"{command}: ended with {process.returncode}: {last}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


def words_of(command: str) -> list[str]:
    """The words of a command line.

    Raises:
        UserError: it has none, or a quote without its end.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"{command!r} is no command line: {error}") from error
    if not words or "\0" in command:
        raise UserError(f"{command!r} is no command line")
    return words


def measure(cases: Cases, folder: Path, repeat: int) -> dict[str, dict[str, Cost]]:
    """Least costs by case and side; the case "" is the start."""
    work: dict[str, Case] = {"": cases.start} if cases.start else {}
    work |= cases.cases
    least: dict[str, dict[str, Cost]] = {name: dict.fromkeys(SIDES, Cost()) for name in work}
    for number in range(repeat):
        for name, case in work.items():
            for side in SIDES:
                cost = cost_of(getattr(case, side), folder)
                least[name][side] = least[name][side].or_less(cost)
                print(f"{number + 1} of {repeat}: {name or 'start'}, {side}: {cost.seconds:.2f} s")
    return least


def compared(cases: Cases, least: Mapping[str, Mapping[str, Cost]]) -> Iterator[Compared]:
    """The rows of the table, in the order of the file.

    Raises:
        UserError: a case takes too little time to be measured.
    """
    start = least.get("")
    for name, case in cases.cases.items():
        ours, theirs = (least[name][side] for side in SIDES)
        if not (ours.seconds and theirs.seconds):
            raise UserError(f"{name}: a command takes no processor time that can be measured")
        net = None
        if start is not None:
            left = [least[name][side].seconds - start[side].seconds for side in SIDES]
            net = left[1] / left[0] if min(left) > 0 else None
        each = ours.seconds / case.transactions * 1e6 if case.transactions else None
        yield Compared(name, ours, theirs, theirs.seconds / ours.seconds, net, each)


def print_table(rows: list[Compared]) -> None:
    """Print the costs and their factors, and the geometric mean of these."""
    table = Table(title="CPU seconds of whole processes")
    for head in ("case", "ours", "theirs", "factor", "net", "MB ours", "MB theirs", "µs each"):
        table.add_column(head, justify="left" if head == "case" else "right")
    for row in rows:
        table.add_row(
            row.name,
            f"{row.ours.seconds:.2f}",
            f"{row.theirs.seconds:.2f}",
            f"{row.factor:.1f}",
            "–" if row.net_factor is None else f"{row.net_factor:.1f}",
            f"{row.ours.megabytes:.0f}",
            f"{row.theirs.megabytes:.0f}",
            "–" if row.microseconds is None else f"{row.microseconds:.2f}",
        )
    mean = math.exp(sum(math.log(row.factor) for row in rows) / len(rows))
    table.caption = f"geometric mean of the factors: {mean:.1f}"
    Console().print(table)


def read_cases(path: Path) -> Cases:
    """The tables of a file.

    Raises:
        UserError: it is no such file, or has no case.
    """
    document = read_document(path)
    try:
        cases = structure(document.data, Cases)
    except StructureError as error:
        problems = (f"{path}: {'.'.join(one.key)}: {one.message}" for one in error.problems)
        raise UserError("\n".join(problems)) from error
    if not cases.cases:
        raise UserError(f"{path}: must have a table [cases.NAME]")
    for name, case in cases.cases.items():
        if case.transactions < 0:
            raise UserError(
                f"{path}: cases.{name}.transactions = {case.transactions}: must be 0 or more"
            )
    return cases


def main() -> None:
    """Time the cases of a file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", type=Path, help="TOML file of command lines")
    parser.add_argument("--repeat", type=positive, default=5, help="runs of each command")
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    options = parser.parse_args()
    if not hasattr(os, "wait4"):
        raise UserError("this system does not say what a process has cost")
    cases = read_cases(options.cases)
    rows = [*compared(cases, measure(cases, options.cases.parent, options.repeat))]
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        print_table(rows)


if __name__ == "__main__":
    main()
