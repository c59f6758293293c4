"""Records what a thread block does while its kernel is executed in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpusim.core.warp_program import (
    NOTHING_ASKED,
    PASSES,
    UNIT_BITS,
    Asked,
    LaneChunk,
    Op,
    Unit,
    arithmetic_cost,
)
from gpusim.programs.device import DeviceArray, Scalar
from gpusim.programs.lane_record import Index, LaneRecord, Lanes, Mask, taking_part

Dim3: TypeAlias = tuple[int, int, int]
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
_SHARED_LOAD: Final = int(Op.SHARED_LOAD)
_SHARED_STORE: Final = int(Op.SHARED_STORE)
_UNITS: Final = int(Op.UNITS)
_DELAY: Final = int(Op.DELAY)
_ARITHMETIC: Final = int(Op.ARITHMETIC)

LANES_PER_CHUNK = 1 << 15
"""Lane addresses after which a block hands over what it has recorded."""

ROWS_IN_STEP = 16
"""Instructions after which blocks in step do."""


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

    @property
    def blocks(self) -> int:
        """Number of thread blocks; x runs fastest."""
        x, y, z = self.grid
        return x * y * z

    @property
    def threads(self) -> int:
        """Threads of a block."""
        x, y, z = self.block
        return x * y * z


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
    """Linear number, x, y and z of each thread of `count` blocks, one after another; read-only."""
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
        shape: grid and block of the launch.
        blocks: how many thread blocks there are: 1; several if they execute in step (`StepTracer`).
        threads: threads of the block, or of all blocks in step: one block's after another's.
        which: 0; of blocks in step the number of each thread's among them, from 0 on.
        tid: (threads,) int64, linear thread number in the block.
        tx, ty, tz: (threads,) int64, thread index.
        bx, by, bz: block index, an int; of blocks in step that of each thread.
        t: (threads,) int64, ``bx * X + tx``: the thread number in a one-dimensional grid.
    """

    __slots__ = (
        "_asked",
        "_record",
        "blocks",
        "bx",
        "by",
        "bz",
        "shape",
        "t",
        "threads",
        "tid",
        "tx",
        "ty",
        "tz",
        "which",
    )

    which: Any
    bx: Any
    by: Any
    bz: Any

    def __init__(
        self, shape: Shape, block: int, warp_size: int, asked: Asked = NOTHING_ASKED
    ) -> None:
        self.blocks, self.which = 1, 0
        self._asked = asked
        self._place(shape, _in_grid(shape, block), _threads(shape.block), warp_size)

    def _place(
        self,
        shape: Shape,
        block: tuple[Any, Any, Any],
        threads: tuple[Lanes, Lanes, Lanes, Lanes],
        warp_size: int,
    ) -> None:
        """Set the numbers of the threads and of their block, or of each thread's block."""
        self.shape = shape
        self.tid, self.tx, self.ty, self.tz = threads
        self.threads = len(self.tid)
        self.bx, self.by, self.bz = block
        self.t = self.bx * shape.block[0] + self.tx
        self._record = LaneRecord(self.threads, self.blocks, warp_size)

    # Instructions ---------------------------------------------------------------------------

    def load(
        self, array: DeviceArray[Scalar], index: Index, where: Mask | None = None
    ) -> NDArray[Scalar]:
        """Read ``array[index]``; the value arrives at the next `wait`.

        Returns:
            (threads,) values, or (1,) if `index` is an int; arbitrary outside `where`.
        """
        who = taking_part(where)
        elements = self._record.access(_LOAD, array, index, who)
        if isinstance(elements, int):
            return array.data[elements : elements + 1].copy()
        if who is None or len(elements) == self.threads:
            return array.data.take(elements)
        values = array.data[:1].repeat(self.threads)
        values[who] = array.data[elements]
        return values

    def fetch(
        self, array: DeviceArray[Scalar], index: Index, where: Mask | None = None
    ) -> NDArray[Scalar]:
        """`load`, then `wait` for all values that are still on their way."""
        value = self.load(array, index, where)
        self.wait(0, where)
        return value

    def store(
        self,
        array: DeviceArray[Scalar],
        index: Index,
        value: NDArray[Scalar] | int | float,
        where: Mask | None = None,
    ) -> None:
        """Write ``array[index] = value``; of threads with one address, the last one wins."""
        who = taking_part(where)
        self._record.access(_STORE, array, index, who)
        if isinstance(index, int):
            if who is None or len(who):
                lanes = np.broadcast_to(value, self.threads)
                array.data[index] = lanes[-1] if who is None else lanes[who][-1]
        elif who is None:
            array.data[index] = value
        else:
            array.data[index[who]] = _at(value, who)

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
        who = taking_part(where)
        self._record.access(_REDUCE, array, index, who)
        if who is None:
            combine.at(array.data, index, value)
        else:
            combine.at(array.data, index[who], _at(value, who))

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
        who = taking_part(where)
        self._record.access(_ATOMIC, array, index, who)
        old = np.zeros(self.threads, dtype=array.data.dtype)
        amount = np.broadcast_to(value, self.threads)
        for thread in np.arange(self.threads)[... if who is None else who]:
            cell = index[thread]
            old[thread] = array.data[cell]
            array.data[cell] += amount[thread]
        return old

    def compute(self, instructions: int, where: Mask | None = None) -> None:
        """Arithmetic: a number of instructions that touch no memory."""
        self._record.add(_COMPUTE, instructions, taking_part(where))

    def arithmetic(
        self, unit: Unit, instructions: int, chain: int = 0, where: Mask | None = None
    ) -> None:
        """Arithmetic of one functional unit, and the wait for its results.

        On a machine without `sm.arithmetic` it is `compute`.

        Args:
            unit: that executes the instructions.
            instructions: how many.
            chain: of them, one after the other, as each needs the result of the one before; the
                last result is waited for.  0: none is.
            where: the threads that take part; None: all.
        """
        who, asked = taking_part(where), self._asked
        self._record.add(_COMPUTE, instructions, who)
        if _ARITHMETIC in asked:
            self._record.add(_ARITHMETIC, chain << UNIT_BITS | unit, who)
        elif asked.latency:
            units, delay = arithmetic_cost(asked, unit, instructions, chain)
            if units:
                self._record.add(_UNITS, units, who)
            if delay:
                self._record.add(_DELAY, delay, who)

    def shared(self, passes: int, where: Mask | None = None, times: int = 1) -> None:
        """`times` shared-memory accesses, each of `passes` conflict-free passes, 1 at best.

        The warp waits for each, or for the last of several; `shared_load` and `shared_store` do
        not.
        """
        self._share(_SHARED, passes, where, times)

    def shared_load(self, passes: int, where: Mask | None = None, times: int = 1) -> None:
        """`times` loads from shared memory, whose values arrive at the next `wait`, as of `load`.

        On a machine that does not follow them (`sm.shared_loads`) it is `shared`.
        """
        follows = _SHARED_LOAD in self._asked
        self._share(_SHARED_LOAD if follows else _SHARED, passes, where, times)

    def shared_store(self, passes: int, where: Mask | None = None, times: int = 1) -> None:
        """`times` stores to shared memory, which are not waited for; else as `shared_load`."""
        follows = _SHARED_STORE in self._asked
        self._share(_SHARED_STORE if follows else _SHARED, passes, where, times)

    def _share(self, op: int, passes: int, where: Mask | None, times: int) -> None:
        if not 0 <= passes <= PASSES:
            raise ValueError(f"{passes} passes of shared memory; allowed: 0 to {PASSES}")
        who = taking_part(where)
        for _ in range(times):
            self._record.add(op, passes, who)

    def barrier(self, where: Mask | None = None) -> None:
        """Wait for all warps of the block; of blocks in step: of each that is in `where`."""
        self._record.add(_BARRIER, 0, taking_part(where))

    def wait(self, outstanding: int = 0, where: Mask | None = None) -> None:
        """Wait until at most `outstanding` loads and atomics, the youngest, have no value yet."""
        self._record.add(_WAIT, outstanding, taking_part(where))

    # Recording ------------------------------------------------------------------------------

    @property
    def full(self) -> bool:
        """Whether so much is recorded that it should be handed over."""
        record = self._record
        return (
            record.lane_addresses >= LANES_PER_CHUNK
            or record.operations * self.threads >= 4 * LANES_PER_CHUNK
        )

    def take(self) -> LaneChunk | None:
        """Hand over all that was recorded since the last call; None if no warp did anything.

        Raises:
            IndexError: a thread left its array: the kernel is wrong.
        """
        return self._record.take()


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
        self._asked = NOTHING_ASKED
        x, y, z = (np.repeat(one, own) for one in _in_grid(shape, np.array(blocks)))
        self._place(shape, (x, y, z), threads, warp_size)

    @property
    def full(self) -> bool:
        return self._record.operations >= ROWS_IN_STEP


def _in_grid(shape: Shape, block: Any) -> tuple[Any, Any, Any]:
    """The indices of a block in a grid, by its number; (blocks,) numbers give (blocks,) indices."""
    x, y, _ = shape.grid
    return block % x, block // x % y, block // (x * y)


def _at(value: NDArray[Scalar] | int | float, who: Mask | Lanes) -> NDArray[Scalar] | int | float:
    """The values of the threads that take part; a number, or one value for all, is returned."""
    return value[who] if isinstance(value, np.ndarray) and value.size > 1 else value
