"""hetero_mark_pagerank: ranks as a sparse matrix-vector product, a wavefront a row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape

WAVEFRONT = 64
"""Threads of a block; with warps of 32 it is two warps."""

Floats = DeviceArray[np.float32]
Ints = DeviceArray[np.int32]


@define(kw_only=True, eq=False)
class PagerankRow(Kernel):
    """y[r] = sum of val * x[col] over row r, for block r.

    All lanes clear y[r] and read the row's bounds; entries are coalesced, x is gathered; partial
    sums lie in shared memory and are added up in a tree of 6 steps, which lane 0 writes.  A
    wavefront whose row has 1 to 64 entries has 151 instructions, as in MGPUSim; where they stand,
    and registers, are our choice.

    Attributes:
        row: (rows + 1,) where each row's entries start.
        col: (entries,) their columns.
        val: (entries,) their values.
        x, y: (rows,) ranks before and after.
    """

    row: Ints
    col: Ints
    val: Floats
    x: Floats
    y: Floats
    name: str = "PageRankUpdateGpu"
    registers_per_thread: int = 32
    shared_bytes: int = 4 * WAVEFRONT
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        lane = k.tx
        k.compute(32)
        k.store(self.y, k.bx, 0.0)
        start = k.load(self.row, k.bx)
        end = k.load(self.row, k.bx + 1)
        k.wait()
        sums = np.zeros(k.threads, dtype=np.float32)
        k.shared(1)
        entry = start + lane
        while (where := entry < end).any():
            value = k.load(self.val, entry, where)
            column = k.load(self.col, entry, where)
            k.wait(0, where)
            k.compute(14, where)
            rank = k.load(self.x, column, where)
            k.wait(0, where)
            k.shared(1, where)
            k.compute(15, where)
            k.shared(1, where)
            sums = np.where(where, sums + value * rank, sums)
            entry = entry + WAVEFRONT
            yield
        k.barrier()
        tree = sums.reshape(k.blocks, WAVEFRONT)
        half = WAVEFRONT // 2
        while half:
            adds = lane < half
            k.shared(1, adds)
            k.shared(1, adds)
            k.compute(8, adds)
            k.shared(1, adds)
            k.barrier()
            tree[:, :half] += tree[:, half : 2 * half]
            half //= 2
        writer = lane == 0
        before = k.load(self.y, k.bx, writer)
        k.shared(1, writer)
        k.wait(0, writer)
        k.compute(5, writer)
        k.store(self.y, k.bx, before + tree[:, 0].repeat(WAVEFRONT), writer)


@frozen
class HeteroMarkPagerankParameters:
    """Parameters of hetero_mark_pagerank.

    Attributes:
        iterations: of the power method, one launch each (MGPUSim: 16).
    """

    iterations: int = field(default=16, validator=ge(1))


@program("hetero_mark_pagerank", HeteroMarkPagerankParameters, uses_graph=True)
class HeteroMarkPagerank(Program):
    """The power method without damping: x and y change places after every launch.

    Arrays in the order row, col, val, x, y (our choice).  Row r of the matrix has an entry for each
    of the graph's arcs r -> c; the entries of a column add up to 1, and the ranks start at 1 / rows
    (our choices: the suite's are read from a file).
    """

    def __init__(self, parameters: HeteroMarkPagerankParameters, graph: Graph, seed: int) -> None:
        super().__init__("hetero_mark_pagerank")
        self.rows = graph.vertices
        self.iterations = parameters.iterations
        entries = np.bincount(graph.col, minlength=self.rows)
        value = (1 / entries[graph.col]).astype(np.float32)
        ranks = np.full(self.rows, 1 / self.rows, dtype=np.float32)
        self.row = self.memory.allocate("row", graph.row)
        self.col = self.memory.allocate("col", graph.col)
        self.val = self.memory.allocate("val", value)
        self.x = self.memory.allocate("x", ranks)
        self.y = self.memory.allocate("y", np.zeros_like(ranks))

    @property
    def ranks(self) -> Floats:
        """Where the result of all iterations is."""
        return self.y if self.iterations % 2 else self.x

    def launches(self) -> Iterator[Launch]:
        shape = Shape((self.rows, 1, 1), (WAVEFRONT, 1, 1))
        x, y = self.x, self.y
        for _ in range(self.iterations):
            yield PagerankRow(shape=shape, row=self.row, col=self.col, val=self.val, x=x, y=y)
            x, y = y, x
