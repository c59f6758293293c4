"""sad: sums of absolute differences of a video frame's blocks over a search window."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu

RANGE = 16
WINDOW = 2 * RANGE + 1
POSITIONS = WINDOW * WINDOW
PADDED = 1096
"""Search positions, and the room for them in the results."""

POSITIONS_PER_THREAD = 18
MACROBLOCK = 16

BEFORE = {"16x16": 0, "16x8": 1, "8x16": 3, "8x8": 5, "8x4": 9, "4x8": 17, "4x4": 25}
"""Blocks of a macroblock that lie in the results before those of a shape."""
COUNT = {"16x16": 1, "16x8": 2, "8x16": 2, "8x8": 4, "8x4": 8, "4x8": 8, "4x4": 16}

Pixels = gpu.DeviceArray[np.uint16]


@frozen
class SadParameters:
    """Parameters of sad.

    Attributes:
        width, height: of the frames, multiples of 16 (the suite: 176 x 144, and 1920 x 1072).
    """

    width: int = gpu.number(176, 16, 8192, multiple=MACROBLOCK)
    height: int = gpu.number(144, 16, 8192, multiple=MACROBLOCK)

    @property
    def macroblocks(self) -> tuple[int, int]:
        """Macroblocks of the frame, across and down."""
        return self.width // MACROBLOCK, self.height // MACROBLOCK

    def row(self, shape: str, macroblock: int, index: gpu.Lanes | int) -> gpu.Lanes | int:
        """Where the sums of a block begin, among `PADDED` of each shape, macroblock and block."""
        across, down = self.macroblocks
        before = BEFORE[shape] * across * down
        return (before + macroblock * COUNT[shape] + index) * PADDED


@gpu.kernel("mb_sad_calc", registers=24, in_step=True)
def compare(
    k: gpu.BlockTracer, frame: Pixels, reference: Pixels, sums: Pixels, sizes: SadParameters
) -> gpu.Steps:
    """The 1089 sums of one 4 x 4 block: 18 positions a thread, 61 threads.

    For each position, four times {4 x (texture L of the reference, L of the frame, the same for
    all lanes), 21 instructions}, S sum (16 bits; neighbouring threads are 36 bytes apart).  The
    texture clamps at the borders of the frame.  Of the 21 instructions, 12 add up differences, 6
    make the texture's coordinates and 3 are the loop's.  Loads of a row of pixels are issued
    together, and registers are our choice.
    """
    width, height = sizes.width, sizes.height
    macroblock = k.by // 4 * sizes.macroblocks[0] + k.bx // 4
    first = sizes.row("4x4", macroblock, k.by % 4 * 4 + k.bx % 4)
    k.compute(20)
    for step in range(POSITIONS_PER_THREAD):
        position = POSITIONS_PER_THREAD * k.tid + step
        where = position < POSITIONS
        shift_y, shift_x = position // WINDOW - RANGE, position % WINDOW - RANGE
        total = np.zeros(k.threads, dtype=np.int64)
        for dy in range(4):
            y = 4 * k.by + dy
            row = np.clip(y + shift_y, 0, height - 1) * width
            pairs = []
            for dx in range(4):
                x = 4 * k.bx + dx
                there = k.load(reference, row + np.clip(x + shift_x, 0, width - 1), where)
                pairs.append((there, k.load(frame, y * width + x, where)))
            k.wait(0, where)
            k.compute(21, where)
            for there, here in pairs:
                total += np.abs(there.astype(np.int64) - here)
        k.store(sums, first + position, total.astype(np.uint16), where)
        yield


@frozen
class Shapes:
    """Shapes of blocks that are joined: four, two beside, two above each other, all of them."""

    small: str
    wide: str
    tall: str
    large: str


def join(k: gpu.BlockTracer, words: gpu.Words, shapes: Shapes, sizes: SadParameters) -> gpu.Steps:
    """Sums of larger blocks from four smaller ones, two sums a word: 17 words a thread.

    An 18th turn with 4 lanes joins the last position's.  In each turn, 4 x L, 26 instructions (5
    sums, two for each of nine addresses, the loop), 5 x S, coalesced along x; rows of sums are 2192
    bytes apart.  Registers are our choice.
    """
    macroblock = k.by * sizes.macroblocks[0] + k.bx
    side = 4 if shapes.small == "4x4" else 2  # small blocks of a macroblock's side
    corner_y, corner_x = 2 * (k.ty // 2), 2 * (k.ty % 2)
    small = [
        sizes.row(shapes.small, macroblock, (corner_y + dy) * side + corner_x + dx)
        for dy in (0, 1)
        for dx in (0, 1)
    ]
    joined = [
        sizes.row(shape, macroblock, 2 * k.ty + part)
        for shape in (shapes.wide, shapes.tall)
        for part in (0, 1)
    ]
    joined.append(sizes.row(shapes.large, macroblock, k.ty))
    k.compute(20)
    for step in range(-(-POSITIONS // 64)):
        word = 32 * step + k.tx
        where = word < PADDED // 2
        a, b, c, d = (k.load(words, start // 2 + word, where) for start in small)
        k.wait(0, where)
        k.compute(26, where)
        values = (a + b, c + d, a + c, b + d, a + b + c + d)
        for start, value in zip(joined, values, strict=True):
            k.store(words, start // 2 + word, value, where)
        yield


join_8 = gpu.kernel("larger_sad_calc_8", registers=20, in_step=True)(join)
join_16 = gpu.kernel("larger_sad_calc_16", registers=20, in_step=True)(join)


@gpu.program("sad", SadParameters)
def sad(memory: gpu.AddressSpace, parameters: SadParameters, seed: int) -> gpu.Launches:
    """One frame against another: 4 x 4 blocks, then 8 x 8 and smaller, then 16 x 16 and smaller.

    Arrays in the order frame, reference, sums.  The frames are noise of 8 bits, the second shifted
    by (3, 2) pixels against the first (our choice); addresses do not depend on it.
    """
    across, down = parameters.macroblocks
    size = parameters.height, parameters.width
    noise = np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint16)
    frame = memory.allocate("frame", noise)
    reference = memory.allocate("reference", np.roll(noise, (2, 3), axis=(0, 1)))
    sums = memory.zeros("sums", 41 * across * down * PADDED, np.uint16)
    words = sums.view(np.uint32)
    threads = -(-POSITIONS // POSITIONS_PER_THREAD)
    yield compare[(4 * across, 4 * down), threads](frame, reference, sums, parameters)
    yield join_8[(across, down), (32, 4)](words, Shapes("4x4", "8x4", "4x8", "8x8"), parameters)
    larger = Shapes("8x8", "16x8", "8x16", "16x16")
    yield join_16[(across, down), (32, 1)](words, larger, parameters)
