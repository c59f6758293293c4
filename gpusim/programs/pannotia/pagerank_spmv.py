"""pagerank_spmv: ranks pulled along the arcs, as a sparse matrix-vector product."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.idioms import threads_below
from gpusim.programs.kernel import Program
from gpusim.programs.pannotia.pagerank import PagerankParameters, PagerankStart, PagerankUpdate
from gpusim.programs.pannotia.rows import Ints, VertexKernel, load_bounds, transposed, unrolled
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 64

Floats = DeviceArray[np.float32]


@define(kw_only=True, eq=False)
class SpmvWeights(VertexKernel):
    """Each arc gets 1 / degree of the vertex where it comes from.  Registers are our choice.

    Attributes:
        data: (arcs,) the result.
        degree: (vertices,) arcs that leave each vertex, `colcnt`.
    """

    data: Floats
    degree: Ints
    name: str = "inicsr"
    registers_per_thread: int = 20
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        inside = threads_below(k, self.vertices)
        edge, end = load_bounds(k, self.row, inside)
        k.wait(0, inside)
        while (where := edge < end).any():
            origin = k.load(self.col, edge, where)
            k.wait(0, where)
            k.compute(2, where)
            degree = k.load(self.degree, origin, where)
            k.wait(0, where)
            k.compute(10, where)
            k.store(self.data, edge, (1 / np.maximum(degree, 1)).astype(np.float32), where)
            edge = edge + 1
            yield


@define(kw_only=True, eq=False)
class SpmvPull(VertexKernel):
    """One sum per thread, over a row of the matrix.

    There is no store in the loop: four arcs at a time load `col` and `data`, then the ranks (the
    compiled code goes up to 16 in long rows; four is our choice).  Three instructions an arc (two
    for the address of the rank), five for the loop of four: PTX of nvcc 11.8 for sm_35.

    Attributes:
        data: (arcs,) the matrix.
        rank, incoming: `pr1` and `pr2`.
    """

    data: Floats
    rank: Floats
    incoming: Floats
    name: str = "spmv_csr_scalar_kernel"
    registers_per_thread: int = 32
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        inside = threads_below(k, self.vertices)
        start, end = load_bounds(k, self.row, inside)
        k.wait(0, inside)
        total = np.zeros(k.threads, dtype=np.float32)
        for arcs in unrolled(start, end):
            first = arcs[0][1]
            origins = [k.load(self.col, arc, where) for arc, where in arcs]
            factors = [k.load(self.data, arc, where) for arc, where in arcs]
            k.wait(0, first)
            ranks = [
                k.load(self.rank, origin, where)
                for origin, (_, where) in zip(origins, arcs, strict=True)
            ]
            k.wait(0, first)
            for factor, rank, (_, where) in zip(factors, ranks, arcs, strict=True):
                k.compute(3, where)
                total = np.where(where, total + factor * rank, total)
            k.compute(5, first)
            yield
        before = k.load(self.incoming, k.t, inside)
        k.wait(0, inside)
        k.store(self.incoming, k.t, before + total, inside)


@program("pagerank_spmv", PagerankParameters, uses_graph=True)
class PagerankSpmv(Program):
    """The same ranks as `Pagerank`'s, pulled instead of pushed.

    Arrays in the order row, col, data, pr1, pr2, colcnt; row and col are the graph with its arcs
    reversed.  The kernels before and after the product are those of `Pagerank`.
    """

    def __init__(self, parameters: PagerankParameters, graph: Graph, seed: int) -> None:
        super().__init__("pagerank_spmv")
        self.vertices = graph.vertices
        self.iterations = parameters.iterations
        reverse = transposed(graph)
        zeros = np.zeros(self.vertices, dtype=np.float32)
        self.row = self.memory.allocate("row", reverse.row)
        self.col = self.memory.allocate("col", reverse.col)
        self.data = self.memory.allocate("data", np.zeros(graph.arcs, dtype=np.float32))
        self.rank = self.memory.allocate("pr1", zeros)
        self.incoming = self.memory.allocate("pr2", zeros)
        self.degree = self.memory.allocate("colcnt", graph.degrees)

    def launches(self) -> Iterator[Launch]:
        shape = Shape.linear(self.vertices, BLOCK)
        rank, incoming, vertices = self.rank, self.incoming, self.vertices
        yield PagerankStart(shape=shape, rank=rank, incoming=incoming, vertices=vertices)
        yield SpmvWeights(
            shape=shape,
            row=self.row,
            col=self.col,
            vertices=vertices,
            data=self.data,
            degree=self.degree,
        )
        pull = SpmvPull(
            shape=shape,
            row=self.row,
            col=self.col,
            vertices=vertices,
            data=self.data,
            rank=rank,
            incoming=incoming,
        )
        update = PagerankUpdate(shape=shape, rank=rank, incoming=incoming, vertices=vertices)
        for _ in range(self.iterations):
            yield pull
            yield update
