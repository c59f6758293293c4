"""moe_gather: tokens are gathered by expert and multiplied with the experts' weights."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.llm.halves import HALF_BYTES, IN_A_VECTOR, vector

THREADS = 128
ROWS, COLUMNS, DEPTH = 64, 64, 32
"""A tile: places of tokens, columns of an expert's weights, numbers of both at a time."""
GROUP = 8
"""Rows of tiles that neighbouring thread blocks go down before they take the next column."""
ROW_THREADS = DEPTH // IN_A_VECTOR
"""Threads that load a row's next 64 bytes."""
AT_ONCE = THREADS // ROW_THREADS
OUT_THREADS = COLUMNS // IN_A_VECTOR
"""Threads that store a row of a tile."""


@frozen
class MoeParameters:
    """Sizes of moe_gather.

    Attributes:
        tokens: of the batch.
        experts: of a layer.
        top_k: experts of a token.
        hidden: numbers of a token.
        width: columns of an expert's weights.
        exponent: experts are popular by Zipf's law (our choice: 0.5); 0: all are alike.
        layers: that have weights.
        launches: of these, that are computed, from the first one on; None: all.
    """

    tokens: int = gpu.number(512, 1, 1 << 20)
    experts: int = gpu.number(8, 1, 4096)
    top_k: int = gpu.number(2, 1, "experts")
    hidden: int = gpu.number(4096, DEPTH, 1 << 16, multiple=DEPTH)
    width: int = gpu.number(28672, COLUMNS, 1 << 17, multiple=COLUMNS)
    exponent: float = gpu.number(0.5, 0, 4)
    layers: int = gpu.number(1, 1, 256)
    launches: int | None = gpu.number(None, 1, "layers")

    @property
    def places(self) -> int:
        """A token's, for each of its experts."""
        return self.tokens * self.top_k

    @property
    def most_tiles(self) -> int:
        """Rows of tiles that there is room for, each expert's padded to whole tiles."""
        return -(-(self.places + self.experts * (ROWS - 1)) // ROWS)

    @property
    def row_vectors(self) -> int:
        """Pieces of 16 bytes of a token, or of a column of weights."""
        return self.hidden // IN_A_VECTOR


@frozen
class Routed:
    """Operands.

    Attributes:
        tokens: [tokens, hidden].
        count: [1] places in whole tiles.
        places: [most_tiles * 64] sorted by expert: token * top_k + rank; `places` where padded.
        experts: [most_tiles] the expert of a row of tiles.
        out: [tokens, top_k, width].
    """

    tokens: gpu.Vectors
    count: gpu.Ints
    places: gpu.Ints
    experts: gpu.Ints
    out: gpu.Vectors


def routes(of: MoeParameters, seed: int) -> NDArray[np.int64]:
    """(tokens, top_k) experts, drawn without repetition (our choice of their popularity)."""
    rng = np.random.default_rng(seed)
    popular = rng.permutation(of.experts)
    weights = -of.exponent * np.log(popular + 1.0)
    scores = weights + rng.gumbel(size=(of.tokens, of.experts))
    return np.argsort(-scores, axis=1, kind="stable")[:, : of.top_k]


def sorted_places(
    of: MoeParameters, experts: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Places by expert, padded to whole tiles; the expert of each tile; places in whole tiles."""
    places = np.full(of.most_tiles * ROWS, of.places, dtype=np.int32)
    owners = np.zeros(of.most_tiles, dtype=np.int32)
    end = 0
    for expert in range(of.experts):
        (own,) = np.nonzero(experts.ravel() == expert)
        places[end : end + len(own)] = own
        after = end + -(-len(own) // ROWS) * ROWS
        owners[end // ROWS : after // ROWS] = expert
        end = after
    return places, owners, end


@gpu.kernel(
    "fused_moe", registers=96, block=THREADS, shared=2 * (ROWS + COLUMNS) * DEPTH * HALF_BYTES
)
def multiply(k: gpu.BlockTracer, at: Routed, weights: gpu.Vectors, of: MoeParameters) -> gpu.Steps:
    """A tile of 64 places by 64 columns a thread block of four warps.

    L count; beyond it, the block ends.  L the tile's expert, L its places.  Then 32 numbers at a
    time: barrier, L the next of the places' tokens (none where padded) and of the expert's columns
    into shared memory, while tensor cores multiply the last ones.  S the places' results.  Two
    tiles are under way at most; registers are our choice.

    Takes `at`, `weights` ([experts, width, hidden]), `of`.
    """
    columns = of.width // COLUMNS
    group, rest = divmod(k.bx, GROUP * columns)
    height = min(of.most_tiles - group * GROUP, GROUP)
    tile, column = group * GROUP + rest % height, rest // height
    k.compute(3 * gpu.PROLOGUE)
    if tile * ROWS >= int(k.fetch(at.count, 0)[0]):
        return
    k.load(at.experts, tile)
    rows = [first + k.tid // ROW_THREADS for first in range(0, ROWS, AT_ONCE)]
    places = [k.load(at.places, tile * ROWS + row).astype(np.int64) for row in rows]
    k.wait()
    expert = int(at.experts.data[tile])
    k.arithmetic(gpu.Unit.INTEGER, 16, 8)
    first_column = expert * of.width + column * COLUMNS
    for step in range(of.hidden // DEPTH + 1):
        k.wait()
        k.barrier()
        if step * DEPTH < of.hidden:
            piece = step * ROW_THREADS + k.tid % ROW_THREADS
            for place in places:
                token = place // of.top_k
                k.load(at.tokens, token * of.row_vectors + piece, place < of.places)
            for row in rows:
                k.load(weights, (first_column + row) * of.row_vectors + piece)
        if step:
            k.shared(4, times=8)
            k.arithmetic(gpu.Unit.TENSOR, 16, 2)
        k.arithmetic(gpu.Unit.INTEGER, 4, 1)
        yield
    k.shared(4, times=4)
    k.barrier()
    for first in range(0, ROWS, THREADS // OUT_THREADS):
        row = first + k.tid // OUT_THREADS
        place = at.places.data[tile * ROWS + row].astype(np.int64)
        start = (place * of.width + column * COLUMNS) // IN_A_VECTOR
        k.store(at.out, start + k.tid % OUT_THREADS, 0, place < of.places)


@gpu.program("moe_gather", MoeParameters)
def moe_gather(memory: gpu.AddressSpace, parameters: MoeParameters, seed: int) -> gpu.Launches:
    """The first product of a mixture of experts, layer by layer, as vLLM's fused_moe has it.

    Jiang et al., "Mixtral of Experts", 2024: 8 experts, 2 a token, 4096 numbers, 14336 columns of
    two matrices each; vLLM's fused_moe (Triton), whose default tiles are those here.  Routes are
    real, the same in all layers; tokens and weights have no contents.

    Arrays in the order tokens, count, places, experts, out, then each layer's weights.
    """
    of = parameters
    tokens = memory.blank("tokens", of.tokens * of.row_vectors, vector())
    places, owners, count = sorted_places(of, routes(of, seed))
    counted = memory.allocate("count", np.array([count], dtype=np.int32))
    sorted_by = memory.allocate("places", places)
    experts = memory.allocate("experts", owners)
    out = memory.blank("out", of.places * of.width // IN_A_VECTOR, vector())
    at = Routed(tokens, counted, sorted_by, experts, out)
    size = of.experts * of.width * of.row_vectors
    layers = [memory.blank(f"weights_{layer}", size, vector()) for layer in range(of.layers)]
    for weights in layers[: of.launches]:
        yield multiply[of.most_tiles * (of.width // COLUMNS), THREADS](at, weights, of)
