"""fw: all shortest paths (Floyd and Warshall), one launch a middle vertex."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, optional
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.pannotia.rows import FAR, Ints, whole_weights
from gpusim.programs.tracer import BlockTracer, Shape

TILE = 16
"""A thread block is TILE x TILE."""

MOST_VERTICES = 16384
"""A matrix of 1 GiB."""


def distances(graph: Graph, seed: int) -> NDArray[np.int32]:
    """(vertices, vertices) lengths of the arcs; 0 on the diagonal, FAR where there is no arc.

    Of double arcs the last one counts.

    Raises:
        ValueError: thread blocks would not fit the matrix, or a weight is unusable.
    """
    n = graph.vertices
    if n % TILE or n > MOST_VERTICES:
        raise ValueError(
            f"{graph.name} has {n} vertices; must be a multiple of {TILE}, at most {MOST_VERTICES}"
        )
    matrix = np.full((n, n), FAR, dtype=np.int32)
    matrix[np.repeat(np.arange(n), graph.degrees), graph.col] = whole_weights(graph, seed)
    np.fill_diagonal(matrix, 0)
    return matrix


@define(kw_only=True, eq=False)
class FwRelax(Kernel):
    """Paths over one middle vertex: one pair (i, j) a thread.

    Lanes run along the rows i: neighbouring ones are 4 n bytes apart.  Row and column of the middle
    vertex do not change in its own launch (its distance to itself is 0), so blocks do not race.
    28 instructions for parameters, bounds and addresses before the loads, as in PTX of nvcc 11.8
    for sm_35.

    Attributes:
        dist: (n * n,) distances.
        next: (n * n,) the last middle vertex of each path.
        n: vertices.
        middle: the middle vertex.
    """

    dist: Ints
    next: Ints
    n: int
    middle: int
    name: str = "floydwarshall"
    registers_per_thread: int = 12
    in_step = True

    def body(self, k: BlockTracer) -> None:
        i = k.bx * TILE + k.tx
        j = k.by * TILE + k.ty
        k.compute(28)
        first = k.load(self.dist, i * self.n + self.middle)
        second = k.load(self.dist, self.middle * self.n + j)
        direct = k.load(self.dist, i * self.n + j)
        k.wait()
        k.compute(3)
        shorter = first + second < direct
        k.compute(3, shorter)
        k.store(self.dist, i * self.n + j, first + second, shorter)
        k.store(self.next, i * self.n + j, self.middle, shorter)


@frozen
class FwParameters:
    """Parameters of fw.

    Attributes:
        iterations: middle vertices 1, 2, ...; None: all n - 1 of the suite, which leaves out 0.
    """

    iterations: int | None = field(default=None, validator=optional(ge(1)))


@program("fw", FwParameters, uses_graph=True)
class Fw(Program):
    """All shortest paths.  Arrays in the order dist, next."""

    def __init__(self, parameters: FwParameters, graph: Graph, seed: int) -> None:
        super().__init__("fw")
        self.n = graph.vertices
        matrix = distances(graph, seed)
        self.iterations = min(parameters.iterations or self.n - 1, self.n - 1)
        self.dist = self.memory.allocate("dist", matrix)
        self.next = self.memory.allocate("next", np.zeros_like(matrix))

    def launches(self) -> Iterator[Launch]:
        tiles = self.n // TILE
        shape = Shape((tiles, tiles, 1), (TILE, TILE, 1))
        for middle in range(1, 1 + self.iterations):
            yield FwRelax(shape=shape, dist=self.dist, next=self.next, n=self.n, middle=middle)
