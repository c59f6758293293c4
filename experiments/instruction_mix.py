"""How many instructions a program's kernels issue for each access to memory, beside what is known.

``gpusim study instruction-mix [NAME ...] [--scale SCALE] [--doc PAGE]``

The programs are executed without a machine, in warps of 32.  What public sources tell of the real
programs is in ``experiments/programs/mixes.toml``.  With ``--doc`` the page docs/workloads.md gets
what agrees and what does not, and the file tables/instruction-mix.csv beside it all numbers.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from attrs import field, frozen
from attrs.validators import gt, in_, min_len
from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments.marked import write_marked
from experiments.workload_sizes import WARP_SIZE, transactions_of
from gpusim.core.errors import UserError, nearest
from gpusim.core.warp_program import MEMORY_OPS, NO_INSTRUCTION, LaneChunk, Op
from gpusim.files.structure import StructureError, structure
from gpusim.files.toml_document import read_document
from gpusim.workloads.library import find_workload, workload_names
from gpusim.workloads.tables import SCALES
from gpusim.workloads.workload import load_workload

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

MIXES = Path(__file__).parent / "programs" / "mixes.toml"

HEADER = (
    "program",
    "instructions an access",
    "lines an access",
    "known",
    "grade",
    "source of it",
)
CLOSE = 0.1
"""Part of the known number by which ours may be off."""


@frozen
class Known:
    """What a public source tells of a program.

    Attributes:
        instructions_per_access: warp instructions for each that accesses global memory.
        source: what states it, or from what it is computed.
        grade: A: released code or a trace; B: a paper; C: inferred.
    """

    instructions_per_access: float = field(validator=gt(0))
    source: str = field(validator=min_len(1))
    grade: str = field(validator=in_(("A", "B", "C")))


@frozen
class Mix:
    """What a program issues.

    Attributes:
        instructions: of warps.
        accesses: of these, loads, stores and atomics of global memory.
        transactions: their lines of 128 bytes.
    """

    instructions: int
    accesses: int
    transactions: int

    def __add__(self, other: Mix) -> Mix:
        return Mix(
            self.instructions + other.instructions,
            self.accesses + other.accesses,
            self.transactions + other.transactions,
        )


def mix_of_chunk(chunk: LaneChunk) -> Mix:
    """What the warps of a piece of a thread block issue."""
    warps = chunk.active.sum(axis=1)
    compute = chunk.kind == Op.COMPUTE
    single = ~compute & ~np.isin(chunk.kind, NO_INSTRUCTION)
    memory = np.isin(chunk.kind, list(MEMORY_OPS))
    issued = int(warps[single].sum() + (warps * chunk.arg)[compute].sum())
    return Mix(issued, int(warps[memory].sum()), transactions_of(chunk))


def mix_of(name: str, scale: str) -> Mix:
    """What a workload issues in a run."""
    total = Mix(0, 0, 0)
    for spec in load_workload(name, scale).applications:
        for launch in spec.start().launches():
            for block in range(launch.blocks):
                for chunk in launch.run_block(block, WARP_SIZE):
                    total += mix_of_chunk(chunk)
    return total


def known_mixes(path: Path = MIXES) -> dict[str, Known]:
    """What public sources tell, by workload.

    Raises:
        UserError: the file is wrong, or names what is no workload.
    """
    data = read_document(path).data
    names = workload_names()
    for name in data:
        if name not in names:
            raise UserError(f"{path}: {name!r} is no workload{nearest(name, names)}")
    try:
        return {name: structure(table, Known) for name, table in data.items()}
    except StructureError as error:
        raise UserError(f"{path}: {error}") from error


def rows(names: list[str], scale: str) -> Iterator[tuple[str, ...]]:
    """The table."""
    known = known_mixes()
    for name in track(names, "executing programs"):
        mix = mix_of(name, scale)
        if not mix.accesses:
            continue
        other = known.get(name)
        yield (
            name,
            f"{mix.instructions / mix.accesses:.1f}",
            f"{mix.transactions / mix.accesses:.1f}",
            *(
                ("", "", "")
                if other is None
                else (f"{other.instructions_per_access:g}", other.grade, other.source)
            ),
        )


def real_programs() -> list[str]:
    """The workloads that are programs of benchmark suites, not probes of a machine."""
    return [
        name for name in workload_names() if find_workload(name).table.suite != "microbenchmarks"
    ]


def summary(found: Sequence[Sequence[str]]) -> str:
    """How many of the programs with a known number are near it, and which are not."""
    known = [(row[0], float(row[1]), float(row[3]), row[4]) for row in found if row[3]]
    far = [one for one in known if abs(one[1] - one[2]) > CLOSE * one[2]]
    others = ", ".join(f"`{name}` {ours:g} ({theirs:g}, {by})" for name, ours, theirs, by in far)
    return (
        f"Of {len(known)} programs with a known number, {len(known) - len(far)} are within "
        f"{100 * CLOSE:.0f} % of it. Instructions an access of the others, with the known number "
        f"and its grade: {others}."
    )


def write_part(page: Path, found: Sequence[Sequence[str]]) -> None:
    """The summary into the page, and all numbers into a file beside it."""
    write_marked(page, "mixes", summary(found))
    path = page.parent / "tables" / "instruction-mix.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(found)


def main() -> None:
    """Count, tell, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="workloads; all if none is given")
    parser.add_argument("--scale", default="quick", choices=SCALES)
    parser.add_argument("--doc", type=Path, help="page whose table is replaced")
    arguments = parser.parse_args()
    found = list(rows(arguments.names or real_programs(), arguments.scale))
    table = Table(*HEADER)
    for row in found:
        table.add_row(*row)
    Console().print(table)
    if arguments.doc:
        write_part(arguments.doc, found)


if __name__ == "__main__":
    main()
