"""Which lines of code a warp goes through, by the program counters of a trace."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.core.warp_program import SECTOR_BYTES, Op
from gpusim.traces.warps import WarpTrace

CODE_LINE = 64
"""Bytes of code that are followed as one."""

CODE_BASE = 0x9000_0000_0000
"""Where code lies whose trace has no virtual addresses of it (our choice): above all user
addresses, and below local memory."""

KERNEL_BYTES = 1 << 24
"""Room for the code of a kernel there."""

_SECTORS = np.arange(0, CODE_LINE, SECTOR_BYTES)
_PAGE_BYTES = 4096
_MEAN_BYTES = 6
"""Mean bytes of an instruction of GCN, which has 4 or 8."""


class CodePath:
    """The way of one warp through its code; it waits for each line that it goes to.

    Args:
        warp: gets the fetches.
    """

    def __init__(self, warp: WarpTrace) -> None:
        self._warp = warp
        self._at = -1
        self._line = -1

    def step(self, address: int) -> None:
        """The next instruction is this one."""
        line = address // CODE_LINE
        if line != self._line:
            self._go(np.array([line]), address)

    def jump(self, address: int, instructions: int) -> None:
        """Go to the next instruction in the trace, `instructions` after the one before.

        In between the warp is taken to have gone through all lines or, if it issued fewer
        instructions than these hold, through as many lines in equal distances; after a jump back,
        through none; at its begin, straight on from no further than the begin of the 4 KiB page
        [our choice: programs begin at pages].
        """
        begin = self._at
        if begin < 0:
            begin = max(address - _MEAN_BYTES * instructions, address - address % _PAGE_BYTES)
        self._at = address
        first, last = min(begin, address) // CODE_LINE, address // CODE_LINE
        if begin > address:
            first = last
        span = last - first + 1
        count = min(span, _MEAN_BYTES * instructions // CODE_LINE + 1)
        # The last of them is where the instruction is.
        lines = last - np.arange(count)[::-1] * span // count
        self._go(lines[1:] if lines[0] == self._line else lines, address)

    def run_on(self, instructions: int) -> None:
        """Go straight on for `instructions` after the last one in the trace [our choice]."""
        if self._at >= 0 and instructions > 0:
            last = (self._at + _MEAN_BYTES * instructions) // CODE_LINE
            self._go(np.arange(self._line + 1, last + 1), self._at)

    def _go(self, lines: NDArray[np.int64], place: int) -> None:
        if len(lines):
            self._line = int(lines[-1])
            sectors = (lines[:, None] * CODE_LINE + _SECTORS).ravel()
            self._warp.access(place, Op.FETCH, sectors.tolist(), SECTOR_BYTES)


class CodePlaces:
    """Where the code of each kernel lies, side by side, by its name."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def of(self, kernel: str) -> int:
        """The first address of a kernel's code."""
        return self._known.setdefault(kernel, CODE_BASE + len(self._known) * KERNEL_BYTES)
