"""Thread blocks without a clock: a scheduler that skips parts of a program and times others.

What is skipped of a block is executed in numpy, so that what is computed is right, and its accesses
pass through TLBs, walk caches, caches and the page table as they are in that moment; nothing of it
takes time, and nothing is counted.  A block may be skipped, timed and skipped again.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final

from mypy_extensions import mypyc_attr

from gpusim.core.pieces import pieces_of
from gpusim.core.warp_program import (
    LaneChunk,
    Launch,
    Segment,
    execute_block,
    execute_in_step,
    most_in_step,
)
from gpusim.hardware.sm.block_scheduler import BlockScheduler, LaunchRecord
from gpusim.hardware.sm.in_step import InStep, next_part
from gpusim.hardware.sm.skipped_accesses import Touched
from gpusim.hardware.sm.warp import Block, SkippedBlock

PIECE_ROWS: Final = 16
"""Instructions that a block executes at most before another one has its turn [our choice]; in step
they are so many and up to as many more, as loops end."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Pace:
    """Tells schedulers what to skip and what to time.

    It is asked before each launch, after each piece, and when a scheduler has paused.
    """

    def skips(self, scheduler: SkippingScheduler) -> bool:
        """Whether what is next is skipped."""
        raise NotImplementedError

    def may_begin(self, scheduler: SkippingScheduler) -> bool:
        """Whether a further block may begin to be skipped."""
        return True

    def may_time(self, scheduler: SkippingScheduler) -> bool:
        """Whether what is next may be timed now; if not, whoever says so wakes the scheduler."""
        return True

    def kind_of_scheduler(self) -> type[SkippingScheduler]:
        """What of applications asks it."""
        return SkippingScheduler


class Rest:
    """What is left of a launch (a `Launch`): blocks that have begun, then those that have not.

    Args:
        launch: the whole one.

    Attributes:
        begun: blocks that have begun.
        next: the first one that has not.
    """

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.begun: list[SkippedBlock] = []
        self.next = 0
        self.name = launch.name
        self.threads_per_block = launch.threads_per_block
        self.registers_per_thread = launch.registers_per_thread
        self.shared_bytes = launch.shared_bytes

    @property
    def blocks(self) -> int:
        """How many are left."""
        return len(self.begun) + self.launch.blocks - self.next

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        """Execute the `block`-th of those that are left, from where it is."""
        return self.run_block_beside(block, warp_size, frozenset())

    def run_block_beside(
        self, block: int, warp_size: int, kinds: frozenset[int]
    ) -> Iterator[LaneChunk]:
        """Likewise, with operations of side caches."""
        if block < len(self.begun):
            return self.begun[block].chunks
        return self.begin(self.next + block - len(self.begun), warp_size, kinds)

    def has_been_paused(self, block: int) -> bool:
        """Whether one of those that are left has been timed and paused."""
        return block < len(self.begun) and self.begun[block].been_paused

    def segments_of(self, block: int) -> list[list[Segment]]:
        """Of one that has begun: what its warps begin with."""
        return self.begun[block].segments if block < len(self.begun) else []

    def begin(self, block: int, warp_size: int, kinds: frozenset[int]) -> Iterator[LaneChunk]:
        """Execute a block of the whole launch, piece by piece."""
        return _in_pieces(execute_block(self.launch, block, warp_size, kinds), PIECE_ROWS)

    def begin_in_step(self, blocks: range, warp_size: int) -> Iterator[LaneChunk] | None:
        """Likewise several blocks in step; None: they have to begin one by one."""
        chunks = execute_in_step(self.launch, blocks, warp_size)
        return None if chunks is None else _in_pieces(chunks, 2 * PIECE_ROWS)

    def go_on(self, placed: int, paused: list[SkippedBlock]) -> None:
        """So many of those that were left have been placed, and some of them have been paused."""
        self.next += max(placed - len(self.begun), 0)
        self.begun = [*paused, *self.begun[placed:]]


@mypyc_attr(allow_interpreted_subclasses=True)
class SkippingScheduler(BlockScheduler):
    """Skips and times as its pace says; set `pace` before the first cycle.

    While it skips, blocks are in residence as they would be if they were timed: as many as the
    SMs hold, each on the SM that the placement chooses.  Those in residence execute a piece of
    their program each, in turn.  Those that have begun are timed from where they are, on their SMs.

    Attributes:
        pace: what to skip.
        launch: number of the launch.
        passed: warp instructions that have been skipped.
        skipped: blocks of all launches that have begun to be skipped.
        in_turn: blocks that execute in turn now.
        executed_pieces: that blocks which were paused had executed since they were last, for each
            of their warps.
        waiting_pieces: of these, and of earlier ones, that warps had not begun, as they came apart.
        paused: how many blocks have been paused, each as often as it was.
        paused_again: those of them that had been paused before.
    """

    pace: Pace
    launch: int = -1
    passed: int = 0
    skipped: int = 0
    in_turn: int = 0
    executed_pieces: int = 0
    waiting_pieces: int = 0
    paused: int = 0
    paused_again: int = 0
    _pausing: bool = False
    _rest: Rest | None = None
    """What is timed now."""

    _issued: int = 0
    """While nothing is timed: what has been issued."""

    _paused: list[SkippedBlock]
    """What was timed last, and has not ended."""

    @property
    def executed(self) -> int:
        """Warp instructions that have been skipped or issued."""
        return self.passed + (self._issued if self._rest is None else self.issued())

    def issued(self) -> int:
        """Warp instructions that have been issued."""
        issued = 0
        for sm in self._sms:
            issued += sm.counters[self.app].instructions
        return issued

    def pause(self) -> None:
        """Time no more: what warps have in hand is issued and answered, then the pace is asked.

        Where nothing is timed, the pace will be asked anyhow.
        """
        rest = self._rest
        if rest is None or self._pausing:
            return
        self._pausing = True
        paused: list[SkippedBlock] = []
        for block in self._resident:
            if not block.live:
                continue
            left = block.pause()
            if left is None:
                kinds = self._beside(block.sm)
                chunks = rest.run_block_beside(block.index, self._config.warp_size, kinds)
                left = chunks, rest.segments_of(block.index)
            paused.append(self._without_clock(block.sm, block.slot, block.warp_slots, *left))
            self.executed_pieces += block.pieces * len(block.warp_slots)
            self.paused += 1
            if rest.has_been_paused(block.index):
                self.paused_again += 1
            paused[-1].been_paused = True
            for queue in paused[-1].segments:
                self.waiting_pieces += len(queue)
        self._paused = sorted(paused, key=lambda one: (one.slot, one.home))
        self.process.wake.now()

    def _before(self, launch: Launch) -> int:
        """No time passes before a launch that is skipped."""
        self.launch += 1
        return 0 if self.pace.skips(self) else super()._before(launch)

    def _places_more(self) -> bool:
        return not self._pausing and super()._places_more()

    def _run_launch(
        self, launch: Launch, record: LaunchRecord
    ) -> Generator[int | None, None, None]:
        rest = Rest(launch)
        while rest.blocks and not self._stopped:
            self._skip(rest)
            if not rest.blocks or self._stopped:
                break
            while not self.pace.may_time(self):
                yield None
            record.blocks = 0
            self._rest = rest
            self._paused = []
            yield from super()._run_launch(rest, record)
            rest.go_on(record.blocks, self._paused)
            self._rest = None
            self._issued = self.issued()
            self._pausing = False
        record.blocks = launch.blocks - rest.blocks

    def _place(self, launch: Launch, index: int) -> bool:
        """A block that has begun goes back to its SM."""
        if not isinstance(launch, Rest) or index >= len(launch.begun):
            return super()._place(launch, index)
        home = launch.begun[index].home
        fits = self._rooms[home].fits(launch)
        if fits:
            self._put(launch, index, home)
        return fits

    # -- without a clock -------------------------------------------------------------------------

    def _skip(self, rest: Rest) -> None:
        """Execute blocks until the pace says otherwise, or none is left."""
        if not self.pace.skips(self):
            return
        resident = rest.begun
        for block in resident:
            block.slot, block.warp_slots = self._rooms[block.home].take(rest)
        while self.pace.skips(self):
            self._begin_some(rest, resident)
            self.in_turn = len(resident)
            if not resident:
                break
            for block in list(resident):
                if not self._advance(block):
                    self._rooms[block.home].give_back(rest, block.slot, block.warp_slots)
                    resident.remove(block)
                if not self.pace.skips(self):
                    break
        for block in resident:
            self._rooms[block.home].give_back(rest, block.slot, block.warp_slots)

    def _begin_some(self, rest: Rest, resident: list[SkippedBlock]) -> None:
        """As many further blocks as the SMs hold are in residence."""
        first, begun = rest.next, []
        while rest.next < rest.launch.blocks and self.pace.may_begin(self):
            home = self._placement.pick(
                rest, rest.next, len(self._sms), lambda sm: self._rooms[sm].fits(rest)
            )
            if home is None:
                break
            slot, warp_slots = self._rooms[home].take(rest)
            begun.append(self._without_clock(home, slot, warp_slots, iter(()), []))
            rest.next += 1
            self.skipped += 1
        most = most_in_step(rest, self._config.warp_size)
        for number in range(0, len(begun), most):
            self._begin(rest, first + number, begun[number : number + most])
        resident += begun

    def _begin(self, rest: Rest, first: int, blocks: list[SkippedBlock]) -> None:
        """Begin to execute blocks that follow each other in the grid, in step if they can."""
        warp_size = self._config.warp_size
        pieces = None
        if len(blocks) > 1:
            pieces = rest.begin_in_step(range(first, first + len(blocks)), warp_size)
        together = None if pieces is None else InStep(pieces, len(blocks), self._touched)
        for number, block in enumerate(blocks):
            if together is None:
                block.chunks = rest.begin(first + number, warp_size, self._beside(block.home))
            else:
                block.chunks = together.parts_of(number)

    def _touched(self, chunk: LaneChunk, blocks: int) -> list[Touched]:
        """What so many blocks side by side access in a piece."""
        return self._sms[0].lsu.touched(chunk, blocks)

    def _without_clock(
        self, home: int, slot: int, warp_slots: list[int], chunks: Iterator[LaneChunk],
        segments: list[list[Segment]],
    ) -> SkippedBlock:  # fmt: skip
        sm = self._sms[home].index
        return SkippedBlock(self.app, self.asid, sm, home, slot, warp_slots, chunks, segments)

    def _begins(self, block: Block) -> None:
        """Warps that were at different places still are."""
        if isinstance(block.launch, Rest) and (left := block.launch.segments_of(block.index)):
            block.go_on_with(left)

    def _beside(self, home: int) -> frozenset[int]:
        """Operations for which an SM has a side cache."""
        return frozenset(self._sms[home].sides)

    def _advance(self, block: SkippedBlock) -> bool:
        """Let a block execute a piece; False if it has ended."""
        if any(map(len, block.segments)):
            return self._advance_apart(block)
        part = next_part(block.chunks, self._touched)
        if part is None:
            return False
        self.passed += part.instructions
        self._sms[block.home].lsu.warm(block, part.touched)
        return True

    def _advance_apart(self, block: SkippedBlock) -> bool:
        """Let each warp of a block execute its next piece, and stay as far from others as it is."""
        lsu = self._sms[block.home].lsu
        for left in block.segments:
            if not left and (chunk := next(block.chunks, None)) is not None:
                for queue, segment in zip(block.segments, lsu.coalesced(chunk), strict=True):
                    if segment.kinds:
                        queue.append(segment)
            if left:
                segment = left.pop(0)
                self.passed += segment.instructions()
                lsu.warm_segment(block, segment)
        return True


def _in_pieces(chunks: Iterator[LaneChunk], rows: int) -> Iterator[LaneChunk]:
    for chunk in chunks:
        yield from pieces_of(chunk, rows)
