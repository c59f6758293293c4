"""kv_append: the keys and values of new tokens are put into the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu
from gpusim.programs.llm.caches import Cache, CacheParameters, place_caches
from gpusim.programs.llm.conversations import contexts

THREADS = 512
"""Most threads of a block."""


@frozen
class AppendParameters(CacheParameters):
    """Sizes of kv_append.

    Attributes:
        tokens: new ones of each sequence, its last: 1 in a decode step, a piece of a prompt.
    """

    tokens: int = gpu.number(1, 1, "context")

    @property
    def numbers(self) -> int:
        """Of all heads of a token."""
        return self.kv_heads * self.head_dim


@frozen
class NewTokens:
    """What is put into the cache, and where.

    Attributes:
        keys, values: [tokens, kv_heads, head_dim].
        slots: [tokens] the place of each in the cache.
    """

    keys: gpu.DeviceArray[Any]
    values: gpu.DeviceArray[Any]
    slots: gpu.Longs


@gpu.kernel("reshape_and_cache", registers=32, in_step=True)
def append(k: gpu.BlockTracer, new: NewTokens, cache: Cache, numbers: int) -> gpu.Steps:
    """A token a thread block, a number of 16 bits at a time a thread.

    L slot; then for each number: divisions for its place, L key, L value, S both into the cache.
    In vLLM's layout neighbouring numbers of a value are a block of tokens apart.  Registers are our
    choice.

    Takes `new`, `cache`, `numbers` (of a token's key).
    """
    k.compute(gpu.PROLOGUE)
    slot = k.fetch(new.slots, k.bx)
    k.arithmetic(gpu.Unit.INTEGER, 20, 10)
    keys, values = cache.keys.view(np.float16), cache.values.view(np.float16)
    for number, where in gpu.rounds(k.tid, numbers, k.shape.threads):
        key = k.load(new.keys, k.bx * numbers + number, where)
        value = k.load(new.values, k.bx * numbers + number, where)
        k.arithmetic(gpu.Unit.INTEGER, 20, 10, where)
        k.wait(0, where)
        for array, place, what in zip(
            (keys, values), cache.numbers(slot, number), (key, value), strict=True
        ):
            k.store(array, place, what, where)
        yield


@gpu.program("kv_append", AppendParameters)
def kv_append(memory: gpu.AddressSpace, parameters: AppendParameters, seed: int) -> gpu.Launches:
    """New tokens' keys and values, layer by layer, as vLLM's reshape_and_cache stores them.

    Kwon et al., "Efficient Memory Management for Large Language Model Serving with
    PagedAttention", SOSP 2023; vLLM's csrc/cache_kernels.cu.  Contexts, block tables and slots are
    those of paged_decode; keys and values have no contents.

    Arrays in the order block_table (paged), each layer's k_cache and v_cache, key, value, slots.
    """
    of = parameters
    caches = place_caches(memory, of, seed)
    count = of.batch * of.tokens
    key = memory.blank("key", count * of.numbers, np.float16)
    value = memory.blank("value", count * of.numbers, np.float16)
    lengths = contexts(of.lengths, of.batch, of.context, seed).astype(np.int64)
    first = np.maximum(lengths - of.tokens, 0)
    token = (first[:, None] + np.arange(of.tokens)).ravel()
    places = caches[0].slots(np.repeat(np.arange(of.batch), of.tokens), token)
    new = NewTokens(key, value, memory.allocate("slots", places))
    for cache in caches[: of.launches]:
        yield append[count, min(of.numbers, THREADS)](new, cache, of.numbers)
