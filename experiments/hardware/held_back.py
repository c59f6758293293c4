"""How the kernels of `kernels/held_back.py` are started, and the sizes that were measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from experiments.hardware.kernels import held_back, inputs
from gpusim.core.warp_program import Launch
from gpusim.programs import writing as gpu

KI = 1 << 10
ROWS = 256 * KI
"""Rows of the embedding table, of 128 bytes."""


def _vectors(memory: gpu.AddressSpace, *lengths: int) -> list[gpu.Vectors]:
    return [memory.blank(f"array{i}", n // 4, gpu.FLOAT4) for i, n in enumerate(lengths)]


def _floats(memory: gpu.AddressSpace, count: int, n: int) -> list[gpu.Floats]:
    return [memory.blank(f"array{i}", n, np.float32) for i in range(count)]


def _softmax(memory: gpu.AddressSpace, rows: int) -> Launch:
    return held_back.softmax[rows, 256](*_vectors(memory, rows * KI, rows * KI))


def _layer_norm(memory: gpu.AddressSpace, rows: int) -> Launch:
    a, weight, b = _vectors(memory, rows * 512, 512, rows * 512)
    return held_back.layer_norm[rows // 8, 256](a, weight, b)


def _stencil_planes(memory: gpu.AddressSpace, n: int) -> Launch:
    a, b = _floats(memory, 2, (n + 2) ** 3)
    grid = (n // 32, n // 8, n // 16)
    return held_back.stencil_planes[grid, (32, 8)](a, b, n, 16)


def _bitonic_blocks(memory: gpu.AddressSpace, n: int) -> Launch:
    return held_back.bitonic_blocks[n // KI, 512](memory.blank("words", n, np.uint32))


def _merge(memory: gpu.AddressSpace, n: int) -> Launch:
    halves = np.sort(inputs.mixed(np.arange(2 * n)).reshape(2, n), axis=1)
    a, b = (memory.read_only(name, half) for name, half in zip("ab", halves, strict=True))
    return held_back.merge[n // 4](a, b, memory.blank("out", 2 * n, np.uint32), n)


def _embedding_bag(memory: gpu.AddressSpace, bags: int) -> Launch:
    index = (inputs.mixed(np.arange(16 * bags)) % np.uint32(ROWS)).astype(np.int32)
    table = memory.blank("table", ROWS * 32, np.float32)
    out = memory.blank("out", bags * 32, np.float32)
    return held_back.embedding_bag[bags * 32](memory.read_only("index", index), table, out)


def _kmeans(memory: gpu.AddressSpace, n: int) -> Launch:
    points = memory.blank("points", 8 * n, np.float32)
    (centres,) = _vectors(memory, 128)
    nearest = memory.blank("nearest", n, np.int32)
    return held_back.kmeans[n // 256, 256](points, centres, nearest, n)


def _black_scholes(memory: gpu.AddressSpace, n: int) -> Launch:
    return held_back.black_scholes[n](*_floats(memory, 5, n))


def _nbody(memory: gpu.AddressSpace, n: int) -> Launch:
    bodies, forces = _vectors(memory, 4 * n, 4 * n)
    return held_back.nbody[n // 256, 256](bodies, forces, n)


HELD_BACK: Mapping[str, tuple[Callable[[gpu.AddressSpace, int], Launch], tuple[int, ...]]] = {
    "softmax": (_softmax, (KI,)),
    "layer_norm": (_layer_norm, (2 * KI,)),
    "stencil_planes": (_stencil_planes, (64,)),
    "bitonic_blocks": (_bitonic_blocks, (128 * KI,)),
    "merge": (_merge, (128 * KI,)),
    "embedding_bag": (_embedding_bag, (4 * KI,)),
    "kmeans": (_kmeans, (128 * KI,)),
    "black_scholes": (_black_scholes, (256 * KI,)),
    "nbody": (_nbody, (KI, 4 * KI)),
}
"""By name, as `KERNELS` of `real_kernels`."""
