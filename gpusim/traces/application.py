"""Trace files as applications, whose launches come from the file.

A reader of a format subclasses `TraceLaunch` (`chunks`) and `TraceApplication` (`read_launches`),
and offers a function ``open_FORMAT(path) -> TraceFile``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from attrs import define, evolve, field, frozen

from gpusim.core.code_places import CodePlaces
from gpusim.core.copies import Copy
from gpusim.core.mapping_calls import MappingCall
from gpusim.core.streams import DEFAULT_STREAM, IN_TURN, StreamUse
from gpusim.core.untrusted import brief, untrusted
from gpusim.core.warp_program import (
    NOTHING_ASKED,
    SIDE_OPS,
    Asked,
    Buffer,
    LaneChunk,
    Launch,
)
from gpusim.traces.launch_needs import LaunchNeeds
from gpusim.traces.unread import Unread
from gpusim.traces.warp_width import rewarp

MOST_BLOCKS = (1 << 31) - 1
"""Thread blocks of a launch: the largest grid along x of CUDA."""

MOST_EMPTY_BLOCKS = 1 << 20
"""Thread blocks of a launch of which a file tells nothing (our choice): more are a mere claim."""

MOST_THREADS = 1 << 16
"""Threads of a block (our choice): no GPU has more than 1024."""

MOST_RESOURCES = 1 << 31
"""Registers of a thread, and bytes of shared memory of a block."""

MOST_ACCESS_BYTES = 1 << 12
"""Bytes that a lane accesses at once (our choice): no GPU has more than 32."""

MOST_STREAM = (1 << 63) - 1
"""The largest number of a stream that results can keep."""

ADDRESS_BITS = 57
"""Bits of virtual addresses, as of the largest page tables that there are."""


LEGACY, PER_THREAD, ONE = "legacy", "per-thread", "one"
STREAMS = (LEGACY, PER_THREAD, ONE)
"""What the streams of a trace mean: as CUDA has them by default; with a default stream that waits
for none, as ``nvcc --default-stream per-thread`` makes it; or nothing: launches run in turn."""

_PER_THREAD_STREAM = -1
"""Number of a default stream that is a stream like others."""


def _streams_as(streams: str, use: StreamUse) -> StreamUse:
    """How a launch uses streams if a user says what they mean."""
    if streams == ONE:
        return IN_TURN if use.gpu is None else StreamUse(host_waits=True, gpu=use.gpu)
    if streams == PER_THREAD and use.stream == DEFAULT_STREAM:
        return evolve(use, stream=_PER_THREAD_STREAM)
    return use


def check_launch(blocks: int, threads: int, registers: int = 0, shared_bytes: int = 0) -> None:
    """Refuse a launch that no GPU can have: sizes are claims until memory is taken for them.

    Raises:
        ValueError: one of the numbers is too large; says which, and how large it may be.
    """
    for what, number, most in (
        ("thread blocks", blocks, MOST_BLOCKS),
        ("threads of a block", threads, MOST_THREADS),
        ("registers of a thread", registers, MOST_RESOURCES),
        ("bytes of shared memory", shared_bytes, MOST_RESOURCES),
    ):
        if not 0 <= number <= most:
            raise ValueError(f"{brief(number)} {what}; at most {most} are allowed")


def made_buffer(name: str, base: int, size: int, gpu: int | None = None, piece: int = 0) -> Buffer:
    """An array of a traced program.

    Raises:
        ValueError: it does not lie in an address space.
    """
    if base < 0 or size < 0 or (base + size) >> ADDRESS_BITS:
        raise ValueError(f"an array outside the {ADDRESS_BITS} bits of an address")
    return Buffer(name, base, size, gpu, piece)


@define(kw_only=True, eq=False, repr=False)
class TraceLaunch(ABC):
    """A launch of a trace (a `gpusim.core.warp_program.Launch`).

    Attributes:
        name: the kernel's name.
        blocks: thread blocks; a three-dimensional grid is numbered with x fastest.
        threads_per_block: threads of a block.
        warp_size: threads of a warp, as recorded.
        registers_per_thread: 32-bit registers.
        shared_bytes: shared memory of a block.
        by_thread: whether a lane of a chunk is a thread of its warp, as long as there are as many;
            otherwise lanes are what a warp accessed, in order.
        stream_use: its stream, and what it waits for.
        copy: what it moves, where it does nothing else.
        idle_accesses: memory instructions without an active lane in the blocks read so far, by
            memory space; they count as arithmetic.
        unread: counts what is not honoured; that of its application, if it has one.
        places: in the code, of accesses; those of its application, if it has one.
    """

    name: str
    blocks: int
    threads_per_block: int
    warp_size: int
    registers_per_thread: int = 0
    shared_bytes: int = 0
    by_thread: bool = True
    stream_use: StreamUse = IN_TURN
    copy: Copy | None = None
    idle_accesses: Counter[str] = field(factory=Counter, init=False)
    unread: Unread = field(factory=Unread, init=False)
    places: CodePlaces = field(factory=CodePlaces, init=False)

    @property
    def warps_per_block(self) -> int:
        """Warps of a block."""
        return -(-self.threads_per_block // self.warp_size)

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        """What thread block `block` did; yields its chunks in order, all warps together.

        Warps of another size than was recorded are cut, or put together, from those that were.

        Raises:
            UserError: the file is damaged.
        """
        yield from self._in_warps(block, warp_size, NOTHING_ASKED)

    def _in_warps(self, block: int, warp_size: int, asked: Asked) -> Iterator[LaneChunk]:
        with untrusted(f"kernel {self.name[:80]!r}, block {block}", "cannot be read"):
            chunks = self.chunks(block, asked)
            if warp_size != self.warp_size:
                traced, threads = self.warp_size, self.threads_per_block
                chunks = rewarp(chunks, threads, traced, warp_size, self.by_thread)
            yield from chunks

    def run_block_beside(self, block: int, warp_size: int, asked: Asked) -> Iterator[LaneChunk]:
        """Execute a block with what is asked for, as `core.warp_program.LaunchBeside`.

        Warps that are split or joined have no side operations.
        """
        if warp_size != self.warp_size:
            asked = evolve(asked, kinds=asked.kinds.difference(SIDE_OPS.values()))
        yield from self._in_warps(block, warp_size, asked)

    @abstractmethod
    def chunks(self, block: int, asked: Asked = NOTHING_ASKED) -> Iterator[LaneChunk]:
        """The chunks of a block.  Each block is asked for once, in about increasing order.

        Args:
            block: its number.
            asked: operations that are asked for, as far as the format tells them.
        """


@define(kw_only=True, eq=False, repr=False)
class TraceApplication(ABC):
    """An application of a trace (a `gpusim.core.warp_program.Application`).

    A reader's state belongs to the launches, and `launches` makes new ones each time; `start` gives
    each run counts of its own.  So it can be started as often as needed.

    Attributes:
        name: for results.
        buffers: its arrays; empty where the format has none, and then a page is mapped
            when it is first touched.
        names_all_arrays: whether nothing lies outside of `buffers`.
        share, instance, gpu: what it asks for in its workload, as in `ApplicationSpec`.
        needs: what its launches need of an SM, if the user says other numbers than the trace.
        streams: what becomes of the streams that the trace tells, one of `STREAMS`.
        unread: counts what is not honoured: of its list and headers, then of what is read.
        places: in the code, that were met so far.
        notices: what a user should know of how it is read, a sentence each.
    """

    name: str
    buffers: tuple[Buffer, ...] = ()
    share: float | None = None
    instance: int | None = None
    gpu: int | None = None
    names_all_arrays: bool = False
    needs: LaunchNeeds = field(factory=LaunchNeeds)
    streams: str = LEGACY
    unread: Unread = field(factory=Unread)
    places: CodePlaces = field(factory=CodePlaces)
    notices: tuple[str, ...] = ()

    def start(self) -> Self:
        """The application at the begin of its run."""
        return evolve(self, unread=self.unread.copy(), places=CodePlaces(self.places))

    def launches(self) -> Iterator[Launch]:
        """The launches of one complete run, each with its own place in the file."""
        for launch in self.read_launches():
            if isinstance(launch, MappingCall):
                yield evolve(launch, stream_use=_streams_as(self.streams, launch.stream_use))
                continue
            launch.unread = self.unread
            launch.places = self.places
            launch.registers_per_thread = self.needs.registers_of(launch.registers_per_thread)
            launch.shared_bytes = self.needs.shared_bytes_of(launch.shared_bytes)
            launch.stream_use = _streams_as(self.streams, launch.stream_use)
            yield launch

    def warnings(self) -> Iterator[str]:
        """What a user should know of the run, a sentence each."""
        yield from self.notices
        if self.unread:
            yield f"not all of the trace is modelled: {self.unread.text()}"

    @abstractmethod
    def read_launches(self) -> Iterator[TraceLaunch | MappingCall]:
        """The launches of one complete run, as the file tells them."""


@frozen(eq=False, repr=False)
class TraceFile:
    """An opened trace file: its header is read and checked, its blocks are not.

    Attributes:
        path: the file.
        format: as people call it, such as ``"Accel-Sim traceg"``.
        name: of the workload that it holds.
        applications: in the order of their address spaces.
        files: all that it consists of: files, and folders of files.
        warp_size: threads of a warp, as recorded.
        by_thread: as in `TraceLaunch`.
        scale, seed: of the workload that it holds; placeholders where the trace has none.
        relaunch: whether an application that has ended starts again until all have run once.
    """

    path: Path
    format: str
    name: str
    applications: tuple[TraceApplication, ...]
    files: tuple[Path, ...]
    warp_size: int = 32
    by_thread: bool = True
    scale: str = "trace"
    seed: int = 0
    relaunch: bool = False
