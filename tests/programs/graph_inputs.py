"""Small graphs for the tests of graph programs, and their launches one by one."""

from __future__ import annotations

from itertools import islice

import numpy as np

from gpusim.core.warp_program import LaneChunk, Launch
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.kernel import Program

LANES = list(range(32))

STAR = graph_from_arcs("star", 600, np.array([0, 0, 1, 2, 599]), np.array([599, 1, 0, 0, 0]))
"""0 has the neighbours 599 and 1; they and 2 have the neighbour 0."""


def nth_launch(program: Program, number: int) -> Launch:
    """The launch after `number` others, which are run, their blocks in order."""
    launches = program.launches()
    for earlier in islice(launches, number):
        run(earlier, range(earlier.blocks))
    return next(launches)


def run(launch: Launch, blocks: range) -> list[list[LaneChunk]]:
    """Run blocks one after the other, in the given order."""
    return [list(launch.run_block(block, 32)) for block in blocks]


def run_backwards(program: Program) -> list[list[tuple[int, ...]]]:
    """Run to the end, last blocks first; what each block of each launch did, first blocks first."""
    return [
        [digest(block) for block in reversed(run(launch, range(launch.blocks)[::-1]))]
        for launch in program.launches()
    ]


def run_forwards(program: Program) -> list[list[tuple[int, ...]]]:
    """Run to the end, first blocks first; what each block of each launch did."""
    return [
        [digest(block) for block in run(launch, range(launch.blocks))]
        for launch in program.launches()
    ]


def digest(chunks: list[LaneChunk]) -> tuple[int, ...]:
    """Hashes of a block's instructions and addresses."""
    return tuple(
        hash((chunk.kind.tobytes(), chunk.active.tobytes(), chunk.address.tobytes()))
        for chunk in chunks
    )


def neighbours(graph: Graph, vertex: int) -> list[int]:
    """Targets of a vertex's arcs."""
    found: list[int] = graph.col[graph.row[vertex] : graph.row[vertex + 1]].tolist()
    return found
