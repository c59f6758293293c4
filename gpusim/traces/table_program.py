"""A warp's program, made of the memory instructions that a table has of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gpusim.core.warp_program import SECTOR_BYTES, Op
from gpusim.traces.code_lines import CodePath
from gpusim.traces.warps import WarpTrace

NO_LIMIT = 15
"""The largest vmcnt of GCN: it limits nothing."""

ScalarAccess = tuple[int, NDArray[np.int64]]
"""When a scalar access was issued, and the sectors that it reads."""


class WaveProgram:
    """The program of a wavefront under construction, instruction by instruction.

    Waits and barriers come right after the access before them, arithmetic after both
    [our choice: tables do not state it].

    Args:
        warp: gets the operations.
        paced: whether it keeps to the times of the table, which arithmetic is a part of.
        lead: cycles by which the launch began earlier than its first vector access.
        scalars: its scalar accesses by place in the program; others are arithmetic.
        code: its way through the code; None: not needed.
    """

    def __init__(
        self,
        warp: WarpTrace,
        paced: bool,
        lead: int,
        scalars: Mapping[int, ScalarAccess],
        code: CodePath | None,
    ) -> None:
        self._warp = warp
        self._paced = paced
        self._lead = lead
        self._scalars = scalars
        self._code = code
        self._issued = 0
        self._last_vector = 0
        self._loads: list[int] = []
        """Loads that had been issued before each vector instruction."""

    def before(self, index: int, wait: int, barriers: int, scalar: bool) -> None:
        """What comes before the memory instruction at this place of the program."""
        warp = self._warp
        vector = len(self._loads)
        if wait < min(NO_LIMIT, vector) or (not wait and warp.loads):
            warp.add(Op.WAIT, warp.loads - self._loads[vector - wait] if wait else 0)
        for _ in range(barriers):
            warp.add(Op.BARRIER, 0)
        arithmetic = index - self._issued - barriers
        self._compute(arithmetic + (scalar and index not in self._scalars))
        self._issued = index + 1

    def vector(self, index: int, place: int, op: Op, lanes: NDArray[np.int64], time: int) -> None:
        """A vector access, after what is `before` it."""
        if self._code is not None:
            self._code.jump(place, index - self._last_vector)
            self._last_vector = index
        self._pace(time)
        self._loads.append(self._warp.loads)
        self._warp.access(place, op, lanes.tolist(), SECTOR_BYTES)

    def scalar(self, index: int) -> None:
        """Add a scalar access, if scalar accesses are asked for."""
        if index in self._scalars:
            time, sectors = self._scalars[index]
            self._pace(time)
            self._warp.access(0, Op.SCALAR, sectors.tolist(), SECTOR_BYTES)

    def end(self, instructions: int) -> None:
        """End the program, which has `instructions` instructions; 0: not known."""
        if self._code is not None:
            self._code.run_on(instructions - 1 - self._last_vector)
        self._compute(instructions - self._issued)

    def _compute(self, count: int) -> None:
        if count > 0 and not self._paced:
            self._warp.add(Op.COMPUTE, count)

    def _pace(self, time: int) -> None:
        if self._paced and time + self._lead > 0:
            self._warp.add(Op.PACE, time + self._lead)
