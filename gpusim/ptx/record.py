"""What threads have executed and not handed over, as chunks for the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.bank_conflicts import BANKS, WORD_BYTES, bank_passes
from gpusim.core.code_places import NO_PLACE
from gpusim.core.warp_program import (
    INACTIVE,
    LEAST_SHIFT,
    NOTHING_ASKED,
    Asked,
    LaneChunk,
    Op,
)
from gpusim.programs.tracer import LANES_PER_CHUNK
from gpusim.ptx.copy_groups import CopyGroups, Warps
from gpusim.ptx.syntax import Instruction
from gpusim.traces.lanes import interleave_local
from gpusim.traces.warps import WAITED_FOR

WARP = 32
"""Threads of a warp of NVIDIA's GPUs."""

Lanes: TypeAlias = NDArray[np.int64]

_MOST_PASSES = 512
"""Accesses to shared memory whose passes are remembered: loops repeat them."""

_ROWS = 4096
"""Rows after which a record is handed over, however few lanes they have."""


@frozen(eq=False)
class Threads:
    """The threads of some blocks of a launch, one block's after another's, in whole warps.

    Attributes:
        count: lanes of all warps.
        number: (count,) int64, of each thread in its grid.
        total: threads of the grid.
    """

    count: int
    number: Lanes
    total: int

    @property
    def warps(self) -> int:
        """Warps of all blocks."""
        return self.count // WARP


class Record:
    """Records instructions in their order.

    Args:
        threads: that execute them.
        asked: operations that are asked for.
        number_of: by instruction, the number of its place in the code; None: not asked for.

    Attributes:
        loads: (warps,) loads and atomics of each warp so far.
        copies: groups of copies that go on beside their warps.
        made_by: of the chunk handed over last, the instruction of each of its accesses.
    """

    def __init__(
        self,
        threads: Threads,
        asked: Asked = NOTHING_ASKED,
        number_of: Callable[[Instruction], int] | None = None,
    ) -> None:
        self._threads = threads
        self._number_of = number_of
        self._follows_shared = Op.SHARED_LOAD in asked
        self._constants = Op.CONSTANT in asked
        self.asked = asked
        self.loads: Lanes = np.zeros(threads.warps, np.int64)
        self._waited: Lanes = np.zeros(threads.warps, np.int64)
        """Loads of each warp that it has waited for."""
        self.copies = CopyGroups(threads.warps)
        self._passes: dict[tuple[bytes, int, bool], tuple[Lanes, Warps]] = {}
        self._now: Instruction | None = None
        self.made_by: list[Instruction | None] = []
        self._clear()

    def _clear(self) -> None:
        self._kind: list[int] = []
        self._arg: list[int] = []
        self._active: list[Warps] = []
        self._address: list[Lanes] = []
        self._size: list[int] = []
        self._made_by: list[Instruction | None] = []
        self._lanes = 0

    @property
    def full(self) -> bool:
        """Whether so much is recorded that it should be handed over."""
        return self._lanes >= LANES_PER_CHUNK or len(self._kind) >= _ROWS

    # -- instructions ------------------------------------------------------------------------------

    def plain(self, op: int, argument: int, warps: Warps) -> None:
        """An operation that accesses no memory; arithmetic in a row becomes one."""
        if (
            op == Op.COMPUTE
            and self._kind
            and self._kind[-1] == Op.COMPUTE
            and (self._active[-1] is warps or bool((self._active[-1] == warps).all()))
        ):
            self._arg[-1] += argument
            return
        self._kind.append(int(op))
        self._arg.append(argument)
        self._active.append(warps)

    def by_argument(self, op: int, arguments: Lanes, warps: Warps) -> None:
        """An operation with an argument of its own for each warp; (warps,) arguments."""
        some = arguments[warps]
        low, high = int(some.min()), int(some.max())
        if low == high:
            self.plain(op, low, warps)
            return
        for argument in np.unique(some).tolist():
            self.plain(op, argument, warps & (arguments == argument))

    def access(self, op: int, lanes: Lanes | None, address: Any, size: int) -> Warps:
        """An access to global memory.

        Args:
            op: LOAD, STORE, ATOMIC, REDUCE, COHERENT_LOAD or a side operation.
            lanes: which threads, at least one; None: all.
            address: (lanes,) byte addresses, or one of all.
            size: bytes of each.

        Returns:
            the warps that take part.
        """
        placed = self._placed(lanes, address)
        return self._row(op, placed.reshape(-1, WARP), size)

    def local(self, op: int, lanes: Lanes | None, address: Any, size: int) -> Warps:
        """An access to local memory, whose words lie side by side for all threads."""
        placed = self._placed(lanes, address)
        threads = self._threads
        spread, piece = interleave_local(placed, size, threads.number, threads.total)
        return self._row(op, spread.reshape(threads.warps, -1), piece)

    def shared(self, op: Op, lanes: Lanes | None, address: Any, size: int) -> Warps:
        """An access to shared memory, at addresses in the block's own."""
        placed = self._placed(lanes, address)
        key = (placed.tobytes(), size, op in {Op.ATOMIC, Op.REDUCE})
        found = self._passes.get(key)
        if found is None:
            if len(self._passes) == _MOST_PASSES:
                self._passes.clear()
            found = self._passes[key] = _passes(placed.reshape(-1, WARP), size, key[2])
        argument, warps = found
        recorded = Op.SHARED
        if self._follows_shared:
            recorded = Op.SHARED_LOAD if op in {Op.LOAD, Op.ATOMIC} else Op.SHARED_STORE
        self.by_argument(recorded, argument, warps)
        self._count(recorded, warps)
        return warps

    def constant(self, lanes: Lanes | None, address: Any, size: int) -> Warps:
        """A load of constants; arithmetic for machines that do not ask for them."""
        placed = self._placed(lanes, address).reshape(-1, WARP)
        if self._constants:
            return self._row(Op.CONSTANT, placed, size)
        warps: Warps = (placed != INACTIVE).any(axis=1)
        self.plain(Op.COMPUTE, 1, warps)
        return warps

    def pieces(self, op: int, warp: int, address: Lanes, size: int) -> None:
        """A copy that one thread issues: (pieces,) addresses, of any number."""
        rows = -(-len(address) // WARP)
        for row in range(rows):
            placed = np.full((self._threads.warps, WARP), INACTIVE)
            part = address[row * WARP : (row + 1) * WARP]
            placed[warp, : len(part)] = part
            self._row(op, placed, size)

    def _placed(self, lanes: Lanes | None, address: Any) -> Lanes:
        """(threads,) addresses, `INACTIVE` where a thread takes no part."""
        if lanes is None:
            if np.ndim(address):
                return np.asarray(address)
            return np.full(self._threads.count, address)
        placed = np.full(self._threads.count, INACTIVE)
        placed[lanes] = address
        return placed

    def _row(self, op: int, address: Lanes, size: int) -> Warps:
        warps: Warps = (address != INACTIVE).any(axis=1)
        self._kind.append(int(op))
        self._arg.append(0)
        self._active.append(warps)
        self._address.append(address)
        self._size.append(size)
        self._made_by.append(self._now)
        self._lanes += address.size
        self._count(op, warps)
        return warps

    def _count(self, op: int, warps: Warps) -> None:
        if op in WAITED_FOR:
            self.loads += warps

    def marked(self, one: Instruction) -> None:
        """The accesses that follow are those of an instruction."""
        self._now = one

    # -- waits -------------------------------------------------------------------------------------

    def wait(self, needed: Lanes, warps: Warps) -> None:
        """Wait for loads.

        Args:
            needed: (warps,) number of the last load that each warp waits for, from 1 on; 0: none.
            warps: which of them come by.
        """
        waits = warps & (needed > self._waited)
        if waits.any():
            self.by_argument(Op.WAIT, self.loads - needed, waits)
            self._waited = np.where(waits, needed, self._waited)

    # -- handing over ------------------------------------------------------------------------------

    def take(self) -> LaneChunk | None:
        """Hand over all that was recorded since the last call; None: nothing was."""
        if not self._kind:
            return None
        warps = self._threads.warps
        width = max((one.shape[1] for one in self._address), default=0)
        if self._address and all(one.shape[1] == width for one in self._address):
            address = np.stack(self._address)
        else:
            address = np.full((len(self._address), warps, width), INACTIVE)
            for row, one in enumerate(self._address):
                address[row, :, : one.shape[1]] = one
        chunk = LaneChunk(
            np.array(self._kind, np.uint8),
            np.array(self._arg, np.int64),
            np.array(self._active, bool),
            address,
            np.array(self._size, np.int64),
            self._places(),
        )
        self.made_by = self._made_by
        self._clear()
        return chunk

    def _places(self) -> Lanes | None:
        """(accesses,) numbers of their places in the code."""
        number_of = self._number_of
        if number_of is None:
            return None
        made_by = self._made_by
        return np.array([NO_PLACE if one is None else number_of(one) for one in made_by], np.int64)


def _passes(address: Lanes, size: int, atomic: bool) -> tuple[Lanes, Warps]:
    """Arguments of shared-memory accesses, by warps, and which warps take part."""
    passes = bank_passes(address, max(size, 1), not atomic)
    least = -(-np.count_nonzero(address != INACTIVE, axis=1) * size // (BANKS * WORD_BYTES))
    least = np.minimum(np.maximum(least, 1), passes)
    argument = passes | np.where(least > 1, least << LEAST_SHIFT, 0)
    return argument, (address != INACTIVE).any(axis=1)
