"""Records what a thread block does while its kernel is executed in numpy."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.warp_program import INACTIVE, MEMORY_OPS, LaneChunk, Op
from gpusim.programs.device import DeviceArray, Scalar

Dim3 = tuple[int, int, int]
Lanes = NDArray[np.int64]
Index = NDArray[np.int32] | NDArray[np.int64] | int
Mask = NDArray[np.bool_]
Number = TypeVar("Number", np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64)

_IS_MEMORY = np.zeros(256, dtype=bool)
_IS_MEMORY[list(MEMORY_OPS)] = True

LANES_PER_CHUNK = 1 << 15
"""Lane addresses after which a block hands over what it has recorded."""


@frozen
class Shape:
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
def _threads(block: Dim3) -> tuple[Lanes, Lanes, Lanes, Lanes, Mask]:
    """Linear number, x, y and z of each thread, and a mask of all; read-only."""
    width, height, depth = block
    tid = np.arange(width * height * depth)
    everyone = np.ones(len(tid), dtype=bool)
    arrays = (tid, tid % width, tid // width % height, tid // (width * height), everyone)
    for array in arrays:
        array.flags.writeable = False
    return arrays


class BlockTracer:
    """One thread block, executed by all its threads together.

    Every value is an array with one element per thread, in the order of the linear thread number
    ``x + X * (y + Y * z)``; consecutive threads form warps.  Each method executes one instruction
    and records it for the warps that have at least one thread in `where` (None: all threads).
    A single int as an index means that all threads use that element.

    Attributes:
        threads: threads of the block.
        tid: (threads,) int64, linear thread number in the block.
        tx, ty, tz: (threads,) int64, thread index.
        bx, by, bz: block index.
        t: (threads,) int64, ``bx * X + tx``: the thread number in a one-dimensional grid.
    """

    __slots__ = (
        "_address", "_arg", "_bounds", "_everyone", "_kind", "_masks", "_padded",
        "_size", "_warp_size", "bx", "by", "bz", "t", "threads", "tid", "tx", "ty", "tz",
    )  # fmt: skip

    def __init__(self, shape: Shape, block: int, warp_size: int) -> None:
        self.tid, self.tx, self.ty, self.tz, self._everyone = _threads(shape.block)
        self.threads = len(self.tid)
        self.bx = block % shape.grid[0]
        self.by = block // shape.grid[0] % shape.grid[1]
        self.bz = block // (shape.grid[0] * shape.grid[1])
        self.t = self.bx * shape.block[0] + self.tx
        self._warp_size = warp_size
        self._padded = -(-self.threads // warp_size) * warp_size
        self._clear()

    def _clear(self) -> None:
        self._kind: list[int] = []
        self._arg: list[int] = []
        self._masks: list[Mask] = []
        self._address: list[NDArray[np.int64]] = []
        self._size: list[int] = []
        self._bounds: list[DeviceArray[np.generic]] = []

    # Instructions ---------------------------------------------------------------------------

    def load(
        self, array: DeviceArray[Scalar], index: Index, where: Mask | None = None
    ) -> NDArray[Scalar]:
        """Read ``array[index]``; the value arrives at the next `wait`.

        Returns:
            (threads,) values, or (1,) if `index` is an int; arbitrary outside `where`.
        """
        self._access(Op.LOAD, array, index, where)
        return self._values(array, index, where)

    def store(
        self,
        array: DeviceArray[Scalar],
        index: Index,
        value: NDArray[Scalar] | int | float,
        where: Mask | None = None,
    ) -> None:
        """Write ``array[index] = value``; of threads with one address, the last one wins."""
        self._access(Op.STORE, array, index, where)
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

    def _reduce(
        self,
        combine: np.ufunc,
        array: DeviceArray[Number],
        index: NDArray[np.int32] | NDArray[np.int64],
        value: NDArray[Number] | int | float,
        where: Mask | None,
    ) -> None:
        self._access(Op.REDUCE, array, index, where)
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
        self._access(Op.ATOMIC, array, index, where)
        old = np.zeros(self.threads, dtype=array.data.dtype)
        amount = np.broadcast_to(value, self.threads)
        for thread in range(self.threads) if where is None else np.flatnonzero(where):
            cell = index[thread]
            old[thread] = array.data[cell]
            array.data[cell] += amount[thread]
        return old

    def compute(self, instructions: int, where: Mask | None = None) -> None:
        """Arithmetic: a number of instructions that touch no memory."""
        self._record(Op.COMPUTE, instructions, where)

    def shared(self, passes: int, where: Mask | None = None) -> None:
        """A shared-memory access that takes `passes` conflict-free passes, 1 at best."""
        self._record(Op.SHARED, passes, where)

    def barrier(self) -> None:
        """Wait for all warps of the block."""
        self._record(Op.BARRIER, 0, None)

    def wait(self, outstanding: int = 0, where: Mask | None = None) -> None:
        """Wait until at most `outstanding` loads and atomics, the youngest, have no value yet."""
        self._record(Op.WAIT, outstanding, where)

    # Recording ------------------------------------------------------------------------------

    def _record(self, op: Op, arg: int, where: Mask | None) -> None:
        self._kind.append(op)
        self._arg.append(arg)
        self._masks.append(self._everyone if where is None else where.copy())

    def _access(self, op: Op, array: DeviceArray[Scalar], index: Index, where: Mask | None) -> None:
        if where is not None and not where.any():
            return
        if isinstance(index, int):
            address = np.full(self.threads, array.base + index * array.element_bytes)
        else:
            address = np.multiply(index, array.element_bytes, dtype=np.int64)
            address += array.base
        self._address.append(address if where is None else np.where(where, address, INACTIVE))
        self._kind.append(op)
        self._arg.append(0)
        self._size.append(array.element_bytes)
        self._bounds.append(array)  # type: ignore[arg-type]

    @staticmethod
    def _values(array: DeviceArray[Scalar], index: Index, where: Mask | None) -> NDArray[Scalar]:
        if isinstance(index, int):
            return array.data[index : index + 1].copy()
        if where is None:
            return array.data[index]
        return array.data[np.where(where, index, 0)]

    @property
    def full(self) -> bool:
        """Whether so much is recorded that it should be handed over."""
        lanes = len(self._address) * self._padded
        return lanes >= LANES_PER_CHUNK or len(self._kind) * self.threads >= 4 * LANES_PER_CHUNK

    def take(self) -> LaneChunk | None:
        """Hand over all that was recorded since the last call; None if no warp did anything.

        Raises:
            IndexError: a thread left its array: the kernel is wrong.
        """
        warps = self._padded // self._warp_size
        kind = np.array(self._kind, dtype=np.uint8)
        flat = np.full((len(self._address), self._padded), INACTIVE)
        if self._address:
            np.stack(self._address, out=flat[:, : self.threads])
            self._check_bounds(flat)
        address = flat.reshape(-1, warps, self._warp_size)
        memory = _IS_MEMORY[kind]
        active = np.zeros((len(kind), warps), dtype=bool)
        active[memory] = (address != INACTIVE).any(axis=2)
        if self._masks:
            masks = np.zeros((len(self._masks), self._padded), dtype=bool)
            np.stack(self._masks, out=masks[:, : self.threads])
            active[~memory] = masks.reshape(-1, warps, self._warp_size).any(axis=2)
        used: Mask = np.logical_or.reduce(active, axis=1)
        chunk = LaneChunk(
            kind[used],
            np.array(self._arg, dtype=np.int64)[used],
            active[used],
            address[used[memory]],
            np.array(self._size, dtype=np.int64)[used[memory]],
        )
        self._clear()
        return chunk if len(chunk.kind) else None

    def _check_bounds(self, address: NDArray[np.int64]) -> None:
        low = np.array([array.base for array in self._bounds])[:, None]
        high = np.array([array.base + array.bytes for array in self._bounds])[:, None]
        outside = (address != INACTIVE) & ((address < low) | (address >= high))
        if outside.any():
            row, thread = np.argwhere(outside)[0]
            array = self._bounds[row]
            offset = int(address[row, thread]) - array.base
            raise IndexError(
                f"thread {thread} accesses element {offset // array.element_bytes} "
                f"of {array.name!r}, which has {array.length}"
            )


def _at(value: NDArray[Scalar] | int | float, where: Mask) -> NDArray[Scalar] | int | float:
    """The values of the threads in `where`; a number, or one value for all, stays what it is."""
    return value[where] if isinstance(value, np.ndarray) and value.size > 1 else value
