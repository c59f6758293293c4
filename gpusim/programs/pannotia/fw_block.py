"""fw_block: all shortest paths (Floyd and Warshall), tile by tile in shared memory."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.pannotia.fw import TILE, distances

TILE_BYTES = 4 * TILE * TILE
PROLOGUE = 17

Tiles = NDArray[np.int32]
"""(blocks, TILE, TILE), [block, y, x]: what each block has in a place of its shared memory."""

Place = gpu.Lanes | int
"""A row or a column of tiles; of blocks in step, that of each thread's."""


@frozen
class Matrix:
    """A matrix of which a thread block relaxes one tile over the middle vertices of one step.

    Lanes run along the columns (x): half a warp reads 64 bytes of a row.  Shared memory has no
    bank conflicts: its accesses are rows of 16 words, or one word of each of two neighbouring rows.
    17 instructions at the start, nine for the addresses of a tile, three for a middle vertex (the
    loop is unrolled), as in PTX of nvcc 11.8 for sm_35.

    Attributes:
        dist: (n * n,) distances.
        n: vertices.
    """

    dist: gpu.Ints
    n: int

    def index(self, k: gpu.BlockTracer, row: Place, column: Place) -> gpu.Lanes:
        """(threads,) elements of the tile in a row and a column of tiles."""
        return (TILE * row + k.ty) * self.n + TILE * column + k.tx

    def fetch(
        self, k: gpu.BlockTracer, row: Place, column: Place, where: gpu.Mask | None = None
    ) -> Tiles:
        """Copy a tile into shared memory."""
        k.compute(9, where)
        values = k.fetch(self.dist, self.index(k, row, column), where)
        k.shared(1, where)
        k.barrier(where)
        return values.reshape(k.blocks, TILE, TILE)

    def store(
        self, k: gpu.BlockTracer, row: Place, column: Place, tile: Tiles, where: gpu.Mask | None
    ) -> None:
        """Copy a tile from shared memory."""
        k.shared(1, where)
        k.store(self.dist, self.index(k, row, column), tile.ravel(), where)


def _threads(k: gpu.BlockTracer, of_blocks: gpu.Mask | bool) -> gpu.Mask | None:
    """The threads of some of the blocks; None: of all."""
    where = np.full(k.threads, of_blocks)
    return None if where.all() else where


def _relax(
    k: gpu.BlockTracer, tile: Tiles, first: Tiles, second: Tiles, where: gpu.Mask | None = None
) -> gpu.Steps:
    """tile[y, x] = min(tile[y, x], first[y, m] + second[m, x]) for each m.

    `first` or `second` may be `tile` itself: the row and the column of a middle vertex do not
    change in its own pass, since its distance to itself is 0.
    """
    for middle in range(TILE):
        k.shared(1, where)
        k.shared(1, where)
        k.shared(1, where)
        k.compute(3, where)
        through = first[:, :, middle, None] + second[:, None, middle]
        shorter = (through < tile).ravel()
        k.shared(1, shorter if where is None else shorter & where)
        np.minimum(tile, through, out=tile)
        k.barrier(where)
        yield


@gpu.kernel("floydwarshall_dia_block", registers=14, shared=TILE_BYTES)
def diagonal_tile(k: gpu.BlockTracer, matrix: Matrix, step: int) -> gpu.Steps:
    """The tile of the middle vertices themselves; one block."""
    k.compute(PROLOGUE)
    tile = matrix.fetch(k, step, step)
    yield from _relax(k, tile, tile, tile)
    matrix.store(k, step, step, tile, None)


@gpu.kernel("floydwarshall_strip_blocks_x", registers=16, shared=2 * TILE_BYTES, in_step=True)
def row_of_tiles(k: gpu.BlockTracer, matrix: Matrix, step: int) -> gpu.Steps:
    """The tiles beside the diagonal one, in its row; a block each."""
    k.compute(PROLOGUE)
    where = _threads(k, k.bx != step)
    if where is None or where.any():
        diagonal = matrix.fetch(k, step, step, where)
        tile = matrix.fetch(k, step, k.bx, where)
        yield from _relax(k, tile, diagonal, tile, where)
        matrix.store(k, step, k.bx, tile, where)


@gpu.kernel("floydwarshall_strip_blocks_y", registers=16, shared=2 * TILE_BYTES, in_step=True)
def column_of_tiles(k: gpu.BlockTracer, matrix: Matrix, step: int) -> gpu.Steps:
    """The tiles above and below the diagonal one; a block each."""
    k.compute(PROLOGUE)
    where = _threads(k, k.by != step)
    if where is None or where.any():
        diagonal = matrix.fetch(k, step, step, where)
        tile = matrix.fetch(k, k.by, step, where)
        yield from _relax(k, tile, tile, diagonal, where)
        matrix.store(k, k.by, step, tile, where)


@gpu.kernel("floydwarshall_remaining_blocks", registers=18, shared=3 * TILE_BYTES, in_step=True)
def remaining_tiles(k: gpu.BlockTracer, matrix: Matrix, step: int) -> gpu.Steps:
    """All other tiles; a block each."""
    k.compute(PROLOGUE)
    where = _threads(k, (k.bx != step) & (k.by != step))
    if where is None or where.any():
        first = matrix.fetch(k, k.by, step, where)
        second = matrix.fetch(k, step, k.bx, where)
        tile = matrix.fetch(k, k.by, k.bx, where)
        yield from _relax(k, tile, first, second, where)
        matrix.store(k, k.by, k.bx, tile, where)


@gpu.program("fw_block")
def fw_block(
    memory: gpu.AddressSpace, graph: gpu.Graph, seed: int, steps: int | None = gpu.number(None)
) -> gpu.Launches:
    """All shortest paths.  The only array is dist.

    Launches have 1, n / 16, n / 16 and (n / 16) ** 2 blocks, as in the OpenCL original; the CUDA
    port launches the first three with more blocks, which repeat each other's work (our choice).

    Parameters:
        steps: tiles of the diagonal to go through, of four launches each; None: all n / 16.
    """
    n = graph.vertices
    matrix = Matrix(memory.allocate("dist", distances(graph, seed)), n)
    tiles, block = n // TILE, (TILE, TILE)
    for step in range(min(steps or tiles, tiles)):
        yield diagonal_tile[1, block](matrix, step)
        yield row_of_tiles[tiles, block](matrix, step)
        yield column_of_tiles[(1, tiles), block](matrix, step)
        yield remaining_tiles[(tiles, tiles), block](matrix, step)
