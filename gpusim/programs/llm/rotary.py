"""rotary: queries and keys are turned by their tokens' positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu

THREADS = 512
"""Most threads of a block."""


@frozen
class Heads:
    """Queries, or keys.

    Attributes:
        array: [tokens, count, head_dim] of 16-bit numbers.
        count: heads.
        half: half of head_dim.
    """

    array: gpu.DeviceArray[Any]
    count: int
    half: int


@gpu.kernel("rotary_embedding", registers=32, in_step=True)
def turn(
    k: gpu.BlockTracer, positions: gpu.Longs, table: gpu.DeviceArray[Any], both: tuple[Heads, Heads]
) -> gpu.Steps:
    """A token a thread block, two numbers of a head at a time a thread: one of each half.

    L position; then for each pair of queries, then of keys: a division, L cosine, L sine, L both
    numbers, four products, S both.  Registers are our choice.

    Takes `positions`, `table` ([positions, cosines then sines]), `both` (queries and keys).
    """
    k.compute(gpu.PROLOGUE)
    position = k.fetch(positions, k.bx)
    for heads in both:
        half = heads.half
        for pair, where in gpu.rounds(k.tid, heads.count * half, k.shape.threads):
            k.arithmetic(gpu.Unit.INTEGER, 12, 8, where)
            first = (k.bx * heads.count + pair // half) * (2 * half) + pair % half
            turned = position * (2 * half) + pair % half
            cosine = k.load(table, turned, where)
            sine = k.load(table, turned + half, where)
            x = k.load(heads.array, first, where)
            y = k.load(heads.array, first + half, where)
            k.wait(0, where)
            k.arithmetic(gpu.Unit.FP32, 4, 2, where)
            k.store(heads.array, first, x * cosine - y * sine, where)
            k.store(heads.array, first + half, y * cosine + x * sine, where)
            yield


@gpu.program("rotary")
def rotary(
    memory: gpu.AddressSpace,
    seed: int,
    tokens: int = gpu.number(2048, 1, 1 << 20),
    heads: int = gpu.number(32, 1, 256),
    kv_heads: int = gpu.number(8, 1, 256),
    head_dim: int = gpu.number(128, 2, 1024, multiple=2),
    context: int = gpu.number(8192, 1, 1 << 20),
) -> gpu.Launches:
    """Rotary embeddings, as vLLM's rotary_embedding_kernel has them (csrc/pos_encoding_kernels.cu).

    Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021.  One launch.
    Arrays in the order positions (random), table, query, key (random numbers of 16 bits).

    Parameters:
        tokens: of the batch.
        heads, kv_heads: of queries and of keys.
        head_dim: numbers of a head.
        context: positions that the table has.
    """
    rng = np.random.default_rng(seed)
    half = head_dim // 2
    positions = memory.allocate("positions", rng.integers(0, context, tokens))
    angles = np.arange(context)[:, None] * 10000.0 ** (-np.arange(half) / half)
    values = np.concatenate((np.cos(angles), np.sin(angles)), axis=1).astype(np.float16)
    table = memory.read_only("table", values)
    both = (
        Heads(_random(memory, "query", rng, tokens * heads * head_dim), heads, half),
        Heads(_random(memory, "key", rng, tokens * kv_heads * head_dim), kv_heads, half),
    )
    yield turn[tokens, min(heads * half, THREADS)](positions, table, both)


def _random(
    memory: gpu.AddressSpace, name: str, rng: np.random.Generator, count: int
) -> gpu.DeviceArray[Any]:
    values = rng.random(count, dtype=np.float32) - np.float32(0.5)
    return memory.allocate(name, values.astype(np.float16))
