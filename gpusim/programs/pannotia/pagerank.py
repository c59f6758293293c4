"""pagerank: ranks pushed along the arcs."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu
from gpusim.programs.pannotia.rows import Rows

BLOCK = 256
DAMPING = 0.85


@gpu.kernel("inibuffer", registers=14, block=BLOCK, in_step=True)
def start(k: gpu.BlockTracer, ranks: gpu.Floats, incoming: gpu.Floats, n: int) -> None:
    """Every vertex starts with 1 / vertices."""
    inside = gpu.threads_below(k, n)
    k.store(ranks, k.t, 1 / n, inside)
    k.store(incoming, k.t, 0.0, inside)


@gpu.kernel("pagerank1", registers=24, block=BLOCK, in_step=True)
def push(k: gpu.BlockTracer, rows: Rows, ranks: gpu.Floats, incoming: gpu.Floats) -> gpu.Steps:
    """Every vertex adds its rank, divided by its degree, to its neighbours: one vertex a thread.

    The rank is loaded again for every arc, since the reductions may alias it; the loop therefore
    waits for every pair of loads.  The order in which blocks add changes the last bits of the
    sums, and no address.  The end of the last vertex is known to the kernel.
    """
    inside = gpu.threads_below(k, rows.vertices)
    start = k.load(rows.row, k.t, inside)
    end = np.where(inside, rows.col.length, start)
    inner = k.t < rows.vertices - 1
    end = np.where(inner, k.load(rows.row, k.t + 1, inner), end)
    k.wait(0, inside)
    divisor = np.maximum(end - start, 1).astype(np.float32)
    for edge, where in gpu.strides(start, end):
        target = k.load(rows.col, edge, where)
        rank = k.load(ranks, k.t, where)
        k.wait(0, where)
        k.compute(13, where)
        k.reduce_add(incoming, target, rank / divisor, where)
        yield


@gpu.kernel("pagerank2", registers=21, block=BLOCK, in_step=True)
def update(k: gpu.BlockTracer, ranks: gpu.Floats, incoming: gpu.Floats, n: int) -> None:
    """New ranks from what came in."""
    inside = gpu.threads_below(k, n)
    came = k.fetch(incoming, k.t, inside)
    k.compute(18 - gpu.PROLOGUE, inside)
    rank = (1 - DAMPING) / n + DAMPING * came.astype(np.float64)
    k.store(ranks, k.t, rank.astype(np.float32), inside)
    k.store(incoming, k.t, 0.0, inside)


@gpu.program("pagerank")
def pagerank(
    memory: gpu.AddressSpace, graph: gpu.Graph, _seed: int, iterations: int = gpu.number(20)
) -> gpu.Launches:
    """PageRank, pushed along the arcs with reductions.

    Arrays in the order row, col, data (never read), pr1, pr2.  After k iterations the ranks x
    are within 0.85^k of the fixed point of x = 0.15 / N + 0.85 P^T x, whose dangling vertices
    keep nothing: divided by its sum it is the PageRank whose dangling vertices jump anywhere.

    Parameters:
        iterations: of the power method (the suite: always 20).
    """
    n = graph.vertices
    rows = Rows.place_starts(memory, graph)
    memory.allocate("data", np.broadcast_to(np.int32(1), graph.arcs))
    ranks, incoming = (memory.zeros(name, n, np.float32) for name in ("pr1", "pr2"))
    yield start[n](ranks, incoming, n)
    for _ in range(iterations):
        yield push[n](rows, ranks, incoming)
        yield update[n](ranks, incoming, n)
