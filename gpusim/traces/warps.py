"""Warps that were traced one by one, put together to the chunks of their thread block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpusim.core.unboxed import MYPYC
from gpusim.core.warp_program import INACTIVE, LaneChunk, Op
from gpusim.programs.tracer import LANES_PER_CHUNK
from gpusim.traces.lanes import split_at_sectors
from gpusim.traces.memory_budget import ACCESS_BYTES, ADDRESS_BYTES, PLAIN_BYTES, Room

if MYPYC:
    from gpusim.core.compiled_only.packed import packed
else:

    def packed(numbers: list[int]) -> bytes:
        """Integers of 64 bits, one after the other, little-endian."""
        return np.array(numbers, dtype="<i8").tobytes()


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


_WAITED_FOR: Final = [op in WAITED_FOR for op in range(256)]
"""By number of an operation."""

_COMPUTE: Final = int(Op.COMPUTE)
_NOTHING: Final = -1
"""Instead of a number of instructions: there is no arithmetic."""

Row = tuple[int, int, int]
"""Place, operation and bytes of an access."""


class Access:
    """A memory operation of one warp.

    Attributes:
        row: what accesses of one row of a chunk have in common: where it stands in the program,
            such as its program counter; LOAD, STORE, ATOMIC, REDUCE, or a side operation; and the
            bytes of each address.
        address: byte addresses of lanes, or more, none of which crosses a sector: 8 bytes each, as
            `packed` has them.
    """

    __slots__ = ("address", "row")

    def __init__(self, row: Row, address: bytes) -> None:
        self.row = row
        self.address = address


class WarpTrace:
    """What one warp did, in order, as a reader finds it.

    Args:
        room: of its thread block; None: of its own.

    Attributes:
        steps: the plain operations before each access, and the access.
        loads: loads and atomics so far.
    """

    __slots__ = ("_arithmetic", "_room", "_tail", "loads", "steps")

    def __init__(self, room: Room | None = None) -> None:
        self._room = room or Room()
        self.steps: list[tuple[tuple[Plain, ...], Access]] = []
        self._tail: list[Plain] = []
        self._arithmetic = _NOTHING
        """Instructions behind the tail."""
        self.loads = 0

    @property
    def tail(self) -> list[Plain]:
        """The plain operations after the last access."""
        if self._arithmetic != _NOTHING:
            self._tail.append((_COMPUTE, self._arithmetic))
            self._arithmetic = _NOTHING
        return self._tail

    def add(self, op: int, argument: int) -> None:
        """An operation that accesses no global memory; arithmetic in a row becomes one.

        Raises:
            ValueError: there is no room for it.
        """
        if op == _COMPUTE:
            if self._arithmetic == _NOTHING:
                self._room.take(PLAIN_BYTES)
                self._arithmetic = 0
            self._arithmetic += argument
            return
        self._room.take(PLAIN_BYTES)
        self.tail.append((op, argument))
        if _WAITED_FOR[op]:
            self.loads += 1

    def access(self, place: int, op: int, address: list[int], size: int) -> None:
        """A memory operation: byte addresses of lanes, of which one at least is not `INACTIVE`.

        Raises:
            ValueError: there is no room for it.
        """
        address, size = split_at_sectors(address, size)
        lanes = packed(address)
        self._room.take(ACCESS_BYTES + len(lanes))
        self.steps.append((tuple(self.tail), Access((place, op, size), lanes)))
        self._tail.clear()
        if _WAITED_FOR[op]:
            self.loads += 1


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
    waiting = [number for number, warp in enumerate(warps) if warp.steps]
    while waiting:
        heads = [warps[number].steps[-1][1].row for number in waiting]
        lowest = min(heads)
        together = [number for number, row in zip(waiting, heads, strict=True) if row == lowest]
        steps = [warps[number].steps.pop() for number in together]
        rows.plain(together, [plain for plain, _ in steps])
        rows.memory(together, lowest, [access.address for _, access in steps])
        if not all(warps[number].steps for number in together):
            waiting = [number for number in waiting if warps[number].steps]
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
        self.kind = bytearray()
        self._arg: list[int] = []
        self._active: list[bytes] = []
        self._rows: list[Row] = []
        self._lanes: list[tuple[Sequence[int], list[bytes]]] = []
        self._width = 0

    def plain(self, warps: Sequence[int], programs: Sequence[tuple[Plain, ...]]) -> None:
        """Plain operations of some warps; equal ones share rows."""
        groups: dict[tuple[Plain, ...], list[int]] = {}
        for warp, program in zip(warps, programs, strict=True):
            groups.setdefault(program, []).append(warp)
        for program, group in groups.items():
            if program:
                active = self._those(group)
                for op, argument in program:
                    self.kind.append(op)
                    self._arg.append(argument)
                    self._active.append(active)

    def _those(self, warps: Sequence[int]) -> bytes:
        """Which of all warps these are, a byte each."""
        active = bytearray(self._warps)
        for warp in warps:
            active[warp] = 1
        return bytes(active)

    def memory(self, warps: Sequence[int], row: Row, lanes: list[bytes]) -> None:
        """One row of accesses, one a warp."""
        self.kind.append(row[1])
        self._arg.append(0)
        self._active.append(self._those(warps))
        self._rows.append(row)
        self._lanes.append((warps, lanes))
        self._width = max(self._width, max(map(len, lanes)) // ADDRESS_BYTES)

    @property
    def full(self) -> bool:
        """Whether the chunk is large enough."""
        return len(self._rows) * self._warps * self._width >= LANES_PER_CHUNK

    def take(self) -> LaneChunk:
        """The chunk; the next one begins."""
        active = np.frombuffer(bytearray().join(self._active), dtype=bool)
        chunk = LaneChunk(
            np.frombuffer(self.kind, dtype=np.uint8),
            np.array(self._arg, dtype=np.int64),
            active.reshape(len(self.kind), self._warps),
            self._addresses(),
            np.array([size for _, _, size in self._rows], dtype=np.int64),
            self._places(),
        )
        self._clear()
        return chunk

    def _addresses(self) -> NDArray[np.int64]:
        """(rows, warps, width) addresses."""
        inactive = packed([INACTIVE] * self._width)
        parts: list[bytes] = []
        for warps, lanes in self._lanes:
            row = [inactive] * self._warps
            for warp, own in zip(warps, lanes, strict=True):
                row[warp] = own + inactive[len(own) :] if len(own) < len(inactive) else own
            parts += row
        address = np.frombuffer(bytearray().join(parts), dtype="<i8")
        return address.reshape(len(self._lanes), self._warps, self._width)

    def _places(self) -> NDArray[np.int64] | None:
        if self._number_of is None:
            return None
        return np.array([self._number_of(place) for place, _, _ in self._rows], dtype=np.int64)
