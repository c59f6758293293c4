"""Records what a thread block does while its kernel is executed in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpusim.core.warp_program import INACTIVE, MEMORY_OPS, LaneChunk, Op
from gpusim.programs.device import DeviceArray, Scalar

Dim3: TypeAlias = tuple[int, int, int]
Lanes: TypeAlias = NDArray[np.int64]
Index: TypeAlias = NDArray[np.int32] | NDArray[np.int64] | int
Mask: TypeAlias = NDArray[np.bool_]
Number = TypeVar("Number", np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64)

Whole = TypeVar("Whole", np.int32, np.int64, np.uint32, np.uint64)

# Plain ints: enum's members cost more to look up, and to put into an array.
_COMPUTE: Final = int(Op.COMPUTE)
_LOAD: Final = int(Op.LOAD)
_STORE: Final = int(Op.STORE)
_ATOMIC: Final = int(Op.ATOMIC)
_REDUCE: Final = int(Op.REDUCE)
_SHARED: Final = int(Op.SHARED)
_BARRIER: Final = int(Op.BARRIER)
_WAIT: Final = int(Op.WAIT)

_IS_MEMORY = np.zeros(256, dtype=bool)
_IS_MEMORY[list(MEMORY_OPS)] = True

LANES_PER_CHUNK = 1 << 15
"""Lane addresses after which a block hands over what it has recorded."""

ROWS_IN_STEP = 16
"""Instructions after which blocks in step do."""

_FIRST_ROWS = 32
"""Memory instructions for which a block has room at first."""


class Shape(NamedTuple):
    """Grid and block of a launch, (x, y, z) each.

    Attributes:
        grid: thread blocks.
        block: threads of a block.
    """

    grid: Dim3
    block: Dim3

    @classmethod
    def linear(cls, threads: int, block: int) -> Shape:
        """Enough one-dimensional blocks for `threads` threads."""
        return cls((-(-threads // block), 1, 1), (block, 1, 1))


@lru_cache(maxsize=64)
def _threads(block: Dim3) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """Linear number, x, y and z of each thread; read-only."""
    width, height, depth = block
    tid = np.arange(width * height * depth)
    arrays = (tid, tid % width, tid // width % height, tid // (width * height))
    for array in arrays:
        array.flags.writeable = False
    return arrays


@lru_cache(maxsize=8)
def _threads_in_step(block: Dim3, count: int) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """Likewise of so many blocks."""
    tid, x, y, z = (np.tile(array, count) for array in _threads(block))
    for array in (tid, x, y, z):
        array.flags.writeable = False
    return tid, x, y, z


class BlockTracer:
    """One thread block, executed by all its threads together.

    Every value is an array with one element per thread, in the order of the linear thread number
    ``x + X * (y + Y * z)``; consecutive threads form warps.  Each method executes one instruction
    and records it for the warps that have at least one thread in `where` (None: all threads).
    A single int as an index means that all threads use that element.

    Attributes:
        blocks: how many thread blocks there are: 1; several if they execute in step (`StepTracer`).
        threads: threads of the block, or of all blocks in step: one block's after another's.
        which: 0; of blocks in step the number of each thread's among them, from 0 on.
        tid: (threads,) int64, linear thread number in the block.
        tx, ty, tz: (threads,) int64, thread index.
        bx, by, bz: block index, an int; of blocks in step that of each thread.
        t: (threads,) int64, ``bx * X + tx``: the thread number in a one-dimensional grid.
    """

    __slots__ = (
        "_arg", "_arrays", "_index", "_kind", "_masks", "_padded", "_partial", "_warp_size",
        "blocks", "bx", "by", "bz", "t", "threads", "tid", "tx", "ty", "tz", "which",
    )  # fmt: skip

    which: Any
    bx: Any
    by: Any
    bz: Any

    def __init__(self, shape: Shape, block: int, warp_size: int) -> None:
        self.blocks, self.which = 1, 0
        self._place(shape, _in_grid(shape, block), _threads(shape.block), warp_size)

    def _place(
        self, shape: Shape, block: tuple[Any, Any, Any],
        threads: tuple[Lanes, Lanes, Lanes, Lanes], warp_size: int,
    ) -> None:  # fmt: skip
        """Say who the threads are, and of which block; of several blocks: for each thread."""
        self.tid, self.tx, self.ty, self.tz = threads
        self.threads = len(self.tid)
        self.bx, self.by, self.bz = block
        self.t = self.bx * shape.block[0] + self.tx
        self._warp_size = warp_size
        self._padded = -(-self.threads // self.blocks // warp_size) * warp_size
        """Lanes of the warps of a block."""
        self._index = np.empty((_FIRST_ROWS, self.threads), dtype=np.int64)
        """Elements that each thread accesses, an instruction a row: 0 where it takes no part."""
        self._clear()

    def _clear(self) -> None:
        self._kind: list[int] = []
        self._arg: list[int] = []
        self._arrays: list[DeviceArray[np.generic]] = []
        """Of the memory instructions."""
        self._partial: list[int] = []
        """Numbers of the instructions in which not all threads need take part."""
        self._masks: list[Mask] = []
        """Which threads do."""

    # Instructions ---------------------------------------------------------------------------

    def load(
        self, array: DeviceArray[Scalar], index: Index, where: Mask | None = None
    ) -> NDArray[Scalar]:
        """Read ``array[index]``; the value arrives at the next `wait`.

        Returns:
            (threads,) values, or (1,) if `index` is an int; arbitrary outside `where`.
        """
        elements = self._access(_LOAD, array, index, _unless_all(where))
        if isinstance(elements, int):
            return array.data[elements : elements + 1].copy()
        return array.data.take(elements)

    def store(
        self,
        array: DeviceArray[Scalar],
        index: Index,
        value: NDArray[Scalar] | int | float,
        where: Mask | None = None,
    ) -> None:
        """Write ``array[index] = value``; of threads with one address, the last one wins."""
        where = _unless_all(where)
        self._access(_STORE, array, index, where)
        if isinstance(index, int):
            if where is None or where.any():
                lanes = np.broadcast_to(value, self.threads)
                array.data[index] = lanes[-1] if where is None else lanes[where][-1]
        elif where is None:
            array.data[index] = value
        else:
            array.data[index[where]] = _at(value, where)

    def reduce_add(
        self,
        array: DeviceArray[Number],
        index: NDArray[np.int32] | NDArray[np.int64],
        value: NDArray[Number] | int | float,
        where: Mask | None = None,
    ) -> None:
        """Add to ``array[index]`` atomically, without a return value."""
        self._reduce(np.add, array, index, value, where)

    def reduce_max(
        self,
        array: DeviceArray[Number],
        index: NDArray[np.int32] | NDArray[np.int64],
        value: NDArray[Number] | int | float,
        where: Mask | None = None,
    ) -> None:
        """Raise ``array[index]`` to at least `value` atomically, without a return value."""
        self._reduce(np.maximum, array, index, value, where)

    def reduce_xor(
        self,
        array: DeviceArray[Whole],
        index: NDArray[np.int32] | NDArray[np.int64],
        value: NDArray[Whole] | int,
        where: Mask | None = None,
    ) -> None:
        """Exclusive or of `value` into ``array[index]`` atomically, without a return value."""
        self._reduce(np.bitwise_xor, array, index, value, where)

    def _reduce(
        self,
        combine: np.ufunc,
        array: DeviceArray[Number],
        index: NDArray[np.int32] | NDArray[np.int64],
        value: NDArray[Number] | int | float,
        where: Mask | None,
    ) -> None:
        where = _unless_all(where)
        self._access(_REDUCE, array, index, where)
        if where is None:
            combine.at(array.data, index, value)
        else:
            combine.at(array.data, index[where], _at(value, where))

    def atomic_add(
        self,
        array: DeviceArray[Number],
        index: NDArray[np.int32] | NDArray[np.int64],
        value: NDArray[Number] | int | float,
        where: Mask | None = None,
    ) -> NDArray[Number]:
        """Add to ``array[index]`` atomically, in thread order.

        Returns:
            (threads,) the values before each thread's addition; 0 outside `where`.
        """
        where = _unless_all(where)
        self._access(_ATOMIC, array, index, where)
        old = np.zeros(self.threads, dtype=array.data.dtype)
        amount = np.broadcast_to(value, self.threads)
        for thread in range(self.threads) if where is None else np.flatnonzero(where):
            cell = index[thread]
            old[thread] = array.data[cell]
            array.data[cell] += amount[thread]
        return old

    def compute(self, instructions: int, where: Mask | None = None) -> None:
        """Arithmetic: a number of instructions that touch no memory."""
        self._record(_COMPUTE, instructions, _unless_all(where))

    def shared(self, passes: int, where: Mask | None = None) -> None:
        """A shared-memory access that takes `passes` conflict-free passes, 1 at best."""
        self._record(_SHARED, passes, _unless_all(where))

    def barrier(self, where: Mask | None = None) -> None:
        """Wait for all warps of the block; of blocks in step: of each that is in `where`."""
        self._record(_BARRIER, 0, _unless_all(where))

    def wait(self, outstanding: int = 0, where: Mask | None = None) -> None:
        """Wait until at most `outstanding` loads and atomics, the youngest, have no value yet."""
        self._record(_WAIT, outstanding, _unless_all(where))

    # Recording ------------------------------------------------------------------------------

    def _record(self, op: int, arg: int, where: Mask | None) -> None:
        if where is not None:
            self._partial.append(len(self._kind))
            self._masks.append(where.copy())
        self._kind.append(op)
        self._arg.append(arg)

    def _access(
        self, op: int, array: DeviceArray[Scalar], index: Index, where: Mask | None
    ) -> Index:  # fmt: skip
        """Record a memory instruction; returns `index`, which is 0 outside `where`."""
        if where is not None and not where.any():
            return index if isinstance(index, int) else np.zeros(self.threads, dtype=np.int64)
        row = len(self._arrays)
        if row == len(self._index):
            self._index = np.concatenate((self._index, np.empty_like(self._index)))
        if where is None or isinstance(index, int):
            self._index[row] = index
        else:
            index = np.multiply(index, where, out=self._index[row])
        self._arrays.append(array)  # type: ignore[arg-type]
        self._record(op, 0, where)
        return index

    @property
    def full(self) -> bool:
        """Whether so much is recorded that it should be handed over."""
        lanes = len(self._arrays) * self._padded
        return lanes >= LANES_PER_CHUNK or len(self._kind) * self.threads >= 4 * LANES_PER_CHUNK

    def take(self) -> LaneChunk | None:
        """Hand over all that was recorded since the last call; None if no warp did anything.

        Raises:
            IndexError: a thread left its array: the kernel is wrong.
        """
        kind = np.array(self._kind, dtype=np.uint8)
        arg = np.array(self._arg, dtype=np.int64)
        size = np.array([array.element_bytes for array in self._arrays], dtype=np.int64)
        address = self._addresses(size)
        active = np.ones((len(kind), address.shape[1]), dtype=bool)
        if self._partial:
            memory = self._mask(kind, active, address)
            used: Mask = np.logical_or.reduce(active, axis=1)
            if not used.all():
                kind, arg, active = kind[used], arg[used], active[used]
                address, size = address[used[memory]], size[used[memory]]
        self._clear()
        return LaneChunk(kind, arg, active, address, size) if len(kind) else None

    def _addresses(self, size: NDArray[np.int64]) -> NDArray[np.int64]:
        """(m, warps, lanes) addresses of the memory instructions, as if all threads took part."""
        rows = len(self._arrays)
        index = self._index[:rows]
        if rows:
            self._check_bounds(index)
        own = self.threads // self.blocks
        flat = np.empty((rows, self.blocks, self._padded), dtype=np.int64)
        lanes = index.reshape(rows, self.blocks, own)
        np.multiply(lanes, size[:, None, None], out=flat[:, :, :own])
        flat += np.array([array.base for array in self._arrays], dtype=np.int64)[:, None, None]
        flat[:, :, own:] = INACTIVE
        warps = self.blocks * self._padded // self._warp_size
        return flat.reshape(rows, warps, self._warp_size)

    def _mask(self, kind: NDArray[np.uint8], active: Mask, address: NDArray[np.int64]) -> Mask:
        """Take the threads out that take no part; returns which instructions access memory."""
        own, count = self.threads // self.blocks, len(self._masks)
        masks = np.zeros((count, self.blocks, self._padded), dtype=bool)
        masks[:, :, :own] = np.reshape(self._masks, (count, self.blocks, own))
        lanes = masks.reshape(count, *address.shape[1:])
        partial = np.array(self._partial)
        active[partial] = _any_lane(lanes)
        memory: Mask = _IS_MEMORY[kind]
        accesses = memory[partial]
        rows = (np.cumsum(memory) - 1)[partial[accesses]]
        every = slice(None) if len(rows) == len(address) else rows
        address[every] |= np.subtract(lanes[accesses], 1, dtype=np.int64)  # all bits: `INACTIVE`
        return memory

    def _check_bounds(self, index: NDArray[np.int64]) -> None:
        length = np.array([array.length for array in self._arrays])
        outside = index.view(np.uint64).max(axis=1) >= length  # below 0, it is a large number
        if outside.any():
            row = int(np.argmax(outside))
            thread = int(np.argmax((index[row] < 0) | (index[row] >= length[row])))
            array = self._arrays[row]
            raise IndexError(
                f"thread {thread} accesses element {index[row, thread]} "
                f"of {array.name!r}, which has {array.length}"
            )


class StepTracer(BlockTracer):
    """Several thread blocks, executed in step, one after the other in all arrays.

    A body sees one block with the threads of all, whose `bx`, `by`, `bz` and `tid` are those that
    they have in their own blocks.  What the threads of a block share has a first axis of `blocks`
    blocks, or is found by `which`.
    """

    __slots__ = ()

    def __init__(self, shape: Shape, blocks: Sequence[int], warp_size: int) -> None:
        threads = _threads_in_step(shape.block, len(blocks))
        own = len(threads[0]) // len(blocks)
        self.blocks, self.which = len(blocks), np.repeat(np.arange(len(blocks)), own)
        x, y, z = (np.repeat(one, own) for one in _in_grid(shape, np.array(blocks)))
        self._place(shape, (x, y, z), threads, warp_size)

    @property
    def full(self) -> bool:
        return len(self._kind) >= ROWS_IN_STEP


def _in_grid(shape: Shape, block: Any) -> tuple[Any, Any, Any]:
    """The indices of a block in a grid, by its number; or those of several."""
    x, y, _ = shape.grid
    return block % x, block // x % y, block // (x * y)


def _unless_all(where: Mask | None) -> Mask | None:
    """None instead of a mask that leaves nobody out."""
    return None if where is None or where.all() else where


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


def _at(value: NDArray[Scalar] | int | float, where: Mask) -> NDArray[Scalar] | int | float:
    """The values of the threads in `where`; a number, or one value for all, stays what it is."""
    return value[where] if isinstance(value, np.ndarray) and value.size > 1 else value
