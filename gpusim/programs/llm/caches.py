"""Where a layer's keys and values lie: in blocks that a table names, or one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu
from gpusim.programs.llm.conversations import LENGTHS
from gpusim.programs.llm.halves import HALF_BYTES, IN_A_VECTOR, VECTOR_BYTES, vector

WARP = 32


@frozen
class CacheParameters:
    """The batch of a server, and its cache.

    Attributes:
        batch: sequences.
        context: tokens of the longest sequence that the server allows.
        lengths: tokens of each: ``fixed``, all have `context`; ``sharegpt4`` or ``arxiv``, as
            published of conversations and of summaries (`conversations.REQUESTS`), `context` at
            most.
        kv_heads: heads that have keys and values.
        head_dim: numbers of a head.
        block_size: tokens of a block of the cache.
        layout: of the cache: vLLM's blocks, or vAttention's contiguous sequences.
        cache_blocks: blocks of a layer's paged cache; None: as many as sequences of `context`
            tokens need.
        layers: that have a cache.
        launches: of these, whose kernels are launched, from the first one on; None: all.
    """

    batch: int = gpu.number(8, 1, 4096)
    context: int = gpu.number(4096, 1, 1 << 20)
    lengths: str = gpu.choice("fixed", LENGTHS)
    kv_heads: int = gpu.number(8, 1, 256)
    head_dim: int = gpu.choice(128, (64, 128, 256))
    block_size: int = gpu.choice(16, (8, 16, 32))
    layout: str = gpu.choice("paged", ("paged", "contiguous"))
    cache_blocks: int | None = gpu.number(
        None, lambda batch, context, block_size: batch * -(-context // block_size)
    )
    layers: int = gpu.number(1, 1, 256)
    launches: int | None = gpu.number(None, 1, "layers")

    @property
    def blocks(self) -> int:
        """Most blocks of a sequence."""
        return -(-self.context // self.block_size)


@frozen
class CacheShape:
    """Sizes of one layer's cache.

    Attributes:
        kv_heads: heads that have keys and values.
        head_dim: numbers of a head.
        block: tokens of a block.
        blocks: most blocks of a sequence.
    """

    kv_heads: int
    head_dim: int
    block: int
    blocks: int

    @property
    def head_bytes(self) -> int:
        """Keys, or values, of a block for one head."""
        return self.block * self.head_dim * HALF_BYTES


class Cache(Protocol):
    """One layer's keys and values, as a warp of 32 reads them: a block of tokens at a time.

    A wavefront of 64 does what two warps do.

    Attributes:
        keys, values: of the layer.
        shape: its sizes.
        query_bytes: what a thread loads of a query at once.
        sums: threads that hold parts of the same product of a query and a key.
    """

    @property
    def keys(self) -> gpu.Vectors: ...
    @property
    def values(self) -> gpu.Vectors: ...
    @property
    def shape(self) -> CacheShape: ...
    @property
    def query_bytes(self) -> int: ...
    @property
    def sums(self) -> int: ...

    def slots(self, sequence: gpu.Lanes, token: gpu.Lanes) -> gpu.Lanes:
        """Numbers of the places of tokens in the cache."""

    def numbers(self, slot: gpu.Lanes, number: gpu.Lanes) -> tuple[gpu.Lanes, gpu.Lanes]:
        """Of 16 bits, a key's and a value's: a number of all heads' of the token in a slot."""

    def load_keys(self, k: gpu.BlockTracer, of: Place, where: gpu.Mask | None) -> None:
        """Load a block's keys of one head, all under way at once."""

    def load_values(self, k: gpu.BlockTracer, of: Place, where: gpu.Mask | None) -> None:
        """The same for its values."""

    def store(
        self, k: gpu.BlockTracer, output: gpu.DeviceArray[Any], row: Any, where: gpu.Mask
    ) -> None:
        """Store a head's result, row `row` of `output` (of 16-bit numbers), by the first warp."""


@frozen
class Place:
    """What a warp reads next.

    Attributes:
        sequence: its number in the batch.
        kv_head: its head.
        block: (threads,) the number of the block in the sequence.
        length: tokens of the sequence.
    """

    sequence: Any
    kv_head: Any
    block: gpu.Lanes
    length: Any


@frozen
class PagedCache:
    """vLLM's layout, and how its kernel reads it (csrc/attention/attention_kernels.cuh).

    Keys are [blocks, kv_heads, head_dim / 8, block, 8], values [blocks, kv_heads, head_dim, block].
    A group of 32 / block threads takes one token's key, 16 bytes at a time; a thread takes
    16 bytes of a row of values.

    Attributes:
        keys, values: of the layer.
        table: [sequences, most blocks of one] int32, numbers of blocks in the cache.
        shape: its sizes.
    """

    keys: gpu.Vectors
    values: gpu.Vectors
    table: gpu.Ints
    shape: CacheShape

    @classmethod
    def place(
        cls, memory: gpu.AddressSpace, layer: int, pool: int, table: gpu.Ints, shape: CacheShape
    ) -> PagedCache:
        """Allocate one layer's cache of `pool` blocks."""
        size = pool * shape.kv_heads * shape.head_bytes
        piece = VECTOR_BYTES // (WARP // shape.block)
        keys = memory.blank(f"k_cache_{layer}", size // piece, vector(piece))
        values = memory.blank(f"v_cache_{layer}", size // VECTOR_BYTES, vector())
        return cls(keys, values, table, shape)

    @property
    def query_bytes(self) -> int:
        return self.keys.element_bytes

    @property
    def sums(self) -> int:
        return VECTOR_BYTES // self.keys.element_bytes

    def slots(self, sequence: gpu.Lanes, token: gpu.Lanes) -> gpu.Lanes:
        size = self.shape.block
        blocks = self.table.data[sequence * self.shape.blocks + token // size]
        found: gpu.Lanes = blocks.astype(np.int64) * size + token % size
        return found

    def numbers(self, slot: gpu.Lanes, number: gpu.Lanes) -> tuple[gpu.Lanes, gpu.Lanes]:
        shape = self.shape
        own = shape.kv_heads * shape.head_dim
        column = slot // shape.block * own + number
        offset = slot % shape.block
        piece, rest = column // IN_A_VECTOR, column % IN_A_VECTOR
        keys = (piece * shape.block + offset) * IN_A_VECTOR + rest
        return keys, column * shape.block + offset

    def _start(
        self, k: gpu.BlockTracer, of: Place, where: gpu.Mask | None, element_bytes: int
    ) -> gpu.Lanes:
        """The first element of the head in its block, whose number is read from the table."""
        number = k.fetch(self.table, of.sequence * self.shape.blocks + of.block, where)
        k.arithmetic(gpu.Unit.INTEGER, 4, 2, where)
        head: gpu.Lanes = number.astype(np.int64) * self.shape.kv_heads + of.kv_head
        return head * (self.shape.head_bytes // element_bytes)

    def load_keys(self, k: gpu.BlockTracer, of: Place, where: gpu.Mask | None) -> None:
        """L table, then head_dim / 8 loads: 16 bytes of each token are neighbours."""
        own = self._start(k, of, where, self.keys.element_bytes) + k.tid % WARP
        for part in range(self.shape.head_dim // IN_A_VECTOR):
            k.load(self.keys, own + part * WARP, where)

    def load_values(self, k: gpu.BlockTracer, of: Place, where: gpu.Mask | None) -> None:
        """L table, then loads of 512 bytes that follow each other."""
        own = self._start(k, of, where, VECTOR_BYTES) + k.tid % WARP
        for first in range(0, self.shape.head_bytes // VECTOR_BYTES, WARP):
            k.load(self.values, own + first, where)

    def store(
        self, k: gpu.BlockTracer, output: gpu.DeviceArray[Any], row: Any, where: gpu.Mask
    ) -> None:
        """A number at a time, by the first thread of those that hold parts of its sum."""
        vectors = self.shape.block // IN_A_VECTOR
        first = where & (k.tid < WARP) & (k.tid % vectors == 0)
        rows = WARP // vectors
        for start in range(0, self.shape.head_dim, rows):
            place = row * self.shape.head_dim + start + k.tid // vectors
            k.store(output, place, 0, first)


@frozen
class ContiguousCache:
    """vAttention's layout: [sequences, longest context, kv_heads, head_dim], virtually contiguous.

    Prabhu et al., "vAttention: Dynamic Memory Management for Serving LLMs without PagedAttention",
    ASPLOS 2025.  Rows of tokens are read as FlashAttention does: neighbouring threads take
    neighbouring pieces of 16 bytes, and no token beyond the sequence's end is read.

    Attributes:
        keys, values: of the layer.
        shape: its sizes.
    """

    keys: gpu.Vectors
    values: gpu.Vectors
    shape: CacheShape

    @classmethod
    def place(
        cls, memory: gpu.AddressSpace, layer: int, batch: int, shape: CacheShape, piece: int = 0
    ) -> ContiguousCache:
        """Allocate one layer's cache for `batch` sequences, or reserve it in pieces of a size."""
        size = batch * shape.blocks * shape.kv_heads * shape.head_bytes // VECTOR_BYTES

        def place(name: str) -> gpu.Vectors:
            if piece:
                return memory.reserve(name, size, vector(), piece)
            return memory.blank(name, size, vector())

        return cls(place(f"k_cache_{layer}"), place(f"v_cache_{layer}"), shape)

    @property
    def query_bytes(self) -> int:
        return VECTOR_BYTES

    @property
    def sums(self) -> int:
        return self.shape.head_dim // IN_A_VECTOR

    def slots(self, sequence: gpu.Lanes, token: gpu.Lanes) -> gpu.Lanes:
        return sequence * (self.shape.blocks * self.shape.block) + token

    def numbers(self, slot: gpu.Lanes, number: gpu.Lanes) -> tuple[gpu.Lanes, gpu.Lanes]:
        place = slot * (self.shape.kv_heads * self.shape.head_dim) + number
        return place, place

    def _load(
        self, k: gpu.BlockTracer, array: gpu.Vectors, of: Place, where: gpu.Mask | None
    ) -> None:
        """The tokens of a block, 512 bytes at a time."""
        shape, wide = self.shape, self.sums
        lane = k.tid % WARP
        for first in range(0, shape.block, WARP // wide):
            token = of.block * shape.block + first + lane // wide
            row = (of.sequence * shape.blocks * shape.block + token) * shape.kv_heads + of.kv_head
            inside = token < of.length
            k.load(array, row * wide + lane % wide, inside if where is None else inside & where)

    def load_keys(self, k: gpu.BlockTracer, of: Place, where: gpu.Mask | None) -> None:
        self._load(k, self.keys, of, where)

    def load_values(self, k: gpu.BlockTracer, of: Place, where: gpu.Mask | None) -> None:
        self._load(k, self.values, of, where)

    def store(
        self, k: gpu.BlockTracer, output: gpu.DeviceArray[Any], row: Any, where: gpu.Mask
    ) -> None:
        """16 bytes a thread."""
        k.store(output.view(vector()), row * self.sums + k.tid, 0, where & (k.tid < self.sums))


def place_caches(
    memory: gpu.AddressSpace, of: CacheParameters, seed: int
) -> Sequence[PagedCache] | Sequence[ContiguousCache]:
    """Those of all layers; blocks of a paged one are a random choice, the same in each layer."""
    shape = CacheShape(of.kv_heads, of.head_dim, of.block_size, of.blocks)
    if of.layout == "contiguous":
        return [ContiguousCache.place(memory, layer, of.batch, shape) for layer in range(of.layers)]
    needed = of.batch * of.blocks
    pool = of.cache_blocks or needed
    chosen = np.random.default_rng((seed, 1)).permutation(pool)[:needed]
    table = memory.allocate("block_table", chosen.astype(np.int32))
    return [PagedCache.place(memory, layer, pool, table, shape) for layer in range(of.layers)]
