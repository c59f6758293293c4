"""A thread block under construction from the warp instructions of a trace of SASS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from gpusim.core.bank_conflicts import least_passes
from gpusim.core.code_places import NO_PLACE, CodePlace
from gpusim.core.untrusted import brief
from gpusim.core.warp_program import (
    INACTIVE,
    LEAST_SHIFT,
    NOTHING_ASKED,
    Asked,
    LaneChunk,
    Op,
)
from gpusim.traces.application import ADDRESS_BITS, MOST_ACCESS_BYTES, TraceLaunch
from gpusim.traces.code_lines import CODE_BASE, KERNEL_BYTES, CodePath
from gpusim.traces.lanes import interleave_local, shared_passes
from gpusim.traces.memory_budget import Room
from gpusim.traces.sass import Space
from gpusim.traces.warps import WarpTrace, chunks_of

WARP_SIZE = 32
"""Threads of a warp of NVIDIA's GPUs."""

CONSTANT_BASE = 0x8800_0000_0000
"""Where constants lie (our choice): above all user addresses, and below code."""

_CONSTANT_BYTES = 1 << 24

_COMPUTE: Final = int(Op.COMPUTE)


class BlockTrace:
    """What the warps of one thread block did.

    Args:
        launch: of the block.
        number: of the block in the grid.
        asked: operations that are asked for.
        code: where the kernel's code lies.

    Attributes:
        number: of the block in the grid.
        warps: one a warp of the block; a warp that does not appear in the trace does nothing.
        follows_code: whether `reach` is to be called for each instruction.
        code_places: where in the code accesses stand, by their places, if that is asked for.
        unread: counts what is not honoured.
    """

    def __init__(
        self,
        launch: TraceLaunch,
        number: int,
        asked: Asked = NOTHING_ASKED,
        code: int = CODE_BASE,
    ) -> None:
        room = Room()
        self.number = number
        self.warps = [WarpTrace(room) for _ in range(launch.warps_per_block)]
        self.asked = asked
        self.follows_code = Op.FETCH in asked
        self.code_places: dict[int, CodePlace] = {}
        self._code = code
        self._paths = [CodePath(warp) for warp in self.warps]
        self.unread = launch.unread
        self._idle = launch.idle_accesses
        self._numbers = launch.places
        self._first_thread = number * launch.threads_per_block
        self._threads = launch.blocks * launch.threads_per_block

    def reach(self, warp: int, counter: int) -> None:
        """A warp comes to the instruction at this program counter, counted in its kernel."""
        self._paths[warp].step(self._code + counter % KERNEL_BYTES)

    def access(
        self, warp: int, place: int, space: Space, op: int, address: list[int], size: int
    ) -> None:
        """A memory instruction.

        Args:
            warp: number of the warp in the block.
            place: program counter, or anything by which warps meet (see `chunks_of`).
            space: generic counts as global.
            op: LOAD, STORE, ATOMIC, REDUCE, or READ_ONLY if that is asked for.
            address: 32 byte addresses, `INACTIVE` where a lane takes no part; one does.  Of a
                copy in bulk as many as it has pieces.
            size: bytes a lane.

        Raises:
            ValueError: no lane can access as much, or there.
        """
        if space is Space.SHARED:
            self.share(warp, op, self.passes_of_shared(op, address, size))
            return
        _check(address, size)
        if space is Space.LOCAL:
            threads = self._first_thread + warp * WARP_SIZE + np.arange(WARP_SIZE)
            lanes = np.array(address, dtype=np.int64)
            words, size = interleave_local(lanes, size, threads, self._threads)
            address = words.tolist()
        self.warps[warp].access(place, op, address, size)

    def passes_of_shared(self, op: int, address: list[int], size: int) -> int:
        """The argument of an operation for an access to shared memory, as `access` takes it.

        Raises:
            ValueError: no lane can access as much, or there.
        """
        _check(address, size)
        passes = shared_passes(address, size, op == Op.ATOMIC)
        least = least_passes(len(address) - address.count(INACTIVE), size)
        return passes | (min(least, passes) << LEAST_SHIFT if least > 1 else 0)

    def share(self, warp: int, op: int, passes: int) -> None:
        """A warp accesses shared memory, with the argument that `passes_of_shared` gives."""
        self.warps[warp].add(self._shared_op(op), passes)

    def _shared_op(self, op: int) -> Op:
        """The operation of a shared-memory access, as it is asked for."""
        if Op.SHARED_LOAD not in self.asked:
            return Op.SHARED
        return Op.SHARED_LOAD if op in (Op.LOAD, Op.ATOMIC) else Op.SHARED_STORE

    def constant(self, warp: int, place: int, address: list[int], size: int) -> None:
        """A load of constants, which lie in a memory of their own."""
        there = [
            INACTIVE if one == INACTIVE else CONSTANT_BASE + one % _CONSTANT_BYTES
            for one in address
        ]
        self.warps[warp].access(place, Op.CONSTANT, there, size)

    def idle_access(self, warp: int, space: Space) -> None:
        """A memory instruction in which no lane takes part; generic counts as global."""
        counted_space = Space.GLOBAL if space == Space.GENERIC else space
        self._idle[counted_space.value] += 1
        self.warps[warp].add(_COMPUTE, 1)

    def chunks(self) -> Iterator[LaneChunk]:
        """The block's chunks; uses it up."""
        return chunks_of(self.warps, self._number_of if self.asked.places else None)

    def _number_of(self, place: int) -> int:
        found = self.code_places.get(place)
        return NO_PLACE if found is None else self._numbers.number(found)


def _check(address: list[int], size: int) -> None:
    """Refuse what no lane can access.

    Raises:
        ValueError: says what is wrong.
    """
    if size > MOST_ACCESS_BYTES:
        raise ValueError(f"a lane accesses {brief(size)} bytes; at most {MOST_ACCESS_BYTES}")
    if max(address) >> ADDRESS_BITS:
        raise ValueError(f"an address has more than {ADDRESS_BITS} bits")
