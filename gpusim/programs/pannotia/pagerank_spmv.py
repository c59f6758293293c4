"""pagerank_spmv: ranks pulled along the arcs, as a sparse matrix-vector product."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu
from gpusim.programs.pannotia.pagerank import start, update
from gpusim.programs.pannotia.rows import Rows, transposed, unrolled

BLOCK = 64


@gpu.kernel("inicsr", registers=20, block=BLOCK, in_step=True)
def weigh(k: gpu.BlockTracer, rows: Rows, data: gpu.Floats, degrees: gpu.Ints) -> gpu.Steps:
    """Each arc gets 1 / degree of the vertex where it comes from.  Registers are our choice.

    Takes `data` ((arcs,) the result), `degrees` ((vertices,) arcs that leave each, `colcnt`).
    """
    inside = gpu.threads_below(k, rows.vertices)
    first, end = rows.loaded_end(k, inside)
    k.wait(0, inside)
    for edge, where in gpu.strides(first, end):
        origin = k.fetch(rows.col, edge, where)
        k.compute(2, where)
        degree = k.fetch(degrees, origin, where)
        k.compute(10, where)
        k.store(data, edge, (1 / np.maximum(degree, 1)).astype(np.float32), where)
        yield


@gpu.kernel("spmv_csr_scalar_kernel", registers=32, block=BLOCK, in_step=True)
def pull(
    k: gpu.BlockTracer, rows: Rows, data: gpu.Floats, ranks: gpu.Floats, incoming: gpu.Floats
) -> gpu.Steps:
    """One sum per thread, over a row of the matrix.

    There is no store in the loop: four arcs at a time load `col` and `data`, then the ranks (the
    compiled code goes up to 16 in long rows; four is our choice).  Three instructions an arc (two
    for the address of the rank), five for the loop of four: PTX of nvcc 11.8 for sm_35.

    Takes `data` ((arcs,) the matrix), `ranks`, `incoming` (`pr1` and `pr2`).
    """
    inside = gpu.threads_below(k, rows.vertices)
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
    before = k.fetch(incoming, k.t, inside)
    k.store(incoming, k.t, before + total, inside)


@gpu.program("pagerank_spmv")
def pagerank_spmv(
    memory: gpu.AddressSpace, graph: gpu.Graph, _seed: int, iterations: int = gpu.number(20)
) -> gpu.Launches:
    """The same ranks as pagerank's, pulled instead of pushed.

    Arrays in the order row, col, data, pr1, pr2, colcnt; row and col are the graph with its arcs
    reversed.  The kernels before and after the product are those of pagerank.

    Parameters:
        iterations: as pagerank's.
    """
    n = graph.vertices
    rows = Rows.place(memory, transposed(graph))
    data = memory.zeros("data", graph.arcs, np.float32)
    ranks, incoming = (memory.zeros(name, n, np.float32) for name in ("pr1", "pr2"))
    degrees = memory.allocate("colcnt", graph.degrees)
    shape = gpu.Shape.linear(n, BLOCK)
    yield start[shape](ranks, incoming, n)
    yield weigh[n](rows, data, degrees)
    for _ in range(iterations):
        yield pull[n](rows, data, ranks, incoming)
        yield update[shape](ranks, incoming, n)
