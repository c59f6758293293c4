"""fdtd3d: finite differences of order 8 on a volume, plane by plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

RADIUS = 4
WIDTH = 32
"""Columns of a block."""
PADDING = 128 // 4 - RADIUS
"""Words in front of a volume, so that the inner part of each row begins at a line."""

COEFFICIENTS = (0.1,) * (RADIUS + 1)
"""Weights by distance, as in the sample."""


def tile_bytes(block_height: int) -> int:
    """Shared memory of a block: its tile with a halo on all sides."""
    return 4 * (WIDTH + 2 * RADIUS) * (block_height + 2 * RADIUS)


@gpu.kernel("FiniteDifferencesKernel", registers=40, shared=tile_bytes, in_step=True)
def advance(
    k: gpu.BlockTracer,
    source: gpu.Floats,
    result: gpu.Floats,
    size: tuple[int, int, int],
    block_height: int,
) -> gpu.Steps:
    """One time step: a block marches along z with a tile of columns, 32 along x, by the lanes.

    Before the march: 8 loads, a plane apart.  For each plane: L the plane 4 ahead; barrier; the
    threads with ty < 4 load the halo rows before and behind, those with tx < 4 the halo columns
    (2 loads each); all in shared memory; barrier; 16 shared loads and 25 FMA (the 8 values along z
    are in registers), 10 more for two addresses and their step to the next plane (the loop is
    unrolled); S.  Coefficients lie in constant memory: no traffic.  Registers are our choice.
    Volumes have a halo of 4 on all sides, after `PADDING` words.
    """
    width, height, depth = size
    x, y = WIDTH * k.bx + k.tx, block_height * k.by + k.ty
    pitch = width + 2 * RADIUS
    plane = pitch * (height + 2 * RADIUS)
    readable = (x < width + RADIUS) & (y < height + RADIUS)
    inside = (x < width) & (y < height)
    column = PADDING + (y + RADIUS) * pitch + x + RADIUS
    k.compute(20)
    for z in range(2 * RADIUS):
        k.load(source, column + z * plane, readable)
    for z in range(depth):
        here = column + (z + RADIUS) * plane
        k.load(source, here + RADIUS * plane, readable)
        k.barrier()
        _load_halo(k, source, here, pitch, readable)
        k.wait()
        k.shared(1)
        k.barrier()
        k.shared(1, times=4 * RADIUS)
        k.compute(35)
        k.store(result, here, _value(source.data, here, (1, pitch, plane), inside), inside)
        yield


def _load_halo(
    k: gpu.BlockTracer, source: gpu.Floats, here: gpu.Lanes, pitch: int, readable: gpu.Mask
) -> None:
    """The rows and columns around the block's tile."""
    rows = readable & (k.ty < RADIUS)
    columns = readable & (k.tx < RADIUS)
    for where, step in (
        (rows, -RADIUS * pitch),
        (rows, k.shape.block[1] * pitch),
        (columns, -RADIUS),
        (columns, WIDTH),
    ):
        there = here + step
        k.load(source, there, where & (there < source.length))
        k.shared(1, where)


def _value(
    data: NDArray[np.float32], here: gpu.Lanes, steps: tuple[int, int, int], inside: gpu.Mask
) -> NDArray[np.float32]:
    """The weighted sum of each point and its 24 neighbours; 0 outside."""
    at = here[inside]
    total = COEFFICIENTS[0] * data[at]
    for distance in range(1, RADIUS + 1):
        for step in steps:
            pair = data[at - distance * step] + data[at + distance * step]
            total = total + COEFFICIENTS[distance] * pair
    value = np.zeros(len(here), dtype=np.float32)
    value[inside] = total
    return value


@gpu.program("fdtd3d")
def fdtd3d(
    memory: gpu.AddressSpace,
    seed: int,
    width: int = gpu.number(376, 1, 1024),
    height: int = gpu.number(376, 1, 1024),
    depth: int = gpu.number(376, 1, 1024),
    steps: int = gpu.number(5),
    block_height: int = gpu.choice(16, (8, 16)),
) -> gpu.Launches:
    """Time steps from one volume into the other, in turn.

    Both volumes begin with the same random values, halo included, in the order in, out.

    Parameters:
        width, height, depth: points in each direction (the sample: up to 376 each).
        steps: time steps (the sample: 5).
        block_height: rows of a block, 8 or 16 (the sample: what registers allow, up to 16).
    """
    size = width, height, depth
    words = PADDING + int(np.prod([points + 2 * RADIUS for points in size]))
    values = np.random.default_rng(seed).random(words, dtype=np.float32)
    source, result = (memory.allocate(name, values) for name in ("in", "out"))
    grid = -(-width // WIDTH), -(-height // block_height)
    for _ in range(steps):
        yield advance[grid, (WIDTH, block_height)](source, result, size, block_height)
        source, result = result, source
