"""decode_step: all kernels of one new token of each sequence, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu
from gpusim.programs.llm import moe_gather, splitk_gemm
from gpusim.programs.llm.caches import Cache, place_caches
from gpusim.programs.llm.conversations import contexts
from gpusim.programs.llm.halves import HALF_BYTES, IN_A_VECTOR, vector
from gpusim.programs.llm.kv_append import THREADS as APPEND_THREADS
from gpusim.programs.llm.kv_append import NewTokens, append
from gpusim.programs.llm.paged_decode import THREADS, Batch, DecodeParameters, attend, join
from gpusim.programs.llm.rmsnorm import THREADS as NORM_THREADS
from gpusim.programs.llm.rmsnorm import normalize
from gpusim.programs.llm.rotary import THREADS as ROTARY_THREADS
from gpusim.programs.llm.rotary import Heads, turn

TILE = 64
"""Rows and columns of a thread block of a product; numbers of rows and columns are padded to it."""


@frozen
class StepParameters(DecodeParameters):
    """Sizes of a decode step: of one GPU's part of a model that is cut by heads and columns.

    Attributes:
        hidden: numbers of a token.
        ffn: columns of the feed-forward network, or of an expert of it.
        vocabulary: tokens that the GPU has the logits of.
        experts: of a layer; 0: one network for all tokens.
        top_k: experts of a token.
        splits: thread blocks that share a sum of a product.
        earlier: arrays lie in the segments of PyTorch's caching allocator, after this many other
            tensors have come and gone there (`AddressSpace.pool`); None: one after the other.
    """

    hidden: int = gpu.number(4096, 64, 1 << 16, multiple=lambda splits: 32 * splits)
    ffn: int = gpu.number(14336, 64, 1 << 17, multiple=lambda splits: 32 * splits)
    vocabulary: int = gpu.number(32000, 64, 1 << 20)
    experts: int = gpu.number(0, 0, 4096)
    top_k: int = gpu.number(2, 1, 64)
    splits: int = gpu.number(4, 1, 64)
    earlier: int | None = gpu.number(None, 0, 1 << 16)

    def __attrs_post_init__(self) -> None:
        DecodeParameters.__attrs_post_init__(self)
        if self.experts and self.top_k > self.experts:
            raise ValueError(f"'top_k' must be at most experts ({self.experts})")
        if self.heads * self.head_dim % (32 * self.splits):
            raise ValueError(
                f"'heads' times 'head_dim' must be a multiple of 32 times 'splits' "
                f"({32 * self.splits}), which share its sums"
            )

    @property
    def rows(self) -> int:
        """Rows of the products, of which `batch` are used."""
        return -(-self.batch // TILE) * TILE

    @property
    def queries(self) -> int:
        """Numbers of a token's query."""
        return self.heads * self.head_dim

    @property
    def keys(self) -> int:
        """Numbers of a token's key."""
        return self.kv_heads * self.head_dim


@frozen
class Layer:
    """What a layer has of its own.

    Attributes:
        norms: weights of both normalizations.
        query, key, value, output: projections, [columns, what is summed up].
        up: gate and up projection: [2 ffn, hidden], of each expert.
        down: [hidden, ffn], of each expert.
        router: [padded experts, hidden]; None without experts.
        cache: keys and values.
    """

    norms: tuple[gpu.DeviceArray[Any], gpu.DeviceArray[Any]]
    query: gpu.Vectors
    key: gpu.Vectors
    value: gpu.Vectors
    output: gpu.Vectors
    up: gpu.Vectors
    down: gpu.Vectors
    router: gpu.Vectors | None
    cache: Cache


@frozen
class Work:
    """Arrays that all layers use, one after the other.

    Attributes:
        stream: [rows, hidden], what goes from layer to layer.
        normal: the same, normalized.
        query, key, value: of the new tokens.
        attended: [rows, heads, head_dim].
        wide: [rows or places, 2 ffn]; narrow: the same, after the activation.
        scattered: [places, hidden], results of experts.
        partial: sums of parts of a product.
        batch: what attention works with.
        positions, table: of rotary embeddings.
        new: what goes into the cache.
        routed: of tokens to experts, and from there back; None without experts.
    """

    stream: gpu.DeviceArray[Any]
    normal: gpu.DeviceArray[Any]
    query: gpu.DeviceArray[Any]
    key: gpu.DeviceArray[Any]
    value: gpu.DeviceArray[Any]
    attended: gpu.DeviceArray[Any]
    wide: gpu.DeviceArray[Any]
    narrow: gpu.DeviceArray[Any]
    scattered: gpu.DeviceArray[Any]
    partial: gpu.DeviceArray[np.void]
    batch: Batch
    positions: gpu.Longs
    table: gpu.DeviceArray[Any]
    new: NewTokens
    routed: tuple[moe_gather.Routed, moe_gather.Routed] | None


@gpu.kernel("act_and_mul", registers=24, block=128, in_step=True)
def activate(
    k: gpu.BlockTracer, wide: gpu.Vectors, narrow: gpu.Vectors, vectors: int, columns: int
) -> None:
    """Eight numbers a thread: L gate, L up, exponential and quotient of each, product, S.

    Registers are our choice.

    Takes `wide` (rows of gates, then ups), `narrow`, `vectors` (of all), `columns` (of a row).
    """
    where = gpu.threads_below(k, vectors)
    row, column = np.divmod(k.t, columns)
    for half in range(2):
        k.load(wide, (2 * row + half) * columns + column, where)
    k.wait(0, where)
    k.arithmetic(gpu.Unit.SPECIAL, 2 * IN_A_VECTOR, 2, where)
    k.arithmetic(gpu.Unit.FP32, 3 * IN_A_VECTOR, 3, where)
    k.store(narrow, k.t, 0, where)


@gpu.kernel("add_residual", registers=24, block=128, in_step=True)
def add(
    k: gpu.BlockTracer, source: gpu.Vectors, stream: gpu.Vectors, parts: int, columns: int
) -> None:
    """Eight numbers a thread: L what `parts` experts give, L the stream, sums, S the stream.

    Registers are our choice.

    Takes `source` ([rows, parts, columns]), `stream` ([rows, columns]), `parts`, `columns`.
    """
    row, column = np.divmod(k.t, columns)
    for part in range(parts):
        k.load(source, (row * parts + part) * columns + column)
    k.load(stream, k.t)
    k.wait()
    k.arithmetic(gpu.Unit.FP32, parts * IN_A_VECTOR, parts)
    k.store(stream, k.t, 0)


class _Step:
    """The launches of one step."""

    def __init__(self, memory: gpu.AddressSpace, of: StepParameters, seed: int) -> None:
        self._of = of
        self._memory = memory
        self._layers = self._place_layers(seed)
        self._head = self._vectors("lm_head", _padded(of.vocabulary) * of.hidden)
        self._work = self._place_work(seed)
        self._logits = memory.blank("logits", of.rows * _padded(of.vocabulary), np.float16)

    def launches(self) -> gpu.Launches:
        """Of all layers that are launched, and of the logits after the last one."""
        of, work = self._of, self._work
        for layer in self._layers[: of.launches]:
            yield from self._attention(layer)
            yield from self._network(layer)
        yield self._normalized(self._layers[-1].norms[0])
        product = (_padded(of.vocabulary), of.hidden)
        yield from self._product(work.normal, self._head, self._logits, product)

    def _attention(self, layer: Layer) -> gpu.Launches:
        of, work = self._of, self._work
        yield self._normalized(layer.norms[0])
        for weights, out, columns in (
            (layer.query, work.query, of.queries),
            (layer.key, work.key, of.keys),
            (layer.value, work.value, of.keys),
        ):
            yield from self._product(work.normal, weights, out, (_padded(columns), of.hidden))
        half = of.head_dim // 2
        both = Heads(work.query, of.heads, half), Heads(work.key, of.kv_heads, half)
        threads = min(of.heads * half, ROTARY_THREADS)
        yield turn[of.batch, threads](work.positions, work.table, both)
        yield append[of.batch, min(of.keys, APPEND_THREADS)](work.new, layer.cache, of.keys)
        yield attend[(of.heads, of.batch, of.parts), THREADS](layer.cache, work.batch, of)
        if of.partition:
            yield join[(of.heads, of.batch), THREADS](work.batch, of)
        shape = (of.hidden, of.queries)
        yield from self._product(work.attended, layer.output, work.normal, shape)
        yield self._added(work.normal, 1)

    def _network(self, layer: Layer) -> gpu.Launches:
        of, work = self._of, self._work
        yield self._normalized(layer.norms[1])
        if layer.router is None or work.routed is None:
            shape = (2 * of.ffn, of.hidden)
            yield from self._product(work.normal, layer.up, work.wide, shape)
            yield self._activated(of.rows)
            yield from self._product(work.narrow, layer.down, work.normal, (of.hidden, of.ffn))
            yield self._added(work.normal, 1)
            return
        yield from self._product(
            work.normal, layer.router, work.scattered, (_padded(of.experts), of.hidden)
        )
        there, back = work.routed
        yield _by_expert(there, layer.up, _routes(of, there=True))
        yield self._activated(of.batch * of.top_k)
        yield _by_expert(back, layer.down, _routes(of, there=False))
        yield self._added(work.scattered, of.top_k)

    # -- kernels -----------------------------------------------------------------------------------

    def _normalized(self, weight: gpu.DeviceArray[Any]) -> gpu.Launch:
        of, work = self._of, self._work
        threads = min(-(-of.hidden // 32) * 32, NORM_THREADS)
        return normalize[of.batch, threads](work.stream, weight, work.normal, of.hidden)

    def _product(
        self,
        a: gpu.DeviceArray[Any],
        b: gpu.Vectors,
        c: gpu.DeviceArray[Any],
        shape: tuple[int, int],
    ) -> gpu.Launches:
        """C = A B^T; `shape`: columns, and what is summed up."""
        columns, depth = shape
        of = splitk_gemm.GemmParameters(self._of.rows, columns, depth, self._of.splits, TILE)
        pieces = of.m * of.n // splitk_gemm.FLOATS
        partial = self._work.partial
        grid = (of.n // TILE, of.m // TILE, of.splits)
        rows = a.view(vector())
        yield splitk_gemm.multiply[grid, splitk_gemm.THREADS](rows, b, partial, of)
        out = c.view(vector(splitk_gemm.FLOATS * HALF_BYTES))
        yield splitk_gemm.add_up[pieces](partial, out, pieces, of.splits)

    def _activated(self, rows: int) -> gpu.Launch:
        columns = self._of.ffn // IN_A_VECTOR
        wide, narrow = self._work.wide.view(vector()), self._work.narrow.view(vector())
        return activate[rows * columns](wide, narrow, rows * columns, columns)

    def _added(self, source: gpu.DeviceArray[Any], parts: int) -> gpu.Launch:
        columns = self._of.hidden // IN_A_VECTOR
        stream = self._work.stream.view(vector())
        count = self._of.batch * columns
        return add[count](source.view(vector()), stream, parts, columns)

    # -- arrays ------------------------------------------------------------------------------------

    def _vectors(self, name: str, numbers: int) -> gpu.Vectors:
        return self._memory.blank(name, numbers // IN_A_VECTOR, vector())

    def _place_layers(self, seed: int) -> list[Layer]:
        of, memory = self._of, self._memory
        experts = max(of.experts, 1)
        found = []
        caches: Sequence[Cache] = place_caches(memory, of, seed)
        for number, cache in enumerate(caches):

            def weights(name: str, columns: int, depth: int, number: int = number) -> gpu.Vectors:
                return self._vectors(f"{name}_{number}", columns * depth)

            norms = [memory.blank(f"norm_{number}_{n}", of.hidden, np.float16) for n in range(2)]
            found.append(
                Layer(
                    (norms[0], norms[1]),
                    weights("w_q", _padded(of.queries), of.hidden),
                    weights("w_k", _padded(of.keys), of.hidden),
                    weights("w_v", _padded(of.keys), of.hidden),
                    weights("w_o", of.hidden, of.queries),
                    weights("w_up", experts * 2 * of.ffn, of.hidden),
                    weights("w_down", experts * of.hidden, of.ffn),
                    weights("router", _padded(of.experts), of.hidden) if of.experts else None,
                    cache,
                )
            )
        return found

    def _place_work(self, seed: int) -> Work:
        of, memory = self._of, self._memory

        def halves(name: str, numbers: int) -> gpu.DeviceArray[Any]:
            return memory.blank(name, numbers, np.float16)

        lengths = contexts(of.lengths, of.batch, of.context, seed)
        last = lengths.astype(np.int64) - 1
        slots = self._layers[0].cache.slots(np.arange(of.batch), last)
        places = max(of.rows, of.batch * of.top_k if of.experts else 0)
        rows, joined = of.batch * of.heads, of.batch * of.heads * of.parts
        query = halves("query", of.rows * _padded(of.queries))
        key = halves("key", of.rows * _padded(of.keys))
        value = halves("value", of.rows * _padded(of.keys))
        attended = halves("attended", max(of.rows * of.queries, rows * of.head_dim))
        batch = Batch(
            query,
            memory.allocate("lengths", lengths),
            halves("parts", joined * of.head_dim),
            memory.blank("largest", joined, np.float32),
            memory.blank("sums", joined, np.float32),
            attended,
        )
        normal = halves("normal", of.rows * of.hidden)
        narrow = halves("narrow", places * of.ffn)
        wide = halves("wide", 2 * places * of.ffn)
        scattered = halves("scattered", places * of.hidden)
        most = max(2 * of.ffn, of.hidden, _padded(of.vocabulary), _padded(of.queries))
        size = of.splits * of.rows * most // splitk_gemm.FLOATS
        return Work(
            halves("stream", of.rows * of.hidden),
            normal,
            query,
            key,
            value,
            attended,
            wide,
            narrow,
            scattered,
            memory.blank("partial", size, gpu.FLOAT4),
            batch,
            memory.allocate("positions", last),
            halves("rotary", of.context * of.head_dim),
            NewTokens(key, value, memory.allocate("slots", slots)),
            self._route((normal, wide), (narrow, scattered), seed) if of.experts else None,
        )

    def _route(
        self,
        there: tuple[gpu.DeviceArray[Any], gpu.DeviceArray[Any]],
        back: tuple[gpu.DeviceArray[Any], gpu.DeviceArray[Any]],
        seed: int,
    ) -> tuple[moe_gather.Routed, moe_gather.Routed]:
        """Tokens by expert: from the stream to the wide array, and back; the same in all layers."""
        of, memory = _routes(self._of, there=True), self._memory
        places, owners, count = moe_gather.sorted_places(of, moe_gather.routes(of, seed))
        shared = (
            memory.allocate("count", np.array([count], dtype=np.int32)),
            memory.allocate("places", places),
            memory.allocate("experts", owners),
        )
        up, down = (
            moe_gather.Routed(source.view(vector()), *shared, out.view(vector()))
            for source, out in (there, back)
        )
        return up, down


def _padded(columns: int) -> int:
    """Columns of whole tiles."""
    return -(-columns // TILE) * TILE


def _routes(of: StepParameters, *, there: bool) -> moe_gather.MoeParameters:
    """A product by experts: of tokens, or of the rows that come of it."""
    if there:
        return moe_gather.MoeParameters(of.batch, of.experts, of.top_k, of.hidden, 2 * of.ffn)
    count = of.batch * of.top_k
    return moe_gather.MoeParameters(count, of.experts, 1, of.ffn, of.hidden)


def _by_expert(
    at: moe_gather.Routed, weights: gpu.Vectors, of: moe_gather.MoeParameters
) -> gpu.Launch:
    """The product of gathered rows with their experts' weights."""
    grid = of.most_tiles * (of.width // moe_gather.COLUMNS)
    return moe_gather.multiply[grid, moe_gather.THREADS](at, weights, of)


@gpu.program("decode_step", StepParameters)
def decode_step(memory: gpu.AddressSpace, parameters: StepParameters, seed: int) -> gpu.Launches:
    """One decode step of a server: a new token of each sequence, through all layers, to its logits.

    Of a layer: rmsnorm; products for query, key and value; rotary embeddings; kv_append;
    paged_decode; the output's product, and its sum with the stream; rmsnorm; the feed-forward
    network's products with the activation between them, or each token's experts' (Jiang et al.,
    "Mixtral of Experts", 2024); their sum with the stream.  After the last layer rmsnorm and the
    product with the vocabulary.  Kernels are those of vLLM and CUTLASS that the programs of these
    names have; query, key and value are products of their own (vLLM joins them), and what GPUs
    exchange between them is left out.  Nothing has contents but contexts, block tables and routes.

    Arrays in the order block_table (paged); of each layer its cache; then norms, w_q, w_k, w_v,
    w_o, w_up, w_down and router of each layer, lm_head, and what all layers work with.
    """
    earlier = parameters.earlier
    with nullcontext() if earlier is None else memory.pool(earlier, seed):
        step = _Step(memory, parameters, seed)
    yield from step.launches()
