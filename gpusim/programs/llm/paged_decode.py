"""paged_decode: attention of one new token of each sequence to all tokens before it."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu
from gpusim.programs.llm.caches import (
    WARP,
    Cache,
    CacheParameters,
    Place,
    place_caches,
)
from gpusim.programs.llm.conversations import contexts
from gpusim.programs.llm.halves import HALF_BYTES, IN_A_VECTOR, vector

THREADS = 128
WARPS = THREADS // WARP
MOST_SHARED = 227 * 1024
"""Bytes of shared memory that a block may have on an H100."""


@frozen
class DecodeParameters(CacheParameters):
    """Sizes of paged_decode.

    Attributes:
        heads: that have queries; a multiple of `kv_heads`.
        partition: tokens of a thread block, as of vLLM's second version (512 there), whose parts
            another kernel joins; 0: all of the sequence's, as of the first.
    """

    heads: int = gpu.number(32, 1, 256, multiple="kv_heads")
    partition: int = gpu.number(512, 0, 16384, multiple=32)

    def __attrs_post_init__(self) -> None:
        if not self.partition and (need := _shared_bytes(self)) > MOST_SHARED:
            raise ValueError(
                f"'context' is too long for one thread block: {need} bytes of shared memory, of "
                f"{MOST_SHARED} at most; 'partition' = 512 cuts it"
            )

    @property
    def parts(self) -> int:
        """Most thread blocks of a sequence's head."""
        return -(-self.context // self.partition) if self.partition else 1

    @property
    def own_tokens(self) -> int:
        """Most tokens of a thread block."""
        return self.partition or self.blocks * self.block_size


def _shared_bytes(sizes: DecodeParameters) -> int:
    """Logits, or what half of the warps hand over; the query; two numbers a warp."""
    work = max(4 * sizes.own_tokens, WARPS // 2 * 4 * sizes.head_dim)
    return work + HALF_BYTES * sizes.head_dim + 8 * WARPS


@frozen
class Batch:
    """What the kernels of all layers read and write beside the caches.

    Attributes:
        query: [sequences, heads, head_dim].
        lengths: [sequences] tokens of each.
        parts: [sequences, heads, parts, head_dim], results of thread blocks.
        largest, sums: [sequences, heads, parts], their largest logit and their sum.
        output: [sequences, heads, head_dim].
    """

    query: gpu.DeviceArray[Any]
    lengths: gpu.Ints
    parts: gpu.DeviceArray[Any]
    largest: gpu.Floats
    sums: gpu.Floats
    output: gpu.DeviceArray[Any]


def _over_the_block(k: gpu.BlockTracer, where: gpu.Mask) -> None:
    """A sum, or a maximum, of all threads: five shuffles, a number a warp, two more shuffles."""
    k.arithmetic(gpu.Unit.FP32, 10, 10, where)
    k.shared_store(1, where & (k.tid % WARP == 0))
    k.barrier(where)
    k.shared_load(1, where)
    k.wait(0, where)
    k.arithmetic(gpu.Unit.FP32, 5, 5, where)


def _softmax(k: gpu.BlockTracer, tokens: Any, here: gpu.Mask) -> gpu.Steps:
    """Of `tokens` logits in shared memory."""
    _over_the_block(k, here)
    for _, where in gpu.rounds(k.tid, tokens, THREADS):
        k.shared_load(1, where)
        k.wait(0, where)
        k.arithmetic(gpu.Unit.SPECIAL, 1, 1, where)
        k.arithmetic(gpu.Unit.FP32, 3, 2, where)
        k.shared_store(1, where)
        yield
    _over_the_block(k, here)
    for _, where in gpu.rounds(k.tid, tokens, THREADS):
        k.shared_load(1, where)
        k.wait(0, where)
        k.arithmetic(gpu.Unit.FP32, 1, 1, where)
        k.shared_store(1, where)
        yield
    k.barrier(here)


def _add_up(k: gpu.BlockTracer, here: gpu.Mask) -> None:
    """The results of four warps, in shared memory."""
    half = WARPS // 2
    while half:
        k.barrier(here)
        k.shared_store(1, here & (k.tid // WARP >= half) & (k.tid // WARP < 2 * half))
        k.barrier(here)
        k.shared_load(1, here & (k.tid // WARP < half))
        k.wait(0, here)
        half //= 2


@gpu.kernel("paged_attention", registers=64, block=THREADS, shared=_shared_bytes, in_step=True)
def attend(k: gpu.BlockTracer, cache: Cache, batch: Batch, sizes: DecodeParameters) -> gpu.Steps:
    """A head of a sequence, or `partition` tokens of it, a thread block of four warps.

    L length; where the part begins beyond it, the block ends.  L query into shared memory, barrier.
    A warp takes every fourth block of tokens: L its number in the cache (with the paged layout), L
    its keys, all before the first is used; conversion and FMA for each number, shuffles, and a
    logit a token into shared memory.  The maximum of all; the exponential of each logit, their
    sum, the quotients, all in shared memory.  Then each block's number again, L its values, and
    conversion and FMA.  Sums of four warps in shared memory, and S result.  Registers are our
    choice.
    """
    sequence, head = k.by, k.bx
    k.compute(gpu.PROLOGUE)
    length = k.fetch(batch.lengths, sequence)
    start = k.bz * sizes.partition
    here = np.broadcast_to(start < length, k.threads)
    if not here.any():
        return
    query = batch.query.view(vector(cache.query_bytes))
    wide = sizes.head_dim * HALF_BYTES // cache.query_bytes
    row = sequence * sizes.heads + head
    first = here & (k.tid < wide)
    k.fetch(query, row * wide + k.tid, first)
    k.shared_store(1, first)
    k.barrier(here)
    own = k.bz * (sizes.own_tokens // sizes.block_size) + k.tid // WARP
    end = -(-np.minimum(length, start + sizes.own_tokens) // sizes.block_size)
    kv_head = head // (sizes.heads // sizes.kv_heads)
    numbers = sizes.block_size * sizes.head_dim // WARP
    for block, where in gpu.rounds(own, end, WARPS):
        cache.load_keys(k, Place(sequence, kv_head, block, length), where)
        k.wait(0, where)
        k.arithmetic(gpu.Unit.FP32, 2 * numbers, 2 * numbers // cache.query_bytes, where)
        shuffles = 2 * (cache.sums.bit_length() - 1)
        k.arithmetic(gpu.Unit.FP32, shuffles + 2, shuffles + 2, where)
        k.shared_store(1, where)
        yield
    yield from _softmax(k, np.minimum(length - start, sizes.own_tokens), here)
    if sizes.partition:
        for array in (batch.largest, batch.sums):
            k.store(array, row * sizes.parts + k.bz, 0, here & (k.tid == 0))
    for block, where in gpu.rounds(own, end, WARPS):
        k.shared_load(1, where, times=2)
        cache.load_values(k, Place(sequence, kv_head, block, length), where)
        k.wait(0, where)
        k.arithmetic(gpu.Unit.FP32, 2 * numbers, IN_A_VECTOR, where)
        yield
    _add_up(k, here)
    if sizes.partition:
        cache.store(k, batch.parts, row * sizes.parts + k.bz, here)
    else:
        cache.store(k, batch.output, row, here)


@gpu.kernel(
    "paged_attention_reduce",
    registers=32,
    block=THREADS,
    shared=lambda sizes: 8 * sizes.parts + 8 * WARPS,
)
def join(k: gpu.BlockTracer, batch: Batch, sizes: DecodeParameters) -> gpu.Steps:
    """A head of a sequence a thread block: the parts' results, weighed by their sums.

    L length, L largest logits, their maximum; L sums, exponentials; then for each number of the
    head L it of each part, FMA; S result.  A sequence of one part is copied.
    """
    row = k.by * sizes.heads + k.bx
    k.compute(gpu.PROLOGUE)
    length = int(k.fetch(batch.lengths, k.by)[0])
    parts = -(-length // sizes.partition)
    everyone = np.ones(k.threads, dtype=bool)
    if parts > 1:
        for array in (batch.largest, batch.sums):
            for part, where in gpu.rounds(k.tid, parts, THREADS):
                k.fetch(array, row * sizes.parts + part, where)
                k.arithmetic(gpu.Unit.SPECIAL, 1, 1, where)
                k.shared_store(1, where)
            _over_the_block(k, everyone)
    for number, where in gpu.rounds(k.tid, sizes.head_dim, THREADS):
        for some in gpu.groups(parts, 4):
            for part in some:
                place = (row * sizes.parts + part) * sizes.head_dim + number
                k.load(batch.parts, place, where)
                if parts > 1:
                    k.shared_load(1, where)
            k.wait(0, where)
            if parts > 1:
                k.arithmetic(gpu.Unit.FP32, 2 * len(some), len(some), where)
            yield
        k.store(batch.output, row * sizes.head_dim + number, 0, where)


@gpu.program("paged_decode", DecodeParameters)
def paged_decode(memory: gpu.AddressSpace, parameters: DecodeParameters, seed: int) -> gpu.Launches:
    """Attention of a decode step, layer by layer, of a server that batches sequences.

    Kwon et al., "Efficient Memory Management for Large Language Model Serving with
    PagedAttention", SOSP 2023, and vLLM's kernels of it.  Numbers have 16 bits.  Contexts and block
    tables are real; blocks are a random choice of the cache's, as of a server that has run for
    long.  Queries, keys and values have no contents, and addresses do not depend on them.

    Arrays in the order query, lengths, largest, sums, parts, output, block_table (paged), then each
    layer's k_cache and v_cache.
    """
    of = parameters
    rows = of.batch * of.heads
    query = memory.blank("query", rows * of.head_dim, np.float16)
    tokens = contexts(of.lengths, of.batch, of.context, seed)
    lengths = memory.allocate("lengths", tokens)
    joined = rows * of.parts if of.partition else 0
    largest = memory.blank("largest", joined, np.float32)
    sums = memory.blank("sums", joined, np.float32)
    parts = memory.blank("parts", joined * of.head_dim, np.float16)
    output = memory.blank("output", rows * of.head_dim, np.float16)
    batch = Batch(query, lengths, parts, largest, sums, output)
    for cache in place_caches(memory, of, seed)[: of.launches]:
        yield attend[(of.heads, of.batch, of.parts), THREADS](cache, batch, of)
        if of.partition:
            yield join[(of.heads, of.batch), THREADS](batch, of)
