"""What the table of programs is made of: a suite's file has lists of these entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from gpusim.core.warp_program import INACTIVE, MEMORY_OPS, LaneChunk, Launch, Op
from gpusim.programs.catalog import find_program
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.kernel import Program

LANES = list(range(32))
WARP = 32

Arrays = dict[str, NDArray[Any]]
"""Values of a program's arrays by their names."""

Operation = tuple[str, str | int, list[int]]
"""What a warp does: operation, array or argument, elements of its lanes."""

WAIT = ("WAIT", 0, [])
BARRIER = ("BARRIER", 0, [])


def compute(instructions: int) -> Operation:
    return ("COMPUTE", instructions, [])


def shared(passes: int = 1) -> Operation:
    return ("SHARED", passes, [])


def load(array: str, elements: Sequence[int]) -> Operation:
    return ("LOAD", array, list(elements))


def store(array: str, elements: Sequence[int]) -> Operation:
    return ("STORE", array, list(elements))


def reduce(array: str, elements: Sequence[int]) -> Operation:
    return ("REDUCE", array, list(elements))


@frozen
class Start:
    """A program with its input.

    Attributes:
        program: its name.
        parameters: those that are not the defaults.
        graph: its input, if it uses one.
        seed: of what is random.
        edit: changes its arrays before its first launch.
    """

    program: str
    parameters: Mapping[str, Any] = field(factory=dict)
    graph: Graph | None = None
    seed: int = 0
    edit: Callable[[Arrays], None] | None = None

    def application(self) -> Program:
        kind = find_program(self.program)
        started = kind.start(kind.parameters(**self.parameters), self.graph, self.seed)
        if self.edit is not None:
            self.edit({array.name: array.data for array in started.memory.arrays})
        return started

    def __str__(self) -> str:
        values = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.program}({values})" + (f" {self.graph.name}" if self.graph else "")


Results = Mapping[str, ArrayLike | Callable[[NDArray[Any]], None]]
"""What arrays hold at the end, by their names, or what checks it."""


def no_results(_: Arrays) -> Results:
    """Those of a run whose launches alone are looked at."""
    return {}


@frozen
class Run(Start):
    """A whole run: its launches, and what is in its arrays afterwards.

    Attributes:
        launches: names of all launches in order, or what tells them from the arrays before.
        arrays: names of all arrays in order, or their names and bytes.
        results: what arrays hold at the end, from what all held at the beginning.
        rel, abs: tolerances of floats.
        any_order: the run does the same when later blocks are executed before earlier ones.
    """

    launches: Sequence[str] | Callable[[Arrays], Sequence[str]] = ()
    arrays: Sequence[str] | Mapping[str, int] = ()
    results: Callable[[Arrays], Results] = no_results
    rel: float = 1e-5
    abs: float = 1e-12
    any_order: bool = True


@frozen
class Warp(Start):
    """What one warp does.

    Attributes:
        launch: number of the launch; those before are executed.
        block, warp: which one.
        geometry: name, blocks, threads of a block, registers of a thread, shared bytes of a block.
        operations: all that it does in order, or what checks it.
        check: what checks it with the program's arrays, before and after.
    """

    launch: int = 0
    block: int = 0
    warp: int = 0
    geometry: tuple[str, int, int, int, int] | None = None
    operations: Sequence[Operation] | Callable[[list[Operation]], None] | None = None
    check: Callable[[list[Operation], Arrays, Arrays], None] | None = None

    def __str__(self) -> str:
        return f"{super().__str__()} {self.launch}/{self.block}/{self.warp}"


@frozen
class Refused(Start):
    """An input that does not fit.

    Attributes:
        message: of the error, a regular expression.
    """

    message: str = ""


def nth_launch(program: Program, number: int) -> Launch:
    """The launch after `number` others, which are executed, their blocks in order."""
    launches = program.launches()
    for earlier in islice(launches, number):
        for block in range(earlier.blocks):
            for _ in earlier.run_block(block, WARP):
                pass
    return next(launches)


def operations_of(
    launch: Launch, application: Program, block: int = 0, warp: int = 0
) -> list[Operation]:
    """What a warp does."""
    found: list[Operation] = []
    for chunk in launch.run_block(block, WARP):
        memory = -1
        for row, kind in enumerate(chunk.kind.tolist()):
            memory += kind in MEMORY_OPS
            if not chunk.active[row, warp]:
                continue
            if kind not in MEMORY_OPS:
                found.append((Op(kind).name, int(chunk.arg[row]), []))
                continue
            lanes = chunk.address[memory, warp]
            lanes = lanes[lanes != INACTIVE]
            array = next(
                one
                for one in application.memory.arrays
                if one.base <= lanes[0] < one.base + max(one.bytes, 1)
            )
            offsets = ((lanes - array.base) // int(chunk.size[memory])).tolist()
            found.append((Op(kind).name, array.name, offsets))
    return found


def check_rows(chunk: LaneChunk) -> None:
    """Memory operations have a row of addresses each, and warps that execute them have lanes."""
    memory = np.isin(chunk.kind, [int(op) for op in MEMORY_OPS])
    assert chunk.address.shape[0] == memory.sum()
    if memory.any():
        assert ((chunk.address >= 0).any(axis=2) == chunk.active[memory]).all()
    assert chunk.active.any(axis=1).all()
