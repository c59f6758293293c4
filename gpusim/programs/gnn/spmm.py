"""spmm: each vertex sums up the features of its neighbours."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu

WARP = 32
THREADS = 128
UNROLL = 4
"""Neighbours whose features are under way together."""


@frozen
class Sparse:
    """The graph's matrix, of ones, and what it is multiplied with.

    Attributes:
        row: [vertices + 1] where each vertex's arcs begin.
        col: [arcs] their targets.
        features, out: [vertices, width].
        vertices, width: as it says.
    """

    row: gpu.Ints
    col: gpu.Ints
    features: gpu.Floats
    out: gpu.Floats
    vertices: int
    width: int


@gpu.kernel("spmm_csr", registers=32, block=THREADS, shared=4 * THREADS, in_step=True)
def add_up(k: gpu.BlockTracer, of: Sparse) -> gpu.Steps:
    """32 features of a vertex a warp, four vertices a thread block.

    L both ends of the vertex's row; then 32 arcs at a time: L targets, one a lane, into shared
    memory; four neighbours at a time: target from shared memory, L 32 features, additions.  S the
    sum.  Registers are our choice.
    """
    vertex = k.bx * (THREADS // WARP) + k.tid // WARP
    feature = k.by * WARP + k.tid % WARP
    inside = vertex < of.vertices
    own = inside & (feature < of.width)
    k.compute(gpu.PROLOGUE, inside)
    first = k.load(of.row, vertex, inside)
    end = k.load(of.row, vertex + 1, inside)
    k.wait(0, inside)
    total = np.zeros(k.threads, dtype=np.float32)
    for start, here in gpu.rounds(first, np.where(inside, end, first), WARP):
        where = inside if here is None else inside & here
        arc = start + k.tid % WARP
        target = k.fetch(of.col, arc, where & (arc < end))
        k.shared_store(1, where)
        targets = target.reshape(-1, WARP)
        for some in gpu.groups(WARP, UNROLL):
            taken = where & (start + some[0] < end)
            if not taken.any():
                break
            k.shared_load(1, taken)
            k.wait(0, taken)
            k.arithmetic(gpu.Unit.INTEGER, 2 * UNROLL, 2, taken)
            for number in some:
                loaded = own & taken & (start + number < end)
                place = targets[:, number].repeat(WARP).astype(np.int64) * of.width + feature
                value = k.load(of.features, place, loaded)
                total = np.where(loaded, total + value, total)
            k.wait(0, taken)
            k.arithmetic(gpu.Unit.FP32, UNROLL, UNROLL, taken)
            yield
    k.store(of.out, vertex * of.width + feature, total, own)


@gpu.program("spmm")
def spmm(
    memory: gpu.AddressSpace,
    graph: gpu.Graph,
    seed: int,
    width: int = gpu.number(128, 1, 4096),
) -> gpu.Launches:
    """Aggregation of a graph neural network: a sparse matrix times a dense one.

    Huang et al., "GE-SpMM: General-Purpose Sparse Matrix-Matrix Multiplication on GPUs for Graph
    Neural Networks", SC 2020: rows of the sparse matrix through shared memory, neighbouring threads
    for neighbouring columns.  One launch.  Arrays in the order row, col, features (random), out.

    Parameters:
        width: features of a vertex.
    """
    rng = np.random.default_rng(seed)
    vertices = graph.vertices
    row = memory.read_only("row", graph.row)
    col = memory.read_only("col", graph.col)
    features = memory.read_only("features", rng.random((vertices, width), dtype=np.float32))
    out = memory.zeros("out", vertices * width, np.float32)
    grid = (-(-vertices // (THREADS // WARP)), -(-width // WARP))
    yield add_up[grid, THREADS](Sparse(row, col, features, out, vertices, width))
