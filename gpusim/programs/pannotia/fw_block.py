"""fw_block: all shortest paths (Floyd and Warshall), tile by tile in shared memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, optional
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.lane_record import Lanes, Mask
from gpusim.programs.pannotia.fw import TILE, distances
from gpusim.programs.pannotia.rows import Ints
from gpusim.programs.tracer import BlockTracer, Shape

TILE_BYTES = 4 * TILE * TILE
PROLOGUE = 17

Tiles = NDArray[np.int32]
"""(blocks, TILE, TILE), [block, y, x]: what each block has in a place of its shared memory."""

Place = Lanes | int
"""A row or a column of tiles; of blocks in step, that of each thread's."""


@define(kw_only=True, eq=False)
class _TileKernel(Kernel):
    """A thread block relaxes one tile of the matrix over the middle vertices of one step.

    Lanes run along the columns (x): half a warp reads 64 bytes of a row.  Shared memory has no
    bank conflicts: its accesses are rows of 16 words, or one word of each of two neighbouring rows.
    17 instructions at the start, nine for the addresses of a tile, three for a middle vertex (the
    loop is unrolled), as in PTX of nvcc 11.8 for sm_35.

    Attributes:
        dist: (n * n,) distances.
        n: vertices.
        step: the tile of the diagonal that holds the middle vertices.
    """

    dist: Ints
    n: int
    step: int

    @staticmethod
    def _threads(k: BlockTracer, of_blocks: Mask | bool) -> Mask | None:
        """The threads of some of the blocks; None: of all."""
        where = np.full(k.threads, of_blocks)
        return None if where.all() else where

    def _index(self, k: BlockTracer, row: Place, column: Place) -> Lanes:
        """(threads,) elements of the tile in a row and a column of tiles."""
        return (TILE * row + k.ty) * self.n + TILE * column + k.tx

    def _fetch(self, k: BlockTracer, row: Place, column: Place, where: Mask | None = None) -> Tiles:
        """Copy a tile into shared memory."""
        k.compute(9, where)
        values = k.load(self.dist, self._index(k, row, column), where)
        k.wait(0, where)
        k.shared(1, where)
        k.barrier(where)
        return values.reshape(k.blocks, TILE, TILE)

    def _relax(
        self,
        k: BlockTracer,
        row: Place,
        column: Place,
        first: Tiles,
        second: Tiles,
        tile: Tiles,
        where: Mask | None = None,
    ) -> Iterator[None]:
        """tile[y, x] = min(tile[y, x], first[y, m] + second[m, x]) for each m; then store it.

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
        k.shared(1, where)
        k.store(self.dist, self._index(k, row, column), tile.ravel(), where)


@define(kw_only=True, eq=False)
class FwDiagonal(_TileKernel):
    """The tile of the middle vertices themselves; one block."""

    name: str = "floydwarshall_dia_block"
    registers_per_thread: int = 14
    shared_bytes: int = TILE_BYTES

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(PROLOGUE)
        tile = self._fetch(k, self.step, self.step)
        yield from self._relax(k, self.step, self.step, tile, tile, tile)


@define(kw_only=True, eq=False)
class FwStripX(_TileKernel):
    """The tiles beside the diagonal one, in its row; a block each."""

    name: str = "floydwarshall_strip_blocks_x"
    registers_per_thread: int = 16
    shared_bytes: int = 2 * TILE_BYTES
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(PROLOGUE)
        where = self._threads(k, k.bx != self.step)
        if where is None or where.any():
            diagonal = self._fetch(k, self.step, self.step, where)
            tile = self._fetch(k, self.step, k.bx, where)
            yield from self._relax(k, self.step, k.bx, diagonal, tile, tile, where)


@define(kw_only=True, eq=False)
class FwStripY(_TileKernel):
    """The tiles above and below the diagonal one; a block each."""

    name: str = "floydwarshall_strip_blocks_y"
    registers_per_thread: int = 16
    shared_bytes: int = 2 * TILE_BYTES
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(PROLOGUE)
        where = self._threads(k, k.by != self.step)
        if where is None or where.any():
            diagonal = self._fetch(k, self.step, self.step, where)
            tile = self._fetch(k, k.by, self.step, where)
            yield from self._relax(k, k.by, self.step, tile, diagonal, tile, where)


@define(kw_only=True, eq=False)
class FwRemaining(_TileKernel):
    """All other tiles; a block each."""

    name: str = "floydwarshall_remaining_blocks"
    registers_per_thread: int = 18
    shared_bytes: int = 3 * TILE_BYTES
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(PROLOGUE)
        where = self._threads(k, (k.bx != self.step) & (k.by != self.step))
        if where is None or where.any():
            first = self._fetch(k, k.by, self.step, where)
            second = self._fetch(k, self.step, k.bx, where)
            tile = self._fetch(k, k.by, k.bx, where)
            yield from self._relax(k, k.by, k.bx, first, second, tile, where)


@frozen
class FwBlockParameters:
    """Parameters of fw_block.

    Attributes:
        steps: tiles of the diagonal to go through, of four launches each; None: all n / 16.
    """

    steps: int | None = field(default=None, validator=optional(ge(1)))


@program("fw_block", FwBlockParameters, uses_graph=True)
class FwBlock(Program):
    """All shortest paths.  The only array is dist.

    Launches have 1, n / 16, n / 16 and (n / 16) ** 2 blocks, as in the OpenCL original; the CUDA
    port launches the first three with more blocks, which repeat each other's work (our choice).
    """

    def __init__(self, parameters: FwBlockParameters, graph: Graph, seed: int) -> None:
        super().__init__("fw_block")
        self.n = graph.vertices
        self.dist = self.memory.allocate("dist", distances(graph, seed))
        tiles = self.n // TILE
        self.steps = min(parameters.steps or tiles, tiles)

    def launches(self) -> Iterator[Launch]:
        tiles = self.n // TILE
        block = (TILE, TILE, 1)
        dist, n = self.dist, self.n
        for step in range(self.steps):
            yield FwDiagonal(shape=Shape((1, 1, 1), block), dist=dist, n=n, step=step)
            yield FwStripX(shape=Shape((tiles, 1, 1), block), dist=dist, n=n, step=step)
            yield FwStripY(shape=Shape((1, tiles, 1), block), dist=dist, n=n, step=step)
            yield FwRemaining(shape=Shape((tiles, tiles, 1), block), dist=dist, n=n, step=step)
