"""Programs as a GPU sees them: launches of thread blocks, whose warps run operations.

A kernel (or a trace) yields its blocks **lane by lane**, as numpy arrays (`LaneChunk`); the
coalescer of an SM turns a chunk into one `Segment` of transactions per warp.  Both are made lazily,
a piece of one thread block at a time, so that memory does not grow with the program's length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any, Final, Protocol

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from gpusim.core.copies import Copy
from gpusim.core.streams import StreamUse
from gpusim.core.unboxed import IntList


class Op(IntEnum):
    """Operations of a warp, and what their argument means."""

    COMPUTE = 0
    """Arithmetic: the argument is the number of instructions."""
    LOAD = 1
    """Non-blocking load: the argument is the number of transactions."""
    STORE = 2
    """Store: transactions."""
    ATOMIC = 3
    """Atomic with a return value, waited for like a load: transactions."""
    REDUCE = 4
    """Atomic without a return value, posted like a store: transactions."""
    SHARED = 5
    """Shared-memory access: the argument is the number of conflict-free passes (1 is best), and
    perhaps what they would be at least (`LEAST_SHIFT`)."""
    BARRIER = 6
    """Wait for all warps of the block: the argument is 0."""
    WAIT = 7
    """Wait until at most *argument* of the warp's own loads and atomics, the youngest, are
    outstanding (0: all values have arrived)."""
    PACE = 8
    """Do not go on before *argument* cycles after the launch began: a trace keeps its times."""
    SCALAR = 9
    """Load of a value that all lanes have in common, waited for like any load: transactions."""
    CONSTANT = 10
    """Load of a value that all lanes have in common, from constant memory: transactions."""
    READ_ONLY = 11
    """Load of read-only data, with an address a lane: transactions."""
    FETCH = 12
    """Wait until code is there: the argument is the number of transactions."""
    SHARED_LOAD = 13
    """Shared-memory access with a value that is waited for like that of a load: passes, as of
    SHARED."""
    SHARED_STORE = 14
    """Shared-memory access that is not waited for: passes, as of SHARED."""
    UNITS = 15
    """The functional units of the arithmetic just issued take *argument* more cycles of the issue
    port than its instructions do."""
    DELAY = 16
    """Wait *argument* cycles until the results of arithmetic just issued are there."""
    COHERENT_LOAD = 17
    """Load that the L2 cache answers, whatever the L1 cache holds (PTX: ld.cg, ld.cv, and loads
    that are strong beyond their SM): transactions."""
    INVALIDATE = 18
    """The L1 cache of the SM forgets all lines: the argument is 0."""
    ARITHMETIC = 19
    """In recordings, behind instructions of arithmetic: the `Unit` that executes them, and above
    `UNIT_BITS` how many need the result of the one before.  A machine gets UNITS and DELAY."""


NO_INSTRUCTION = (
    Op.WAIT,
    Op.PACE,
    Op.FETCH,
    Op.UNITS,
    Op.DELAY,
    Op.INVALIDATE,
    Op.ARITHMETIC,
)
"""Operations that take no issue cycle, and count as no instruction."""

SIDE_OPS = {
    "scalar": Op.SCALAR,
    "constant": Op.CONSTANT,
    "read_only": Op.READ_ONLY,
    "instruction": Op.FETCH,
}
"""What goes to which side cache; a program states these operations only if it is asked for them
(`LaunchBeside`)."""

SCOREBOARD_OPS = frozenset({Op.SHARED_LOAD, Op.SHARED_STORE})
"""Shared-memory accesses of SMs that follow them in a scoreboard; stated only if asked for."""

ARITHMETIC_OPS = frozenset({Op.UNITS, Op.DELAY})
"""What arithmetic costs beside issue cycles; stated only if asked for."""


class Unit(IntEnum):
    """Functional units of an SM, by the instructions that they execute."""

    INTEGER = 0
    FP32 = 1
    FP64 = 2
    SPECIAL = 3
    """Transcendental functions and conversions."""
    TENSOR = 4


@frozen(repr=False)
class Asked:
    """What a machine asks of a program, beside its accesses, arithmetic and barriers.

    Attributes:
        kinds: operations, of those that a program states only if it is asked for them.
        latency: by `Unit`, cycles from an instruction's issue to one that needs its result.
        interval: by `Unit`, cycles of one scheduler's unit that an instruction takes.
        places: whether accesses name their places in the code (`LaneChunk.place`).
    """

    kinds: frozenset[int] = frozenset()
    latency: tuple[int, ...] = ()
    interval: tuple[int, ...] = ()
    places: bool = False

    def __contains__(self, op: object) -> bool:
        return op in self.kinds


NOTHING_ASKED = Asked()

UNIT_BITS: Final = 3
"""Bits of a `Unit` in an argument."""


def arithmetic_cost(asked: Asked, unit: int, instructions: int, chain: int) -> tuple[int, int]:
    """What arithmetic of one unit costs a machine beside its issue cycles.

    Args:
        asked: by the machine, with units.
        unit: number of the `Unit` that executes the instructions.
        instructions: how many.
        chain: of them, one after the other; the last result is waited for.

    Returns:
        the arguments of UNITS and DELAY; 0: no such operation.
    """
    busy = max(instructions * asked.interval[unit], instructions)
    return busy - instructions, max(chain * asked.latency[unit] - busy, 0)


MEMORY_OPS = frozenset({Op.LOAD, Op.STORE, Op.ATOMIC, Op.REDUCE, Op.COHERENT_LOAD})

_COMPUTE: Final = int(Op.COMPUTE)
_SHARED: Final = int(Op.SHARED)
_BARRIER: Final = int(Op.BARRIER)
_NO_INSTRUCTION: Final = frozenset(map(int, NO_INSTRUCTION))

_INSTRUCTIONS = np.ones(256, dtype=np.int64)
_INSTRUCTIONS[list(NO_INSTRUCTION)] = 0
"""By `Op`, the instructions of one that is no arithmetic."""

LEAST_SHIFT: Final = 16
"""Passes through banks tell, this far above their number, what it would be without conflicts; 0
there: one."""

PASSES: Final = (1 << LEAST_SHIFT) - 1
"""All passes that an access can have."""

SECTOR_BYTES: Final = 32
"""The grain of transactions: what a lane of an instruction does not cross."""

WHOLE_SECTOR: Final = (1 << SECTOR_BYTES) - 1
"""All bytes of a sector, a bit each."""

COVERED_SHIFT: Final = 8
"""Stores tell, this far above the sectors that they touch, those that they write in whole, if a
cache of the machine asks for that."""

SECTORS: Final = (1 << COVERED_SHIFT) - 1
"""All sectors that a line can have."""

SECTOR_COUNTS: Final = [mask.bit_count() for mask in range(SECTORS + 1)]
"""By mask of sectors, how many they are: a method of integers is called by its name."""

BYTES_SHIFT: Final = 2 * COVERED_SHIFT
"""Above these, stores tell the bytes that they write in other sectors, a bit each, if the L2 cache
keeps byte masks; atomics tell the turns in which they change their words, if it takes turns."""

WHOLE_TURNS: Final = 16
"""Turns of an atomic in which all words change stand this far above its others (`BYTES_SHIFT`)."""

INACTIVE: Final = -1
"""The address of a lane that takes no part in an instruction."""


@define(eq=False, repr=False)
class LaneChunk:
    """A piece of a thread block's execution, before coalescing.

    Attributes:
        kind: (n,) uint8, the `Op` of each instruction, in program order.
        arg: (n,) int64, its argument (ignored for memory operations).
        active: (n, warps) bool, which warps execute it.
        address: (m, warps, lanes) int64, byte addresses of the m memory operations (side
            operations included) among the n, in order; `INACTIVE` where a lane takes no part.  The
            number of lanes is that of this chunk: that of a warp, or as many as the widest
            operation needs; with m = 0 it means nothing, and may be 0.
        size: (m,) int64, bytes that each lane accesses; a lane does not cross a sector.
        place: (m,) int64, number of each one's place in the code (`gpusim.core.code_places`); None:
            the program does not know them, or was not asked (`Asked.places`).
    """

    kind: NDArray[np.uint8]
    arg: NDArray[np.int64]
    active: NDArray[np.bool_]
    address: NDArray[np.int64]
    size: NDArray[np.int64]
    place: NDArray[np.int64] | None = None


def instructions_of(chunk: LaneChunk) -> int:
    """Warp instructions of a chunk, as an SM counts them when it issues them."""
    (count,), _ = executed_in(chunk, 1)
    return count


def executed_in(chunk: LaneChunk, parts: int) -> tuple[list[int], float]:
    """What each of `parts` equal parts of a chunk's warps executes.

    Returns:
        their warp instructions, as an SM counts them when it issues them; operations that a warp
        executes, the mean of that part which has most.
    """
    rows, every = chunk.active.shape
    own = every // parts
    each = np.where(chunk.kind == _COMPUTE, chunk.arg, _INSTRUCTIONS[chunk.kind])
    each[(chunk.kind == _SHARED) & (chunk.arg == 0)] = 0
    if chunk.active.all():
        return [int(each.sum()) * own] * parts, float(rows)
    warps = np.count_nonzero(chunk.active.reshape(rows, parts, own), axis=2)
    counts: list[int] = (each @ warps).tolist()
    return counts, int(warps.sum(axis=0).max()) / own


class Segment:
    """A piece of one warp's program, after coalescing, as plain sequences for the event loop.

    Attributes:
        kinds, args: one `Op` (a byte) and argument an operation.
        lines: virtual line numbers of all transactions, in order; each memory operation takes as
            many as its argument says.
        sectors: for each of them, the bit mask of the 32-byte sectors it touches; of stores also
            those that it covers (`COVERED_SHIFT`).
        passes: by operation, those of a memory operation through the L1 cache (`LEAST_SHIFT`);
            empty where transactions pass it one at a time.
        places: by operation, the number of its place in the code; empty where none is known.
    """

    __slots__ = ("args", "kinds", "lines", "passes", "places", "sectors")

    def __init__(
        self,
        kinds: bytes,
        args: list[int],
        lines: IntList,
        sectors: list[int],
        passes: list[int],
        places: list[int],
    ) -> None:
        self.kinds = kinds
        self.args = args
        self.lines = lines
        self.sectors = sectors
        self.passes = passes
        self.places = places

    def instructions(self) -> int:
        """Warp instructions, as an SM counts them when it issues them."""
        count = 0
        for kind, arg in zip(self.kinds, self.args, strict=True):
            if kind == _COMPUTE:
                count += arg
            elif kind == _BARRIER:
                count += 1
            elif kind not in _NO_INSTRUCTION:
                count += int(arg > 0)
        return count


@frozen
class Buffer:
    """An array in an application's virtual address space.

    Attributes:
        name: for reports.
        base: virtual byte address.
        bytes: its size.
        gpu: the GPU of a node in whose memory it lies, numbered among those of its application;
            None: where the machine places its pages.
        piece: bytes that are mapped at a time, by the program itself (`MappingCall`), of an array
            that at first has addresses alone; 0: all of it is there.
    """

    name: str
    base: int
    bytes: int
    gpu: int | None = None
    piece: int = 0


class Launch(Protocol):
    """One kernel launch: its geometry, its needs, and its blocks, run when they are asked for."""

    @property
    def name(self) -> str:
        """The kernel's name."""

    @property
    def blocks(self) -> int:
        """Number of thread blocks."""

    @property
    def threads_per_block(self) -> int:
        """Threads of a block."""

    @property
    def registers_per_thread(self) -> int:
        """32-bit registers of a thread."""

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block, in bytes."""

    @property
    def stream_use(self) -> StreamUse:
        """Its stream, and what it waits for."""

    @property
    def copy(self) -> Copy | None:
        """What it copies, if it does nothing else."""

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        """Execute thread block `block`; yields its chunks in order, all warps together."""


class LaunchBeside(Launch, Protocol):
    """A launch that also knows what goes past the L1 cache: scalar loads, constants, its code."""

    def run_block_beside(self, block: int, warp_size: int, asked: Asked) -> Iterator[LaneChunk]:
        """As `run_block`, with the operations that are asked for, as far as the launch knows them.

        Those of other kinds are what `run_block` makes of them: nothing, arithmetic, or a load.
        """


def execute_block(launch: Launch, block: int, warp_size: int, asked: Asked) -> Iterator[LaneChunk]:
    """Execute a thread block, with the operations that are asked for if its launch knows them.

    Args:
        launch: perhaps a `LaunchBeside`.
        block: index of the block.
        warp_size: lanes of a warp.
        asked: as in `LaunchBeside.run_block_beside`.
    """
    known: Any = launch
    if (asked.kinds or asked.places) and hasattr(known, "run_block_beside"):
        chunks: Iterator[LaneChunk] = known.run_block_beside(block, warp_size, asked)
        return chunks
    return launch.run_block(block, warp_size)


class LaunchInStep(Launch, Protocol):
    """A launch that can execute several thread blocks at once, instruction by instruction."""

    def run_in_step(self, blocks: Sequence[int], warp_size: int) -> Iterator[LaneChunk] | None:
        """Execute blocks in step; their warps stand side by side in its chunks, block by block.

        An instruction that only some of the blocks execute has no active warps of the others.
        None: its blocks have to be executed one by one.
        """


MOST_IN_STEP: Final = 1 << 13
"""Threads of all blocks in step: their values, arrays of 64 KiB, stay in a core's caches."""


def most_in_step(launch: Launch, warp_size: int) -> int:
    """How many thread blocks of a launch, of whole warps, should execute in step."""
    warps = max(-(-launch.threads_per_block // warp_size), 1)
    return max(MOST_IN_STEP // (warps * warp_size), 1)


def execute_in_step(
    launch: Launch, blocks: Sequence[int], warp_size: int
) -> Iterator[LaneChunk] | None:
    """Execute thread blocks in step, if their launch knows how (`LaunchInStep`)."""
    known: Any = launch
    if not hasattr(known, "run_in_step"):
        return None
    chunks: Iterator[LaneChunk] | None = known.run_in_step(blocks, warp_size)
    return chunks


class Application(Protocol):
    """A program in execution: its arrays, and its launches one after the other.

    A launch is asked for only when the one before has drained, so a host loop may look at results.
    """

    @property
    def name(self) -> str:
        """The program's name."""

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All arrays, in allocation order; fixed before the first launch."""

    def launches(self) -> Iterator[Launch]:
        """The kernel launches of one complete run, from freshly initialised arrays."""
