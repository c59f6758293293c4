"""sparse_decode: attention of one new token of each sequence to the blocks that matter most."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.llm.caches import WARP, PagedCache, place_caches
from gpusim.programs.llm.conversations import contexts
from gpusim.programs.llm.halves import HALF_BYTES, IN_A_VECTOR, vector
from gpusim.programs.llm.paged_decode import THREADS, Batch, DecodeParameters, attend, join

WARPS = THREADS // WARP
SELECTING = 1024
"""Threads that choose the blocks of a sequence."""


@frozen
class SparseParameters(DecodeParameters):
    """Sizes of sparse_decode; its layout is ``paged``.

    Attributes:
        chosen: blocks of a sequence that are attended to, at most.
    """

    chosen: int = gpu.number(128, 1, "context")

    def __attrs_post_init__(self) -> None:
        DecodeParameters.__attrs_post_init__(self)
        if self.layout != "paged":
            raise ValueError("'layout' must be 'paged': blocks are chosen")

    @property
    def attended(self) -> DecodeParameters:
        """Sizes of the attention to what is chosen."""
        return evolve(self, context=min(self.chosen, self.blocks) * self.block_size)


@frozen
class Estimate:
    """What blocks are chosen by.

    Attributes:
        bounds: [blocks, kv_heads, 2, head_dim], least and largest keys of each block of the cache.
        scores: [sequences, blocks of one] of the present query.
        table: [sequences, blocks of one] numbers of blocks in the cache.
        selected: [sequences, chosen] those of the chosen ones.
        count: [sequences] blocks of each.
    """

    bounds: gpu.Vectors
    scores: gpu.Floats
    table: gpu.Ints
    selected: gpu.Ints
    count: gpu.Ints


@gpu.kernel("estimate_blocks", registers=48, block=THREADS, in_step=True)
def estimate(k: gpu.BlockTracer, query: gpu.Vectors, at: Estimate, of: SparseParameters) -> None:
    """A block of tokens a warp, four neighbouring ones a thread block.

    L count; beyond it, the warp ends.  L number of the block, L query and, of each head with keys,
    L least and largest keys; products, maxima, shuffles; S the score.  Registers are our choice.
    """
    sequence, block = k.by, k.bx * WARPS + k.tid // WARP
    lane = k.tid % WARP
    k.compute(gpu.PROLOGUE)
    here = block < k.fetch(at.count, sequence)
    place = sequence * of.blocks + block
    number = k.fetch(at.table, place, here).astype(np.int64)
    vectors = of.head_dim // IN_A_VECTOR
    for head in range(of.kv_heads):
        for first in range(0, 2 * vectors, WARP):
            own = here & (first + lane < 2 * vectors)
            part = (sequence * of.heads + head * (of.heads // of.kv_heads)) * vectors
            k.load(query, part + (first + lane) % vectors, own)
            k.load(at.bounds, (number * of.kv_heads + head) * 2 * vectors + first + lane, own)
    k.wait(0, here)
    k.arithmetic(gpu.Unit.FP32, 3 * IN_A_VECTOR * of.kv_heads + 10, 20, here)
    k.store(at.scores, place, 0, here & (lane == 0))


@gpu.kernel("select_blocks", registers=32, shared=4096, in_step=True)
def select(k: gpu.BlockTracer, at: Estimate, chosen: NDArray[np.int32], blocks: int) -> gpu.Steps:
    """A sequence a thread block: four passes over its scores, a digit of eight bits each.

    L score, an addition in shared memory; then L the numbers of the chosen blocks, S them.
    Registers are our choice.

    Takes `at`, `chosen` ([sequences, chosen] their places in the sequence), `blocks` (of one).
    """
    k.compute(gpu.PROLOGUE)
    count = k.fetch(at.count, k.bx)
    for _ in range(4):
        for block, where in gpu.rounds(k.tid, count, k.shape.threads):
            k.fetch(at.scores, k.bx * blocks + block, where)
            k.shared(2, where)
            yield
        k.barrier()
    most = chosen.shape[1]
    for rank, where in gpu.rounds(k.tid, np.minimum(count, most), k.shape.threads):
        inside = np.broadcast_to(True if where is None else where, k.threads)
        block = chosen[np.broadcast_to(k.bx, k.threads), np.where(inside, rank, 0)]
        number = k.fetch(at.table, k.bx * blocks + block.astype(np.int64), inside)
        k.store(at.selected, k.bx * most + rank, number, inside)
        yield


def chosen_blocks(of: SparseParameters, count: NDArray[np.int64], seed: int) -> NDArray[np.int32]:
    """(sequences, chosen) ascending: the first block, the last eight, and random ones (our choice).

    Where a sequence has fewer, its blocks, and then its last one.
    """
    rng = np.random.default_rng(seed + 1)
    most = min(of.chosen, of.blocks)
    found = np.empty((of.batch, most), dtype=np.int32)
    for sequence, blocks in enumerate(count.tolist()):
        score = rng.random(blocks)
        score[-8:] = score[0] = 2.0
        own = np.sort(np.argsort(-score, kind="stable")[:most])
        found[sequence] = np.pad(own, (0, most - len(own)), mode="edge")
    return found


@gpu.program("sparse_decode", SparseParameters)
def sparse_decode(
    memory: gpu.AddressSpace, parameters: SparseParameters, seed: int
) -> gpu.Launches:
    """Attention of a decode step to the blocks whose keys promise most, layer by layer.

    Tang et al., "Quest: Query-Aware Sparsity for Efficient Long-Context LLM Inference", ICML 2024:
    the least and largest keys of each block bound what a query can make of it.  All heads choose
    the same blocks (our choice, exact with one head of keys); which ones is random, but for the
    first and the last, the same in all layers.  Then paged_decode's kernels attend to them.

    Arrays in the order query, lengths, count, largest, sums, parts, output, block_table, each
    layer's k_cache and v_cache; then selected, scores, and each layer's bounds.
    """
    of, attended = parameters, parameters.attended
    rows = of.batch * of.heads
    query = memory.blank("query", rows * of.head_dim, np.float16)
    tokens = contexts(of.lengths, of.batch, of.context, seed)
    count = -(-tokens.astype(np.int64) // of.block_size)
    lengths = memory.allocate("lengths", np.minimum(tokens, attended.context))
    counts = memory.allocate("count", count.astype(np.int32))
    joined = rows * attended.parts if of.partition else 0
    largest = memory.blank("largest", joined, np.float32)
    sums = memory.blank("sums", joined, np.float32)
    parts = memory.blank("parts", joined * of.head_dim, np.float16)
    batch = Batch(
        query, lengths, parts, largest, sums, memory.blank("output", rows * of.head_dim, np.float16)
    )
    caches: list[Any] = list(place_caches(memory, of, seed))
    chosen = chosen_blocks(of, count, seed)
    selected = memory.zeros("selected", chosen.size, np.int32)
    scores = memory.blank("scores", of.batch * of.blocks, np.float32)
    bounds = []
    for layer, cache in enumerate(caches):
        pool = cache.values.bytes // (of.kv_heads * cache.shape.head_bytes)
        size = pool * of.kv_heads * 2 * of.head_dim * HALF_BYTES // vector().itemsize
        bounds.append(memory.blank(f"bounds_{layer}", size, vector()))
    grid = (-(-of.blocks // WARPS), of.batch)
    for cache, bound in list(zip(caches, bounds, strict=True))[: of.launches]:
        at = Estimate(bound, scores, cache.table, selected, counts)
        yield estimate[grid, THREADS](query.view(vector()), at, of)
        yield select[of.batch, SELECTING](at, chosen, of.blocks)
        selected.data[:] = _numbers(cache, chosen, of.blocks)
        near = evolve(cache, table=selected, shape=evolve(cache.shape, blocks=chosen.shape[1]))
        yield attend[(of.heads, of.batch, attended.parts), THREADS](near, batch, attended)
        if of.partition:
            yield join[(of.heads, of.batch), THREADS](batch, attended)


def _numbers(cache: PagedCache, chosen: NDArray[np.int32], blocks: int) -> NDArray[np.int32]:
    """Numbers of the chosen blocks, so that a run of some thread blocks finds them, too."""
    place = np.arange(len(chosen))[:, None] * blocks + chosen
    numbers: NDArray[np.int32] = cache.table.data[place].ravel()
    return numbers
