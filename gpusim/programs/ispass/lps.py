"""lps: one Jacobi step after the other for Laplace's equation on a volume (laplace3d)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

COLUMNS, ROWS = 32, 4
"""A block's threads: columns of points, x along the lanes."""

TILE = (ROWS + 2, COLUMNS + 2)
"""Rows and columns of a plane in shared memory, with a border of one point."""

PITCH_BYTES = 512
"""Rows begin at multiples of it (our choice; what current devices give to pitched arrays)."""

SIXTH = np.float32(1 / 6)

PLANE = 57
"""Instructions of a thread and plane beside those of the formula."""

Points = tuple[gpu.Lanes, gpu.Lanes, gpu.Mask]
"""Of each thread: an element of the first plane, its place in the blocks' tiles, and whether it has
one."""


def pitch_of(width: int) -> int:
    """Elements from one row to the next."""
    words = PITCH_BYTES // 4
    return -(-width // words) * words


@gpu.kernel("GPU_laplace3d", registers=21, shared=4 * 3 * TILE[0] * TILE[1], in_step=True)
def advance(
    k: gpu.BlockTracer, source: gpu.Floats, result: gpu.Floats, size: tuple[int, int, int]
) -> gpu.Steps:
    """A block of 32 x 4 threads marches along z with three planes of its tile in shared memory.

    The first 76 threads also load a point of the border each: 32 the row before, 32 the row behind,
    12 the columns on both sides, corners included, left and right in turn.  For each plane: the
    planes in shared memory move down by one (two loads and two stores there), L u[next plane], L
    border, both stored to shared memory; barrier; six shared loads and 6 instructions, or one
    shared load on the volume's surface, which stays; S v; barrier.  Both loads are under way before
    the first use (our choice), and the set-up takes 20 instructions (our choice).  The addresses,
    bounds and loop of a plane take `PLANE` more: with them the suite's input has the 82 million
    instructions of threads that are published for it (ISPASS 2009, Table 1).
    """
    width, height, depth = size
    pitch = pitch_of(width)
    plane = pitch * height
    x, y = COLUMNS * k.bx + k.tx, ROWS * k.by + k.ty
    active = (x < width) & (y < height)
    column, row, halo = _border(k, width, height)
    own = y * pitch + x
    beside = (ROWS * k.by + row) * pitch + COLUMNS * k.bx + column
    tiles = np.zeros((3, k.blocks, *TILE), dtype=np.float32)
    surface = (x == 0) | (x == width - 1) | (y == 0) | (y == height - 1)
    k.compute(20)
    points = (own, _in_tile(k, k.tx, k.ty), active), (beside, _in_tile(k, column, row), halo)
    _load(k, source, points, 0, tiles[2])
    for z in range(depth):
        tiles[:2] = tiles[1:]
        k.compute(PLANE, active)
        for where in (active, halo):
            k.shared(1, where, times=4)
        if z < depth - 1:
            _load(k, source, points, (z + 1) * plane, tiles[2])
        k.barrier()
        fixed = active & (surface | (z in (0, depth - 1)))
        inner = active & ~fixed
        k.shared(1, fixed)
        k.shared(1, inner, times=6)
        k.compute(6, inner)
        value = np.where(fixed, tiles[1, :, 1:-1, 1:-1].ravel(), jacobi(tiles).ravel())
        k.store(result, own + z * plane, value, active)
        k.barrier()
        yield


def _border(k: gpu.BlockTracer, width: int, height: int) -> tuple[gpu.Lanes, gpu.Lanes, gpu.Mask]:
    """Column and row of each thread's border point in the tile, from -1 on, and which have one."""
    rows = k.tid < 2 * COLUMNS
    column = np.where(rows, k.tx, k.tid % 2 * (COLUMNS + 1) - 1)
    row = np.where(rows, k.ty * (ROWS + 1), k.tid // 2 - COLUMNS) - 1
    x, y = COLUMNS * k.bx + column, ROWS * k.by + row
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return column, row, inside & (k.tid < 2 * (COLUMNS + ROWS + 2))


def _in_tile(k: gpu.BlockTracer, column: gpu.Lanes, row: gpu.Lanes) -> gpu.Lanes:
    """Where each thread's point is in one plane of all blocks' tiles."""
    rows, columns = TILE
    place: gpu.Lanes = (k.which * rows + row + 1) * columns + column + 1
    return place


def _load(
    k: gpu.BlockTracer,
    source: gpu.Floats,
    points: tuple[Points, ...],
    start: int,
    tiles: NDArray[np.float32],
) -> None:
    """Load the tiles' part of the plane that begins at element `start`, and their border."""
    for place, in_tile, where in points:
        values = k.load(source, place + start, where)
        tiles.reshape(-1)[in_tile[where]] = values[where]
    for *_, where in points:
        k.wait(0, where)
        k.shared(1, where)


def jacobi(tiles: NDArray[np.float32]) -> NDArray[np.float32]:
    """(blocks, rows, columns) the mean of each point's six neighbours, from tiles' three planes."""
    below, here, above = tiles
    total = here[:, 1:-1, :-2] + here[:, 1:-1, 2:] + here[:, :-2, 1:-1] + here[:, 2:, 1:-1]
    mean: NDArray[np.float32] = (total + below[:, 1:-1, 1:-1] + above[:, 1:-1, 1:-1]) * SIXTH
    return mean


@gpu.program("lps")
def lps(
    memory: gpu.AddressSpace,
    _seed: int,
    width: int = gpu.number(100, 1, 1024),
    height: int = gpu.number(100, 1, 1024),
    depth: int = gpu.number(100, 1, 1024),
    iterations: int = gpu.number(1),
) -> gpu.Launches:
    """Jacobi steps from one volume into the other, in turn.

    Arrays in the order u1, u2; u1 begins with 1 on its surface and 0 inside, as in the suite.

    Parameters:
        width, height, depth: points in each direction (the suite: 100 each).
        iterations: launches (the suite: 1).
    """
    volume = np.zeros((depth, height, pitch_of(width)), dtype=np.float32)
    volume[:, :, :width] = 1
    volume[1:-1, 1:-1, 1 : width - 1] = 0
    source = memory.allocate("u1", volume)
    result = memory.zeros("u2", volume.size, np.float32)
    grid = -(-width // COLUMNS), -(-height // ROWS)
    for _ in range(iterations):
        yield advance[grid, (COLUMNS, ROWS)](source, result, (width, height, depth))
        source, result = result, source
