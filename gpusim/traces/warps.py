"""Warps that were traced one by one, put together to the chunks of their thread block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gpusim.core.warp_program import INACTIVE, LaneChunk, Op
from gpusim.programs.tracer import LANES_PER_CHUNK
from gpusim.traces.lanes import split_at_sectors
from gpusim.traces.memory_budget import ACCESS_BYTES, PLAIN_BYTES, Room

Plain = tuple[int, int]
"""An operation that accesses no global memory: its `Op` and its argument."""


WAITED_FOR = frozenset(
    {
        Op.LOAD,
        Op.COHERENT_LOAD,
        Op.ATOMIC,
        Op.SCALAR,
        Op.CONSTANT,
        Op.READ_ONLY,
        Op.SHARED_LOAD,
    }
)


class Access:
    """A memory operation of one warp.

    Attributes:
        place: where it stands in the program, such as its program counter; warps of a block that
            are at one place share a row of a chunk.
        op: LOAD, STORE, ATOMIC, REDUCE, or a side operation.
        address: (lanes,) or more byte addresses, none of which crosses a sector.
        size: bytes of each.
    """

    __slots__ = ("address", "op", "place", "size")

    def __init__(self, place: int, op: Op, address: NDArray[np.int64], size: int) -> None:
        self.place = place
        self.op = op
        self.address = address
        self.size = size

    @property
    def row(self) -> tuple[int, int, int]:
        """What accesses of one row have in common."""
        return self.place, self.op, self.size


class WarpTrace:
    """What one warp did, in order, as a reader finds it.

    Args:
        room: of its thread block; None: of its own.

    Attributes:
        steps: the plain operations before each access, and the access.
        tail: those after the last access.
        loads: loads and atomics so far.
    """

    __slots__ = ("_room", "loads", "steps", "tail")

    def __init__(self, room: Room | None = None) -> None:
        self._room = room or Room()
        self.steps: list[tuple[tuple[Plain, ...], Access]] = []
        self.tail: list[Plain] = []
        self.loads = 0

    def add(self, op: Op, argument: int) -> None:
        """An operation that accesses no global memory; arithmetic in a row becomes one.

        Raises:
            ValueError: there is no room for it.
        """
        if op == Op.COMPUTE and self.tail and self.tail[-1][0] == Op.COMPUTE:
            argument += self.tail.pop()[1]
        else:
            self._room.take(PLAIN_BYTES)
        self.tail.append((op, argument))
        self.loads += op in WAITED_FOR

    def access(self, place: int, op: Op, address: NDArray[np.int64], size: int) -> None:
        """A memory operation: (lanes,) byte addresses, of which at least one is not `INACTIVE`.

        Raises:
            ValueError: there is no room for it.
        """
        address, size = split_at_sectors(address, size)
        self._room.take(ACCESS_BYTES + address.nbytes)
        self.steps.append((tuple(self.tail), Access(place, op, address, size)))
        self.tail.clear()
        self.loads += op in WAITED_FOR


def chunks_of(
    warps: Sequence[WarpTrace], number_of: Callable[[int], int] | None = None
) -> Iterator[LaneChunk]:
    """The chunks of a block.

    Each warp keeps its order.  Of all warps' next accesses the one at the lowest place is next, for
    all warps that are there: those that a loop leaves behind catch up, as in a reconvergence stack.

    Args:
        warps: of one thread block, in order; what they hold is used up.
        number_of: by an access's place, the number of its place in the code; None: not asked for.
    """
    for warp in warps:
        warp.steps.reverse()
    rows = _Rows(len(warps), number_of)
    waiting = {number for number, warp in enumerate(warps) if warp.steps}
    while waiting:
        heads = {number: warps[number].steps[-1][1].row for number in waiting}
        lowest = min(heads.values())
        together = sorted(number for number, row in heads.items() if row == lowest)
        steps = [warps[number].steps.pop() for number in together]
        rows.plain(together, [plain for plain, _ in steps])
        rows.memory(together, [access for _, access in steps])
        waiting.difference_update([number for number in together if not warps[number].steps])
        if rows.full:
            yield rows.take()
    rows.plain(range(len(warps)), [tuple(warp.tail) for warp in warps])
    if rows.kind:
        yield rows.take()


class _Rows:
    """Rows of a chunk under construction."""

    def __init__(self, warps: int, number_of: Callable[[int], int] | None) -> None:
        self._warps = warps
        self._number_of = number_of
        self._clear()

    def _clear(self) -> None:
        self.kind: list[int] = []
        self._arg: list[int] = []
        self._active: list[Sequence[int]] = []
        self._accesses: list[tuple[Sequence[int], list[Access]]] = []
        self._width = 0

    def plain(self, warps: Sequence[int], programs: Sequence[tuple[Plain, ...]]) -> None:
        """Plain operations of some warps; equal ones share rows."""
        groups: dict[tuple[Plain, ...], list[int]] = {}
        for warp, program in zip(warps, programs, strict=True):
            groups.setdefault(program, []).append(warp)
        for program, group in groups.items():
            for op, argument in program:
                self.kind.append(op)
                self._arg.append(argument)
                self._active.append(group)

    def memory(self, warps: Sequence[int], accesses: list[Access]) -> None:
        """One row of accesses, one a warp."""
        self.kind.append(accesses[0].op)
        self._arg.append(0)
        self._active.append(warps)
        self._accesses.append((warps, accesses))
        self._width = max(self._width, *(len(access.address) for access in accesses))

    @property
    def full(self) -> bool:
        """Whether the chunk is large enough."""
        return len(self._accesses) * self._warps * self._width >= LANES_PER_CHUNK

    def take(self) -> LaneChunk:
        """The chunk; the next one begins."""
        active = np.zeros((len(self.kind), self._warps), dtype=bool)
        for row, warps in enumerate(self._active):
            active[row, warps] = True
        address = np.full((len(self._accesses), self._warps, self._width), INACTIVE)
        for row, (warps, accesses) in enumerate(self._accesses):
            for warp, access in zip(warps, accesses, strict=True):
                address[row, warp, : len(access.address)] = access.address
        chunk = LaneChunk(
            np.array(self.kind, dtype=np.uint8),
            np.array(self._arg, dtype=np.int64),
            active,
            address,
            np.array([accesses[0].size for _, accesses in self._accesses], dtype=np.int64),
            self._places(),
        )
        self._clear()
        return chunk

    def _places(self) -> NDArray[np.int64] | None:
        if self._number_of is None:
            return None
        numbers = [self._number_of(accesses[0].place) for _, accesses in self._accesses]
        return np.array(numbers, dtype=np.int64)
