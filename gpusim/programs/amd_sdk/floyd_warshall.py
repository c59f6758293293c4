"""floyd_warshall: shortest paths between all pairs of nodes, one launch a node between them."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu

SIDE = 8
"""Rows and columns of a block."""
START, COMPARE, DISTANCE, PATH, END = 38, 5, 3, 2, 1
"""Instructions before the loads; to the comparison; before each store of a shorter path; after:
GCN3's, as MGPUSim has them, scalar loads and waits included."""


@gpu.kernel("floydWarshallPass", registers=14, in_step=True)
def shorten(k: gpu.BlockTracer, distance: gpu.Ints, path: gpu.Ints, nodes: int, by: int) -> None:
    """Element (y, x) a thread: the way over node `by`, if it is shorter.

    L distance[y][x], [y][by], [by][x]; where shorter, S distance and S path.  The last two do not
    change meanwhile, as `by` is no distance from itself.
    """
    x, y = k.t, SIDE * k.by + k.ty
    element = y * nodes + x
    k.compute(START)
    old = k.load(distance, element)
    there, on = k.load(distance, y * nodes + by), k.load(distance, by * nodes + x)
    k.wait()
    k.compute(COMPARE)
    shorter = there + on < old
    k.compute(DISTANCE, shorter)
    k.store(distance, element, there + on, shorter)
    k.compute(PATH, shorter)
    k.store(path, element, by, shorter)
    k.compute(END)


@gpu.program("floyd_warshall")
def floyd_warshall(
    memory: gpu.AddressSpace,
    seed: int,
    nodes: int = gpu.number(16, SIDE, 8192, multiple=SIDE),
    iterations: int | None = gpu.number(None, most="nodes"),
) -> gpu.Launches:
    """A complete graph whose edges, the same both ways, are random in 0..9.

    Arrays in the order path, distance; path begins with the larger node of each pair.

    Parameters:
        nodes: a multiple of 8 (MGPUSim: 16).
        iterations: nodes that paths may lead over, the first ones; None: all.
    """
    edges = np.random.default_rng(seed).integers(0, 10, (nodes, nodes), dtype=np.int32)
    lower = np.tril(edges, -1)
    number = np.arange(nodes, dtype=np.int32)
    path = memory.allocate("path", np.maximum(number[:, None], number).ravel())
    distance = memory.allocate("distance", (lower + lower.T).ravel())
    grid = (nodes // SIDE, nodes // SIDE)
    for by in range(iterations or nodes):
        yield shorten[grid, (SIDE, SIDE)](distance, path, nodes, by)
