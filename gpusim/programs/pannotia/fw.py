"""fw: all shortest paths (Floyd and Warshall), one launch a middle vertex."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.pannotia.rows import FAR, whole_weights

TILE = 16
"""A thread block is TILE x TILE."""

MOST_VERTICES = 16384
"""A matrix of 1 GiB."""


def distances(graph: gpu.Graph, seed: int) -> NDArray[np.int32]:
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


@gpu.kernel("floydwarshall", registers=12, in_step=True)
def relax(k: gpu.BlockTracer, dist: gpu.Ints, via: gpu.Ints, n: int, middle: int) -> None:
    """Paths over one middle vertex: one pair (i, j) a thread.

    Lanes run along the rows i: neighbouring ones are 4 n bytes apart.  Row and column of the middle
    vertex do not change in its own launch (its distance to itself is 0), so blocks do not race.
    28 instructions for parameters, bounds and addresses before the loads, as in PTX of nvcc 11.8
    for sm_35.

    Takes `dist` ((n * n,) distances), `via` ((n * n,) the last middle vertex of each path, `next`).
    """
    i = k.bx * TILE + k.tx
    j = k.by * TILE + k.ty
    k.compute(28)
    first = k.load(dist, i * n + middle)
    second = k.load(dist, middle * n + j)
    direct = k.load(dist, i * n + j)
    k.wait()
    k.compute(3)
    shorter = first + second < direct
    k.compute(3, shorter)
    k.store(dist, i * n + j, first + second, shorter)
    k.store(via, i * n + j, middle, shorter)


@gpu.program("fw")
def fw(
    memory: gpu.AddressSpace, graph: gpu.Graph, seed: int, iterations: int | None = gpu.number(None)
) -> gpu.Launches:
    """All shortest paths.  Arrays in the order dist, next.

    Parameters:
        iterations: middle vertices 1, 2, ...; None: all n - 1 of the suite, which leaves out 0.
    """
    n = graph.vertices
    matrix = distances(graph, seed)
    dist = memory.allocate("dist", matrix)
    via = memory.allocate("next", np.zeros_like(matrix))
    tiles = n // TILE
    for middle in range(1, 1 + min(iterations or n - 1, n - 1)):
        yield relax[(tiles, tiles), (TILE, TILE)](dist, via, n, middle)
