"""pagerank: ranks pushed along the arcs."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from attrs.validators import ge

from gpusim.programs.graphs.graph import Graph
from gpusim.programs.idioms import PROLOGUE, strides, threads_below
from gpusim.programs.pannotia.rows import Rows
from gpusim.programs.writing import (
    AddressSpace,
    BlockTracer,
    Floats,
    Launches,
    Steps,
    kernel,
    program,
)

BLOCK = 256
DAMPING = 0.85


@kernel("inibuffer", registers=14, block=BLOCK, in_step=True)
def start(k: BlockTracer, ranks: Floats, incoming: Floats, n: int) -> None:
    """Every vertex starts with 1 / vertices."""
    inside = threads_below(k, n)
    k.store(ranks, k.t, 1 / n, inside)
    k.store(incoming, k.t, 0.0, inside)


@kernel("pagerank1", registers=24, block=BLOCK, in_step=True)
def push(k: BlockTracer, rows: Rows, ranks: Floats, incoming: Floats) -> Steps:
    """Every vertex adds its rank, divided by its degree, to its neighbours: one vertex a thread.

    The rank is loaded again for every arc, since the reductions may alias it; the loop therefore
    waits for every pair of loads.  The order in which blocks add changes the last bits of the
    sums, and no address.  The end of the last vertex is known to the kernel.
    """
    inside = threads_below(k, rows.vertices)
    start = k.load(rows.row, k.t, inside)
    end = np.where(inside, rows.col.length, start)
    inner = k.t < rows.vertices - 1
    end = np.where(inner, k.load(rows.row, k.t + 1, inner), end)
    k.wait(0, inside)
    divisor = np.maximum(end - start, 1).astype(np.float32)
    for edge, where in strides(start, end):
        target = k.load(rows.col, edge, where)
        rank = k.load(ranks, k.t, where)
        k.wait(0, where)
        k.compute(13, where)
        k.reduce_add(incoming, target, rank / divisor, where)
        yield


@kernel("pagerank2", registers=21, block=BLOCK, in_step=True)
def update(k: BlockTracer, ranks: Floats, incoming: Floats, n: int) -> None:
    """New ranks from what came in."""
    inside = threads_below(k, n)
    came = k.load(incoming, k.t, inside)
    k.wait(0, inside)
    k.compute(18 - PROLOGUE, inside)
    rank = (1 - DAMPING) / n + DAMPING * came.astype(np.float64)
    k.store(ranks, k.t, rank.astype(np.float32), inside)
    k.store(incoming, k.t, 0.0, inside)


@frozen
class PagerankParameters:
    """Parameters of pagerank.

    Attributes:
        iterations: of the power method (the suite: always 20).
    """

    iterations: int = field(default=20, validator=ge(1))


@program("pagerank", PagerankParameters, uses_graph=True)
def pagerank(
    memory: AddressSpace, parameters: PagerankParameters, graph: Graph, _seed: int
) -> Launches:
    """PageRank, pushed along the arcs with reductions.

    Arrays in the order row, col, data (never read), pr1, pr2.  After k iterations the ranks x
    are within 0.85^k of the fixed point of x = 0.15 / N + 0.85 P^T x, whose dangling vertices
    keep nothing: divided by its sum it is the PageRank whose dangling vertices jump anywhere.
    """
    n = graph.vertices
    rows = Rows.place_starts(memory, graph)
    memory.allocate("data", np.broadcast_to(np.int32(1), graph.arcs))
    ranks, incoming = (memory.zeros(name, n, np.float32) for name in ("pr1", "pr2"))
    yield start[n](ranks, incoming, n)
    for _ in range(parameters.iterations):
        yield push[n](rows, ranks, incoming)
        yield update[n](ranks, incoming, n)
