"""sad: sums of absolute differences of a video frame's blocks over a search window."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.lane_record import Lanes
from gpusim.programs.tracer import BlockTracer, Shape

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

Pixels = DeviceArray[np.uint16]


@define(kw_only=True, eq=False)
class SadKernel(Kernel):
    """A kernel on the results: for each shape, macroblock and block of it `PADDED` 16-bit sums.

    Attributes:
        across, down: macroblocks of the frame.
    """

    across: int
    down: int

    def row(self, shape: str, macroblock: int, index: Lanes | int) -> Lanes | int:
        """Where the sums of a block begin."""
        before = BEFORE[shape] * self.across * self.down
        return (before + macroblock * COUNT[shape] + index) * PADDED


@define(kw_only=True, eq=False)
class SadSmall(SadKernel):
    """The 1089 sums of one 4 x 4 block: 18 positions a thread, 61 threads.

    For each position, four times {4 x (texture L of the reference, L of the frame, the same for
    all lanes), 21 instructions}, S sum (16 bits; neighbouring threads are 36 bytes apart).  The
    texture clamps at the borders of the frame.  Of the 21 instructions, 12 add up differences, 6
    make the texture's coordinates and 3 are the loop's.  Loads of a row of pixels are issued
    together, and registers are our choice.

    Attributes:
        frame, reference: (height, width) pixels.
        sums: results, of 16 bits.
    """

    frame: Pixels
    reference: Pixels
    sums: Pixels
    name: str = "mb_sad_calc"
    registers_per_thread: int = 24
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        width, height = MACROBLOCK * self.across, MACROBLOCK * self.down
        macroblock = k.by // 4 * self.across + k.bx // 4
        first = self.row("4x4", macroblock, k.by % 4 * 4 + k.bx % 4)
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
                    there = k.load(self.reference, row + np.clip(x + shift_x, 0, width - 1), where)
                    pairs.append((there, k.load(self.frame, y * width + x, where)))
                k.wait(0, where)
                k.compute(21, where)
                for there, here in pairs:
                    total += np.abs(there.astype(np.int64) - here)
            k.store(self.sums, first + position, total.astype(np.uint16), where)
            yield


@define(kw_only=True, eq=False)
class SadJoin(SadKernel):
    """Sums of larger blocks from four smaller ones, two sums a word: 17 words a thread.

    An 18th turn with 4 lanes joins the last position's.  In each turn, 4 x L, 26 instructions (5
    sums, two for each of nine addresses, the loop), 5 x S, coalesced along x; rows of sums are 2192
    bytes apart.  Registers are our choice.

    Attributes:
        words: the results as 32-bit words.
        small, wide, tall, large: shapes of the four, of two beside, of two above each other, of
            all.
    """

    words: DeviceArray[np.uint32]
    small: str
    wide: str
    tall: str
    large: str
    registers_per_thread: int = 20
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        macroblock = k.by * self.across + k.bx
        side = 4 if self.small == "4x4" else 2  # small blocks of a macroblock's side
        corner_y, corner_x = 2 * (k.ty // 2), 2 * (k.ty % 2)
        small = [
            self.row(self.small, macroblock, (corner_y + dy) * side + corner_x + dx)
            for dy in (0, 1)
            for dx in (0, 1)
        ]
        joined = [
            self.row(shape, macroblock, 2 * k.ty + part)
            for shape in (self.wide, self.tall)
            for part in (0, 1)
        ]
        joined.append(self.row(self.large, macroblock, k.ty))
        k.compute(20)
        for step in range(-(-POSITIONS // 64)):
            word = 32 * step + k.tx
            where = word < PADDED // 2
            a, b, c, d = (k.load(self.words, start // 2 + word, where) for start in small)
            k.wait(0, where)
            k.compute(26, where)
            values = (a + b, c + d, a + c, b + d, a + b + c + d)
            for start, value in zip(joined, values, strict=True):
                k.store(self.words, start // 2 + word, value, where)
            yield


@frozen
class SadParameters:
    """Parameters of sad.

    Attributes:
        width, height: of the frames, multiples of 16 (the suite: 176 x 144, and 1920 x 1072).
    """

    width: int = field(default=176, validator=[ge(16), le(8192)])
    height: int = field(default=144, validator=[ge(16), le(8192)])

    def __attrs_post_init__(self) -> None:
        for name in ("width", "height"):
            if getattr(self, name) % MACROBLOCK:
                raise ValueError(f"'{name}' must be a multiple of 16: {getattr(self, name)}")


@program("sad", SadParameters)
class Sad(Program):
    """One frame against another: 4 x 4 blocks, then 8 x 8 and smaller, then 16 x 16 and smaller.

    Arrays in the order frame, reference, sums.  The frames are noise of 8 bits, the second shifted
    by (3, 2) pixels against the first (our choice); addresses do not depend on it.
    """

    def __init__(self, parameters: SadParameters, seed: int) -> None:
        super().__init__("sad")
        rng = np.random.default_rng(seed)
        size = (parameters.height, parameters.width)
        noise: NDArray[np.uint16] = rng.integers(0, 256, size, dtype=np.uint16)
        self.across, self.down = size[1] // MACROBLOCK, size[0] // MACROBLOCK
        self.frame = self.memory.allocate("frame", noise)
        self.reference = self.memory.allocate("reference", np.roll(noise, (2, 3), axis=(0, 1)))
        room = 41 * self.across * self.down * PADDED
        self.sums = self.memory.allocate("sums", np.zeros(room, dtype=np.uint16))
        self.words = DeviceArray(
            "sums", self.sums.data.view(np.uint32), self.sums.base, 4, room // 2
        )

    def launches(self) -> Iterator[Launch]:
        across, down = self.across, self.down
        threads = -(-POSITIONS // POSITIONS_PER_THREAD)
        yield SadSmall(
            shape=Shape((4 * across, 4 * down, 1), (threads, 1, 1)),
            across=across,
            down=down,
            frame=self.frame,
            reference=self.reference,
            sums=self.sums,
        )
        yield SadJoin(
            name="larger_sad_calc_8",
            shape=Shape((across, down, 1), (32, 4, 1)),
            across=across,
            down=down,
            words=self.words,
            small="4x4",
            wide="8x4",
            tall="4x8",
            large="8x8",
        )
        yield SadJoin(
            name="larger_sad_calc_16",
            shape=Shape((across, down, 1), (32, 1, 1)),
            across=across,
            down=down,
            words=self.words,
            small="8x8",
            wide="16x8",
            tall="8x16",
            large="16x16",
        )
