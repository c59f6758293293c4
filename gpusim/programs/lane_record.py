"""What threads have executed and not handed over: instructions, and who took part in them."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpusim.core.warp_program import INACTIVE, MEMORY_OPS, LaneChunk
from gpusim.programs.device import DeviceArray, Scalar

Lanes: TypeAlias = NDArray[np.int64]
Index: TypeAlias = NDArray[np.int32] | NDArray[np.int64] | int
Mask: TypeAlias = NDArray[np.bool_]
Who: TypeAlias = Mask | Lanes | None
"""Threads that take part: a mask, or their numbers if they are few; None: all."""

_IS_MEMORY = np.zeros(256, dtype=bool)
_IS_MEMORY[list(MEMORY_OPS)] = True

_MANY: Final = 1024
_FEW: Final = 4
"""Of `_MANY` threads or more, one in `_FEW` or less are few: to handle these alone is faster."""

_NOTHING = np.zeros(0, dtype=np.int64)

_FIRST_ROWS: Final = 32
"""Accesses of all threads for which there is room at first."""

_NO_ROWS = np.zeros((0, 0), dtype=np.int64)


def taking_part(where: Mask | None) -> Who:
    """Who is in a mask (None: all)."""
    if where is None:
        return None
    count, threads = np.count_nonzero(where), len(where)
    if count == threads:
        return None
    if not count or (threads >= _MANY and count * _FEW <= threads):
        return where.nonzero()[0]
    return where


class LaneRecord:
    """Records instructions in their order.

    Args:
        threads: of all blocks.
        blocks: how many; each has as many threads, one block's after another's.
        warp_size: threads of a warp.

    Attributes:
        operations: how many instructions are recorded.
        accesses: how many of them access memory.
    """

    __slots__ = (
        "_arg",
        "_arrays",
        "_blocks",
        "_dense",
        "_elements",
        "_few",
        "_few_accesses",
        "_few_lanes",
        "_index",
        "_kind",
        "_masks",
        "_own",
        "_padded",
        "_partial",
        "_rows",
        "_threads",
        "_warp_size",
    )

    def __init__(self, threads: int, blocks: int, warp_size: int) -> None:
        self._threads = threads
        self._blocks = blocks
        self._own = threads // blocks
        self._warp_size = warp_size
        self._padded = -(-self._own // warp_size) * warp_size
        """Lanes of the warps of a block."""
        self._rows = _FIRST_ROWS
        """Accesses of all threads for which there is room at once."""
        self._clear()

    def _clear(self) -> None:
        self._index = _NO_ROWS
        """Elements that each thread accesses, an access of `_dense` a row: 0 where it takes no
        part.  There while a piece is recorded: many blocks are resident at once."""
        self._kind: list[int] = []
        self._arg: list[int] = []
        self._arrays: list[DeviceArray[np.generic]] = []
        """Of the accesses."""
        self._dense: list[int] = []
        """Numbers of the accesses, among these, in which all or many threads take part."""
        self._partial: list[int] = []
        """Numbers of the instructions in which not all threads take part, but many."""
        self._masks: list[Mask | Lanes] = []
        """Which threads do."""
        self._few: list[int] = []
        """Numbers of the instructions in which few threads take part, or none."""
        self._few_lanes: list[Mask | Lanes] = []
        """Which threads do."""
        self._few_accesses: list[int] = []
        """Numbers of those that access memory, in `_few`."""
        self._elements: list[NDArray[np.int32] | NDArray[np.int64]] = []
        """Elements that they access."""

    @property
    def operations(self) -> int:
        return len(self._kind)

    @property
    def accesses(self) -> int:
        return len(self._arrays)

    @property
    def lane_addresses(self) -> int:
        """Addresses of all lanes of all warps in the accesses."""
        return len(self._arrays) * self._padded * self._blocks

    def add(self, op: int, arg: int, who: Who) -> None:
        """An instruction; one that no thread executes is left out in the end."""
        if who is not None:
            number = len(self._kind)
            if len(who) < self._threads:
                self._few.append(number)
                self._few_lanes.append(who)
            else:
                self._partial.append(number)
                self._masks.append(who.copy())
        self._kind.append(op)
        self._arg.append(arg)

    def access(self, op: int, array: DeviceArray[Scalar], index: Index, who: Who) -> Index:
        """An instruction that accesses memory; not recorded if no thread takes part.

        Returns:
            `index` if it is an int; of few threads the elements that these access; of others
            (threads,) elements, 0 for those that take no part.
        """
        if who is None or len(who) == self._threads:
            found = self._elements_of_many(index, who)
            self._dense.append(len(self._arrays))
        elif not len(who):
            return index if isinstance(index, int) else _NOTHING
        else:
            found = index
            if not isinstance(index, int):
                found = index[who] if index.size == self._threads else np.full(len(who), index)
            self._few_accesses.append(len(self._few))
            self._elements.append(np.full(len(who), index) if isinstance(found, int) else found)
        self._arrays.append(array)  # type: ignore[arg-type]
        self.add(op, 0, who)
        return found

    def _elements_of_many(self, index: Index, who: Who) -> Index:
        """A row of `_index` for what all or many threads access."""
        row = len(self._dense)
        if row == len(self._index):
            self._make_room()
        if who is None or isinstance(index, int):
            self._index[row] = index
            return index
        elements: NDArray[np.int64] = np.multiply(index, who, out=self._index[row])
        return elements

    def _make_room(self) -> None:
        """Have rows for further accesses: at first as many as the piece before has needed."""
        if not len(self._index):
            self._index = np.empty((self._rows, self._threads), dtype=np.int64)
            return
        self._index = np.concatenate((self._index, np.empty_like(self._index)))
        self._rows = len(self._index)

    def take(self) -> LaneChunk | None:
        """Hand over all that was recorded since the last call; None if no warp did anything.

        Raises:
            IndexError: a thread left its array: the kernel is wrong.
        """
        kind = np.array(self._kind, dtype=np.uint8)
        arg = np.array(self._arg, dtype=np.int64)
        size = np.array([array.element_bytes for array in self._arrays], dtype=np.int64)
        base = np.array([array.base for array in self._arrays], dtype=np.int64)
        address = self._addresses(size, base)
        active = np.ones((len(kind), address.shape[1]), dtype=bool)
        if self._partial or self._few:
            memory: Mask = _IS_MEMORY[kind]
            row = np.cumsum(memory) - 1
            if self._partial:
                self._mask(active, address, memory, row)
            if self._few:
                self._place_few(active, address, row, size, base)
            used: Mask = np.logical_or.reduce(active, axis=1)
            if not used.all():
                kind, arg, active = kind[used], arg[used], active[used]
                address, size = address[used[memory]], size[used[memory]]
        self._clear()
        return LaneChunk(kind, arg, active, address, size) if len(kind) else None

    def _addresses(self, size: Lanes, base: Lanes) -> NDArray[np.int64]:
        """(accesses, warps, lanes) addresses of those in which all or many threads take part.

        As if all did; `INACTIVE` in others.
        """
        rows, dense = len(self._arrays), np.array(self._dense, dtype=np.int64)
        index = self._index[: len(dense)]
        if len(dense):
            self._check_bounds(index)
        address = index.reshape(len(dense), self._blocks, self._own) * size[dense, None, None]
        address += base[dense, None, None]
        if len(dense) < rows or self._own < self._padded:
            some, address = address, np.full((rows, self._blocks, self._padded), INACTIVE)
            address[dense, :, : self._own] = some
        warps = self._blocks * self._padded // self._warp_size
        return address.reshape(rows, warps, self._warp_size)

    def _mask(self, active: Mask, address: NDArray[np.int64], memory: Mask, row: Lanes) -> None:
        """Take those out of a chunk that are not among many that take part.

        `memory` tells which instructions access memory, `row` of each the number of its access.
        """
        count = len(self._masks)
        masks = np.zeros((count, self._blocks, self._padded), dtype=bool)
        masks[:, :, : self._own] = np.reshape(self._masks, (count, self._blocks, self._own))
        lanes = masks.reshape(count, *address.shape[1:])
        partial = np.array(self._partial)
        active[partial] = _any_lane(lanes)
        accesses = memory[partial]
        rows = row[partial[accesses]]
        every = slice(None) if len(rows) == len(address) else rows
        address[every] |= np.subtract(lanes[accesses], 1, dtype=np.int64)  # all bits: `INACTIVE`

    def _place_few(
        self, active: Mask, address: NDArray[np.int64], row: Lanes, size: Lanes, base: Lanes
    ) -> None:
        """Put into a chunk what few threads do; `row` as for `_mask`."""
        few = np.array(self._few)
        active[few] = False
        active[_of_each(few, self._few_lanes), self._warps(np.concatenate(self._few_lanes))] = True
        if not self._elements:
            return
        lanes = [self._few_lanes[number] for number in self._few_accesses]
        access = _of_each(row[few[self._few_accesses]], lanes)
        thread: Lanes = np.concatenate(lanes)
        element: Lanes = np.concatenate(self._elements)
        self._check_few(access, thread, element)
        address.reshape(len(address), -1)[access, self._padded_lane(thread)] = (
            element * size[access] + base[access]
        )

    def _padded_lane(self, thread: Lanes) -> Lanes:
        """Where a thread is among the lanes of all warps."""
        idle = self._padded - self._own
        return thread + thread // self._own * idle if idle else thread

    def _warps(self, thread: Lanes) -> Lanes:
        return self._padded_lane(thread) // self._warp_size

    def _check_bounds(self, index: NDArray[np.int64]) -> None:
        length = np.array([self._arrays[number].length for number in self._dense])
        outside = index.view(np.uint64).max(axis=1) >= length  # below 0, it is a large number
        if outside.any():
            row = int(np.argmax(outside))
            thread = int(np.argmax((index[row] < 0) | (index[row] >= length[row])))
            raise _left(self._arrays[self._dense[row]], thread, index[row, thread])

    def _check_few(self, access: Lanes, thread: Lanes, element: NDArray[np.int64]) -> None:
        length = np.array([array.length for array in self._arrays])[access]
        outside = (element < 0) | (element >= length)
        if outside.any():
            one = int(np.argmax(outside))
            raise _left(self._arrays[access[one]], int(thread[one]), element[one])


def _left(array: DeviceArray[np.generic], thread: int, element: np.int64) -> IndexError:
    return IndexError(
        f"thread {thread} accesses element {element} of {array.name!r}, which has {array.length}"
    )


def _of_each(numbers: Lanes, lanes: list[Mask | Lanes]) -> Lanes:
    """A number for each of its lanes."""
    return np.repeat(numbers, [len(some) for some in lanes])


def _any_lane(lanes: Mask) -> Mask:
    """Of (n, warps, lanes), which warps have any; eight lanes are looked at as one number."""
    if lanes.shape[2] % 8:
        few: Mask = np.logical_or.reduce(lanes, axis=2)
        return few
    eights = lanes.view(np.uint64)
    found = eights[:, :, 0]
    for number in range(1, eights.shape[2]):
        found = found | eights[:, :, number]
    some: Mask = found != 0
    return some
