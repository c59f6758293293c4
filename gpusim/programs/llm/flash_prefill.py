"""flash_prefill: attention of all tokens of prompts, tile by tile."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu
from gpusim.programs.llm.halves import HALF_BYTES, IN_A_VECTOR, vector

THREADS = 128
WARPS = 4
PIECE = 8
"""Threads that load a row's next 128 bytes."""
AT_ONCE = THREADS // PIECE
"""Rows that a thread block loads with one instruction."""
PASS_BYTES = 128
"""Bytes of shared memory in a pass."""
MATRIX_BYTES = 512
"""Bytes that a warp loads from shared memory with one instruction (ldmatrix.x4)."""


@frozen
class PrefillParameters:
    """Sizes of flash_prefill.

    Attributes:
        batch: prompts.
        tokens: of a prompt.
        heads: that have queries.
        kv_heads: that have keys and values; a divisor of `heads`.
        head_dim: numbers of a head.
        causal: a token attends to those before it alone.
        tile_rows, tile_columns: queries and keys of a tile: 128 and 64 for heads of 128 numbers on
            A100 and H100, 128 and 32, or 64 and 64, on GPUs with less shared memory; 128 and 128
            for heads of 64 numbers.
    """

    batch: int = gpu.number(1, 1, 4096)
    tokens: int = gpu.number(2048, 1, 1 << 20)
    heads: int = gpu.number(32, 1, 256, multiple="kv_heads")
    kv_heads: int = gpu.number(8, 1, 256)
    head_dim: int = gpu.choice(128, (64, 128))
    causal: bool = gpu.choice(True, (True, False))
    tile_rows: int = gpu.choice(128, (64, 128))
    tile_columns: int = gpu.choice(64, (32, 64, 128))

    @property
    def scores(self) -> int:
        """Of a tile, that a thread has."""
        return self.tile_rows * self.tile_columns // THREADS

    @property
    def results(self) -> int:
        """Numbers of the output that a thread has."""
        return self.tile_rows * self.head_dim // THREADS

    @property
    def row_vectors(self) -> int:
        """Pieces of 16 bytes of a head."""
        return self.head_dim // IN_A_VECTOR


@frozen
class Matrices:
    """Operands, [prompts, tokens, heads, head_dim] of 16-bit numbers each.

    Attributes:
        q, out: of `heads` heads.
        k, v: of `kv_heads` heads.
        lse: [prompts, heads, tokens] logarithms of the sums.
    """

    q: gpu.Vectors
    k: gpu.Vectors
    v: gpu.Vectors
    out: gpu.Vectors
    lse: gpu.Floats


@frozen
class Tile:
    """Rows of one head.

    Attributes:
        row: of the prompt's first token, counted in rows of one head.
        step: rows between two tokens: the matrix's heads.
        first: the first token.
        count: rows of the tile.
    """

    row: int
    step: int
    first: int
    count: int

    def places(
        self, k: gpu.BlockTracer, of: PrefillParameters
    ) -> Iterator[tuple[gpu.Lanes, gpu.Mask]]:
        """Of each access to the tile: 16-byte elements, and the threads whose token there is."""
        for start in range(0, self.count, AT_ONCE):
            token = self.first + start + k.tid // PIECE
            inside = token < of.tokens
            row = (self.row + token * self.step) * of.row_vectors
            for column in range(0, of.row_vectors, PIECE):
                yield row + column + k.tid % PIECE, inside


def _shared_bytes(of: PrefillParameters) -> int:
    """A tile of Q, of K and of V."""
    return (of.tile_rows + 2 * of.tile_columns) * of.head_dim * HALF_BYTES


def _registers(of: PrefillParameters) -> int:
    """Scores, results and 64 others: all 255 in tiles of 128 x 64 with heads of 128 numbers."""
    return min(255, of.scores + of.results + 64)


def _load(k: gpu.BlockTracer, array: gpu.Vectors, tile: Tile, of: PrefillParameters) -> None:
    """Load a tile, into shared memory."""
    for place, inside in tile.places(k, of):
        k.load(array, place, inside)


def _multiply(k: gpu.BlockTracer, operands: int, of: PrefillParameters) -> None:
    """A warp's rows by a tile: `operands` numbers from shared memory, then tensor cores."""
    k.shared(MATRIX_BYTES // PASS_BYTES, times=operands * HALF_BYTES // MATRIX_BYTES)
    instructions = of.tile_rows // WARPS // 16 * (of.tile_columns // 8) * (of.head_dim // 16)
    k.arithmetic(gpu.Unit.TENSOR, instructions, of.head_dim // 16)


@gpu.kernel("flash_fwd", registers=_registers, block=THREADS, shared=_shared_bytes)
def attend(k: gpu.BlockTracer, at: Matrices, of: PrefillParameters) -> gpu.Steps:
    """A tile's queries of one head a thread block of four warps.

    L tiles of Q and of K, into shared memory.  Then tile by tile, from the last one that is seen
    to the first: barrier, L V; S = Q K^T by the tensor cores; barrier, L the next K; maxima,
    exponentials and sums in registers; O = P V.  At the end S O, through shared memory, and the
    logarithms of sums.  Copies past the registers (cp.async) are loads here, through the L1 cache;
    a tile's are under way while the other's product is made.  Four instructions for a score, two
    for a number of O that is scaled, and registers are our choice.
    """
    prompt, head = k.by, k.bz
    queries = Tile(
        of.tokens * of.heads * prompt + head, of.heads, k.bx * of.tile_rows, of.tile_rows
    )
    kv_row = of.tokens * of.kv_heads * prompt + head // (of.heads // of.kv_heads)
    seen = min(of.tokens, (k.bx + 1) * of.tile_rows) if of.causal else of.tokens
    tiles = [
        Tile(kv_row, of.kv_heads, first, of.tile_columns)
        for first in range(0, seen, of.tile_columns)
    ]
    tile = of.tile_columns * of.head_dim
    k.compute(4 * gpu.PROLOGUE)
    _load(k, at.q, queries, of)
    _load(k, at.k, tiles[-1], of)
    for number in reversed(range(len(tiles))):
        k.wait()
        k.barrier()
        _load(k, at.v, tiles[number], of)
        _multiply(k, of.tile_rows // WARPS * of.head_dim + tile, of)
        k.wait()
        k.barrier()
        if number:
            _load(k, at.k, tiles[number - 1], of)
        k.arithmetic(gpu.Unit.FP32, 3 * of.scores + 2 * of.results, 16)
        k.arithmetic(gpu.Unit.SPECIAL, of.scores, 1)
        _multiply(k, tile, of)
        yield
    k.shared(MATRIX_BYTES // PASS_BYTES, times=2 * of.results * HALF_BYTES * 32 // MATRIX_BYTES)
    k.barrier()
    for place, inside in queries.places(k, of):
        k.store(at.out, place, 0, inside)
    row = k.bx * of.tile_rows + k.tid
    inside = (k.tid < of.tile_rows) & (row < of.tokens)
    k.store(at.lse, (prompt * of.heads + head) * of.tokens + row, 0, inside)


@gpu.program("flash_prefill", PrefillParameters)
def flash_prefill(
    memory: gpu.AddressSpace, parameters: PrefillParameters, _seed: int
) -> gpu.Launches:
    """Attention of prompts, as FlashAttention-2 computes it on an A100, and on an H100.

    Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning", 2023,
    and its code (csrc/flash_attn).  Arrays have no contents; addresses do not depend on them.

    Arrays in the order q, k, v, out, lse; one launch.
    """
    of = parameters
    own = of.batch * of.tokens * of.row_vectors
    q = memory.blank("q", own * of.heads, vector())
    keys = memory.blank("k", own * of.kv_heads, vector())
    values = memory.blank("v", own * of.kv_heads, vector())
    out = memory.blank("out", own * of.heads, vector())
    lse = memory.blank("lse", of.batch * of.heads * of.tokens, np.float32)
    grid = (-(-of.tokens // of.tile_rows), of.batch, of.heads)
    yield attend[grid, THREADS](Matrices(q, keys, values, out, lse), of)
