"""pagerank_spmv: ranks pulled along the arcs, as a sparse matrix-vector product."""

from __future__ import annotations

import numpy as np

from gpusim.programs.graphs.graph import Graph
from gpusim.programs.idioms import strides, threads_below
from gpusim.programs.pannotia.pagerank import PagerankParameters, start, update
from gpusim.programs.pannotia.rows import Rows, transposed, unrolled
from gpusim.programs.writing import (
    AddressSpace,
    BlockTracer,
    Floats,
    Ints,
    Launches,
    Shape,
    Steps,
    kernel,
    program,
)

BLOCK = 64


@kernel("inicsr", registers=20, block=BLOCK, in_step=True)
def weigh(k: BlockTracer, rows: Rows, data: Floats, degrees: Ints) -> Steps:
    """Each arc gets 1 / degree of the vertex where it comes from.  Registers are our choice.

    Takes `data` ((arcs,) the result), `degrees` ((vertices,) arcs that leave each, `colcnt`).
    """
    inside = threads_below(k, rows.vertices)
    first, end = rows.loaded_end(k, inside)
    k.wait(0, inside)
    for edge, where in strides(first, end):
        origin = k.load(rows.col, edge, where)
        k.wait(0, where)
        k.compute(2, where)
        degree = k.load(degrees, origin, where)
        k.wait(0, where)
        k.compute(10, where)
        k.store(data, edge, (1 / np.maximum(degree, 1)).astype(np.float32), where)
        yield


@kernel("spmv_csr_scalar_kernel", registers=32, block=BLOCK, in_step=True)
def pull(k: BlockTracer, rows: Rows, data: Floats, ranks: Floats, incoming: Floats) -> Steps:
    """One sum per thread, over a row of the matrix.

    There is no store in the loop: four arcs at a time load `col` and `data`, then the ranks (the
    compiled code goes up to 16 in long rows; four is our choice).  Three instructions an arc (two
    for the address of the rank), five for the loop of four: PTX of nvcc 11.8 for sm_35.

    Takes `data` ((arcs,) the matrix), `ranks`, `incoming` (`pr1` and `pr2`).
    """
    inside = threads_below(k, rows.vertices)
    start, end = rows.loaded_end(k, inside)
    k.wait(0, inside)
    total = np.zeros(k.threads, dtype=np.float32)
    for arcs in unrolled(start, end):
        first = arcs[0][1]
        origins = [k.load(rows.col, arc, where) for arc, where in arcs]
        factors = [k.load(data, arc, where) for arc, where in arcs]
        k.wait(0, first)
        found = [
            k.load(ranks, origin, where) for origin, (_, where) in zip(origins, arcs, strict=True)
        ]
        k.wait(0, first)
        for factor, rank, (_, where) in zip(factors, found, arcs, strict=True):
            k.compute(3, where)
            total = np.where(where, total + factor * rank, total)
        k.compute(5, first)
        yield
    before = k.load(incoming, k.t, inside)
    k.wait(0, inside)
    k.store(incoming, k.t, before + total, inside)


@program("pagerank_spmv", PagerankParameters, uses_graph=True)
def pagerank_spmv(
    memory: AddressSpace, parameters: PagerankParameters, graph: Graph, _seed: int
) -> Launches:
    """The same ranks as pagerank's, pulled instead of pushed.

    Arrays in the order row, col, data, pr1, pr2, colcnt; row and col are the graph with its arcs
    reversed.  The kernels before and after the product are those of pagerank.
    """
    n = graph.vertices
    rows = Rows.place(memory, transposed(graph))
    data = memory.zeros("data", graph.arcs, np.float32)
    ranks, incoming = (memory.zeros(name, n, np.float32) for name in ("pr1", "pr2"))
    degrees = memory.allocate("colcnt", graph.degrees)
    shape = Shape.linear(n, BLOCK)
    yield start[shape](ranks, incoming, n)
    yield weigh[n](rows, data, degrees)
    for _ in range(parameters.iterations):
        yield pull[n](rows, data, ranks, incoming)
        yield update[shape](ranks, incoming, n)
