"""growing_decode: decode steps of a server, whose cache grows and shrinks with its sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.llm.caches import CacheShape, ContiguousCache, PagedCache
from gpusim.programs.llm.conversations import contexts
from gpusim.programs.llm.halves import HALF_BYTES, VECTOR_BYTES
from gpusim.programs.llm.kv_append import THREADS as APPEND_THREADS
from gpusim.programs.llm.kv_append import NewTokens, append
from gpusim.programs.llm.paged_decode import THREADS, Batch, DecodeParameters, attend, join

_KERNELS, _DRIVER = 1, 2
"""Streams of the launches, and of the thread that maps pieces for the next step."""


@frozen
class GrowingParameters(DecodeParameters):
    """Sizes of growing_decode.

    Attributes:
        steps: decode steps, each a token of every sequence.
        prompt: tokens of the longest prompt; None: `context` but an answer.
        answer: tokens of an answer; then its sequence ends, and another prompt takes its place.
            At first sequences have as many tokens of theirs as makes one end every `answer /
            batch` steps.
        piece: bytes that are mapped at a time in the contiguous layout: CUDA's 2 MiB, or what
            vAttention's driver allows.
        maps: ``ahead``: what the next step needs is mapped by a thread of its own while this one
            runs, as vAttention does; ``when-needed``: before the step.
        releases: ``at-once``: what a sequence had is unmapped when it ends; ``deferred``: it stays
            for the next sequence in its place, as vAttention does while memory lasts.
    """

    steps: int = gpu.number(4, 1, 4096)
    prompt: int | None = gpu.number(None, 1, "context")
    answer: int = gpu.number(64, 1, "context")
    piece: int = gpu.choice(2 << 20, (64 << 10, 128 << 10, 256 << 10, 2 << 20))
    maps: str = gpu.choice("ahead", ("ahead", "when-needed"))
    releases: str = gpu.choice("at-once", ("at-once", "deferred"))


class _Space(Protocol):
    """Memory of the sequences' keys and values."""

    def hold(self, sequence: int, tokens: int) -> Iterator[gpu.MappingCall]:
        """Make room for the first `tokens` tokens of a sequence."""

    def release(self, sequence: int) -> Iterator[gpu.MappingCall]:
        """A sequence has ended."""


@frozen
class _Blocks:
    """vLLM's blocks, taken from a pool that is there from the beginning.

    Attributes:
        table: of blocks.
        size: tokens of a block.
        most: blocks of a sequence.
        free: numbers of those that no sequence has, the next one last.
        taken: by sequence, how many it has.
    """

    table: gpu.Ints
    size: int
    most: int
    free: list[int]
    taken: list[int]

    def hold(self, sequence: int, tokens: int) -> Iterator[gpu.MappingCall]:
        while self.taken[sequence] * self.size < tokens:
            place = sequence * self.most + self.taken[sequence]
            self.table.data[place] = self.free.pop()
            self.taken[sequence] += 1
        yield from ()

    def release(self, sequence: int) -> Iterator[gpu.MappingCall]:
        first = sequence * self.most
        self.free.extend(self.table.data[first : first + self.taken[sequence]].tolist())
        self.taken[sequence] = 0
        yield from ()


@frozen
class _Pieces:
    """vAttention's reserved sequences, which are mapped piece by piece.

    Attributes:
        memory: the address space.
        arrays: keys and values of all layers.
        row: elements of a token.
        most: tokens of a sequence.
        deferred: whether pieces of a sequence that ends stay mapped.
    """

    memory: gpu.AddressSpace
    arrays: list[gpu.Vectors]
    row: int
    most: int
    deferred: bool

    def hold(self, sequence: int, tokens: int) -> Iterator[gpu.MappingCall]:
        first = sequence * self.most * self.row
        for array in self.arrays:
            call = self.memory.map(array, first, tokens * self.row)
            if call.pieces:
                yield call

    def release(self, sequence: int) -> Iterator[gpu.MappingCall]:
        first = sequence * self.most * self.row
        for array in () if self.deferred else self.arrays:
            call = self.memory.unmap(array, first, self.most * self.row)
            if call.pieces:
                yield call


class _Server:
    """The sequences of a batch, and the host's part of each step."""

    def __init__(self, memory: gpu.AddressSpace, of: GrowingParameters, seed: int) -> None:
        self._of = of
        self._rng_seed = seed
        self._ended = 0
        longest = of.prompt or max(of.context - of.answer, 1)
        self._longest = longest
        self._written = np.arange(of.batch) * of.answer // of.batch
        self._tokens = contexts(of.lengths, of.batch, longest, seed).astype(np.int64)
        self._tokens += self._written
        np.minimum(self._tokens, of.context - 1, out=self._tokens)
        self._place(memory, seed)

    def launches(self) -> gpu.Launches:
        """Of all steps."""
        of = self._of
        ahead = of.maps == "ahead" and of.layout == "contiguous"
        for step in range(of.steps):
            yield from self._begin_step()
            self._add_tokens()
            if not ahead or step + 1 == of.steps:
                yield from self._kernels()
                continue
            for call in self._ahead():
                yield call.on(_DRIVER)
            *first, last = self._kernels()
            for launch in first:
                yield launch.on(_KERNELS)
            yield last.on(_KERNELS, host_waits=True)

    def _ahead(self) -> Iterator[gpu.MappingCall]:
        """Sequences that go on have room for the token after the next one."""
        for sequence in np.flatnonzero(self._written < self._of.answer).tolist():
            yield from self._space.hold(sequence, int(self._tokens[sequence]) + 1)

    def _begin_step(self) -> Iterator[gpu.MappingCall]:
        """Sequences that have ended make room for others; all have room for one more token."""
        for sequence in np.flatnonzero(self._written >= self._of.answer).tolist():
            yield from self._space.release(sequence)
            self._ended += 1
            prompts = contexts(self._of.lengths, 1, self._longest, self._rng_seed + self._ended)
            self._tokens[sequence] = min(int(prompts[0]), self._of.context - 1)
            self._written[sequence] = 0
        for sequence, tokens in enumerate(self._tokens.tolist()):
            yield from self._space.hold(sequence, tokens + 1)

    def _add_tokens(self) -> None:
        """Each sequence has one more token, whose keys and values are to be put into the cache."""
        slots = self._caches[0].slots(np.arange(self._of.batch), self._tokens)
        self._new.slots.data[:] = slots
        self._tokens += 1
        self._written += 1
        self._batch.lengths.data[:] = self._tokens

    def _kernels(self) -> Iterator[gpu.KernelLaunch]:
        of, batch = self._of, self._batch
        numbers = of.kv_heads * of.head_dim
        for cache in self._caches[: of.launches]:
            yield append[of.batch, min(numbers, APPEND_THREADS)](self._new, cache, numbers)
            yield attend[(of.heads, of.batch, of.parts), THREADS](cache, batch, of)
            if of.partition:
                yield join[(of.heads, of.batch), THREADS](batch, of)

    # -- arrays ------------------------------------------------------------------------------------

    def _place(self, memory: gpu.AddressSpace, seed: int) -> None:
        of = self._of
        rows = of.batch * of.heads
        joined = rows * of.parts if of.partition else 0
        numbers = of.batch * of.kv_heads * of.head_dim
        self._batch = Batch(
            memory.blank("query", rows * of.head_dim, np.float16),
            memory.zeros("lengths", of.batch, np.int32),
            memory.blank("parts", joined * of.head_dim, np.float16),
            memory.blank("largest", joined, np.float32),
            memory.blank("sums", joined, np.float32),
            memory.blank("output", rows * of.head_dim, np.float16),
        )
        self._new = NewTokens(
            memory.blank("key", numbers, np.float16),
            memory.blank("value", numbers, np.float16),
            memory.zeros("slots", of.batch, np.int64),
        )
        shape = CacheShape(of.kv_heads, of.head_dim, of.block_size, of.blocks)
        self._caches: list[Any]
        self._space: _Space
        if of.layout == "paged":
            pool = of.cache_blocks or of.batch * of.blocks
            free: NDArray[np.int64] = np.random.default_rng((seed, 1)).permutation(pool)
            table = memory.zeros("block_table", of.batch * of.blocks, np.int32)
            self._caches = [
                PagedCache.place(memory, layer, pool, table, shape) for layer in range(of.layers)
            ]
            held = [0] * of.batch
            self._space = _Blocks(table, of.block_size, of.blocks, free.tolist(), held)
            return
        self._caches = [
            ContiguousCache.place(memory, layer, of.batch, shape, of.piece)
            for layer in range(of.layers)
        ]
        arrays = [array for one in self._caches for array in (one.keys, one.values)]
        row = of.kv_heads * of.head_dim * HALF_BYTES // VECTOR_BYTES
        most = of.blocks * of.block_size
        self._space = _Pieces(memory, arrays, row, most, of.releases == "deferred")


@gpu.program("growing_decode", GrowingParameters)
def growing_decode(
    memory: gpu.AddressSpace, parameters: GrowingParameters, seed: int
) -> gpu.Launches:
    """Decode steps whose caches grow: new keys and values, then attention, layer by layer.

    Prabhu et al., "vAttention: Dynamic Memory Management for Serving LLMs without PagedAttention",
    ASPLOS 2025: in the contiguous layout each sequence has reserved addresses for `context` tokens,
    to which memory is mapped as it grows.  In the paged one (Kwon et al., SOSP 2023) the cache is
    there from the beginning, and sequences take and give back blocks.  Kernels are those of
    kv_append and paged_decode.  Prompts are not computed, nor what else a layer does [our choice:
    between two launches nothing passes].

    Arrays in the order query, lengths, parts, largest, sums, output, key, value, slots, block_table
    (paged), then each layer's k_cache and v_cache.
    """
    yield from _Server(memory, parameters, seed).launches()
