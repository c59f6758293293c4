"""shoc_spmv: a sparse matrix times a vector, a row a thread."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu

BLOCK = 128
START, BOUNDS, FIRST, ADDRESS, SUM, END = 29, 5, 16, 13, 4, 5
"""Instructions of GCN3 as MGPUSim has them, scalar loads and waits included: before the bounds of
the row and after them; before the first entry; of an entry before the vector's load and after it;
before the store."""


@frozen
class Matrix:
    """Arrays of shoc_spmv.

    Attributes:
        values, columns: (entries,) row by row.
        rows: (rows + 1,) where each row's entries start.
        vector, result: (rows,).
    """

    values: gpu.Floats
    columns: gpu.Ints
    rows: gpu.Ints
    vector: gpu.Floats
    result: gpu.Floats


@gpu.kernel("spmv_csr_scalar_kernel", registers=12, block=BLOCK, in_step=True)
def multiply(k: gpu.BlockTracer, of: Matrix) -> gpu.Steps:
    """A row a thread, its entries one after the other: L column, L value, then L vector[column]."""
    inside = k.t < of.result.length
    k.compute(START, inside)
    end = k.load(of.rows, k.t + 1, inside)
    start = k.load(of.rows, k.t, inside)
    k.wait(0, inside)
    k.compute(BOUNDS, inside)
    some = inside & (start < end)
    if some.any():
        k.compute(FIRST, some)
    total = np.zeros(k.threads, dtype=np.float32)
    for entry, where in gpu.strides(np.where(inside, start, 0), np.where(inside, end, 0)):
        column = k.load(of.columns, entry, where)
        value = k.load(of.values, entry, where)
        k.wait(1, where)
        k.compute(ADDRESS, where)
        factor = k.fetch(of.vector, column, where)
        k.compute(SUM, where)
        total = np.where(where, total + value * factor, total)
        yield
    k.compute(END, inside)
    k.store(of.result, k.t, total, inside)
    k.compute(1)


@gpu.program("shoc_spmv")
def shoc_spmv(memory: gpu.AddressSpace, graph: gpu.Graph, seed: int) -> gpu.Launches:
    """The product of a square matrix, with an entry for each arc of a graph, and a vector.

    Arrays in the order val, vec, cols, rowDelimiters, out; values and vector are random from 0 to
    10 (the vector as in the suite, the values our choice).
    """
    rng = np.random.default_rng(seed)
    matrix = Matrix(
        values=memory.allocate("val", 10 * rng.random(graph.arcs, dtype=np.float32)),
        vector=memory.allocate("vec", 10 * rng.random(graph.vertices, dtype=np.float32)),
        columns=memory.allocate("cols", graph.col),
        rows=memory.allocate("rowDelimiters", graph.row),
        result=memory.zeros("out", graph.vertices, np.float32),
    )
    yield multiply[graph.vertices](matrix)
