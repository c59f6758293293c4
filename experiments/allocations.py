"""What a memory transaction allocates: blocks of memory, and integers in boxes.

Run with ``gpusim study allocations [--json]``: the cases of `experiments.speed`, each once in a
process of its own.  Counts, unlike times, are the same on a busy machine, so a test holds the
compiled form to them.  What counts is a hook in front of Python's allocators, written in C
(``allocation_counter.c``), which takes a C compiler and the headers of Python.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import asdict, frozen
from rich.console import Console
from rich.table import Table

from experiments.speed import AIMS, run_case

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

_SOURCE = Path(__file__).with_name("allocation_counter.c")


@frozen
class Allocations:
    """What a transaction of one case allocates, the mean of a run.

    Attributes:
        case, form: of what.
        transactions: of the run.
        allocations: blocks of memory asked for or enlarged: objects, and the contents of lists and
            dicts.
        boxes: integers among the objects that were freed.  An integer of compiled code becomes an
            object where it is put into a list or a dict, or handed to interpreted code.
    """

    case: str
    form: str
    transactions: int
    allocations: float
    boxes: float


@contextmanager
def counter() -> Iterator[str]:
    """The path of a library that counts allocations, for ``speed_case.py --count``.

    Raises:
        RuntimeError: there is no C compiler, or it has no headers of Python.
    """
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    headers = f"-I{sysconfig.get_paths()['include']}"
    with TemporaryDirectory() as folder:
        library = str(Path(folder, "allocation_counter.so"))
        command = [compiler, "-O1", "-shared", "-fPIC", headers, str(_SOURCE), "-o", library]
        try:
            ended = subprocess.run(  # noqa: S603  (Python's own compiler)
                command, capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise RuntimeError(f"the C compiler {compiler} does not run: {error}") from error
        if ended.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{ended.stderr}")
        yield library


def count(case: str, library: str, *options: str) -> Allocations:
    """Run a case, and count.

    Args:
        case: its name.
        library: see `counter`.
        options: of `experiments.speed_case`.
    """
    found = run_case(case, "--count", library, *options)
    transactions = found["transactions"]
    return Allocations(
        case=case,
        form=found["form"],
        transactions=transactions,
        allocations=found["allocations"] / transactions,
        boxes=found["boxes"] / transactions,
    )


def main() -> None:
    """Count in all cases and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"of these: {', '.join(AIMS)} (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if unknown := [case for case in arguments.cases if case not in AIMS]:
        parser.error(f"there is no case {unknown[0]!r}; allowed: {', '.join(AIMS)}")
    with counter() as library:
        counts = [count(case, library) for case in arguments.cases or AIMS]
    if arguments.json:
        print(json.dumps({"counts": [asdict(one) for one in counts]}))
        return
    table = Table(title="allocations of a transaction")
    table.add_column("case", no_wrap=True)
    table.add_column("form", no_wrap=True)
    for heading in ("transactions", "allocations", "boxed integers"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in counts:
        figures = (f"{one.transactions:,}", f"{one.allocations:.1f}", f"{one.boxes:.1f}")
        table.add_row(one.case, one.form, *figures)
    Console().print(table)


if __name__ == "__main__":
    main()
