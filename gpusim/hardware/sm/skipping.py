"""Thread blocks without a clock: a scheduler that executes some, and has others timed.

A block that is skipped is executed in numpy, so that what is computed is right, and its accesses
pass through TLBs, walk caches, caches and the page table as they are in that moment; nothing of it
takes time, and nothing is counted.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from mypy_extensions import mypyc_attr

from gpusim.core.warp_program import LaneChunk, Launch
from gpusim.hardware.sm.block_scheduler import BlockScheduler, LaunchRecord
from gpusim.hardware.sm.coalescer import instructions_of
from gpusim.hardware.sm.warp import SkippedBlock


@mypyc_attr(allow_interpreted_subclasses=True)
class Pace:
    """Tells a scheduler when to skip; it is asked before each launch and after each piece."""

    def skips(self, scheduler: SkippingScheduler) -> bool:
        """Whether what is next is skipped."""
        raise NotImplementedError

    def may_begin(self, scheduler: SkippingScheduler) -> bool:
        """Whether a further block may begin to be skipped."""
        return True

    def times(self, scheduler: SkippingScheduler) -> None:
        """From now on, blocks are timed."""


class _Begun:
    """A block that has executed a part of its program, on an SM of its application."""

    def __init__(self, sm: int, chunks: Iterator[LaneChunk]) -> None:
        self.sm = sm
        self.chunks = chunks


class Rest:
    """What is left of a launch (a `Launch`): blocks that have begun, then those that have not.

    Args:
        launch: the whole one.

    Attributes:
        begun: blocks that have begun.
        next: the first one that has not.
        executed: warp instructions that have been executed, whether they are timed or not.
    """

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.begun: list[_Begun] = []
        self.next = 0
        self.executed = 0
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
        number, launch = self.next + block - len(self.begun), _any(self.launch)
        if kinds and hasattr(launch, "run_block_beside"):
            return self._counted(launch.run_block_beside(number, warp_size, kinds))
        return self._counted(launch.run_block(number, warp_size))

    def _counted(self, chunks: Iterator[LaneChunk]) -> Iterator[LaneChunk]:
        for chunk in chunks:
            self.executed += instructions_of(chunk)
            yield chunk


def _any(launch: Any) -> Any:
    """A launch that may be a `LaunchBeside`."""
    return launch


class SkippingScheduler(BlockScheduler):
    """Skips as its pace says; set `pace` before the first cycle.

    While it skips, blocks are in residence as they would be if they were timed: as many as the
    SMs hold, each on the SM that the placement chooses.  Those in residence execute a piece of
    their program each, in turn.  A block may be timed from where it is, and skipped again.

    Attributes:
        pace: when to skip.
        launch: number of the launch.
        skipped: blocks of all launches that have begun to be skipped.
        in_turn: blocks that execute in turn now.
    """

    pace: Pace

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.launch = -1
        self.skipped = 0
        self.in_turn = 0
        self._executed = 0
        self._rest: Rest | None = None
        self._pausing = False
        self._ended = False
        self._paused: list[_Begun] = []

    @property
    def executed(self) -> int:
        """Warp instructions of all launches that have been executed, timed or not."""
        return self._executed + (0 if self._rest is None else self._rest.executed)

    def pause(self) -> None:
        """Time no more: what is under way is answered, then the pace is asked.

        What has been executed and not issued passes through the caches now.
        """
        self._pausing = self._stopped = True
        for block in self._resident:
            segments, chunks = block.executed(), block.cut()
            if chunks is None:
                rest = self._rest
                assert rest is not None
                chunks = rest.run_block(block.index, self._config.warp_size)
            one = self._skipped(block.sm, block.slot, block.warp_slots, chunks)
            self._sms[block.sm].lsu.warm_rest(one, segments)
            self._paused.append(_Begun(block.sm, chunks))
        self.process.wake.now()

    def stop(self) -> None:
        self._ended = True
        super().stop()

    def _run_launch(
        self, launch: Launch, record: LaunchRecord
    ) -> Generator[int | None, None, None]:
        rest = self._rest = Rest(launch)
        self.launch += 1
        while rest.blocks and not self._ended:
            if self.pace.skips(self):
                self._skip(rest)
            else:
                self.pace.times(self)
                record.blocks = 0
                yield from super()._run_launch(rest, record)
                self._after_pause(rest, record.blocks)
        record.blocks = launch.blocks
        self._executed += rest.executed
        self._rest = None

    def _after_pause(self, rest: Rest, placed: int) -> None:
        """Blocks have ended, or are paused: tell what is left."""
        rest.next += max(placed - len(rest.begun), 0)
        rest.begun = [*self._paused, *rest.begun[placed:]]
        self._paused = []
        if self._pausing:
            self._pausing = False
            self._stopped = self._ended

    def _place(self, launch: Launch, index: int) -> bool:
        """A block that has begun goes back to its SM."""
        assert isinstance(launch, Rest)
        if index >= len(launch.begun):
            return super()._place(launch, index)
        sm = launch.begun[index].sm
        fits = self._rooms[sm].fits(launch)
        if fits:
            self._put(launch, index, sm)
        return fits

    # -- without a clock -------------------------------------------------------------------------

    def _skip(self, rest: Rest) -> None:
        """Execute blocks until the pace says otherwise, or none is left."""
        resident = [self._resume(rest, begun) for begun in rest.begun]
        rest.begun = []
        skips = True
        while skips:
            self._begin_some(rest, resident)
            self.in_turn = len(resident)
            if not resident:
                break
            for block in list(resident):
                chunk = next(block.chunks, None)
                if chunk is None:
                    self._rooms[block.home].give_back(rest, block.slot, block.warp_slots)
                    resident.remove(block)
                else:
                    self._sms[block.home].lsu.warm(block, chunk)
                skips = self.pace.skips(self)
                if not skips:
                    break
        for block in resident:
            self._rooms[block.home].give_back(rest, block.slot, block.warp_slots)
            rest.begun.append(_Begun(block.home, block.chunks))

    def _begin_some(self, rest: Rest, resident: list[SkippedBlock]) -> None:
        """As many further blocks as the SMs hold are in residence."""
        while rest.next < rest.launch.blocks and self.pace.may_begin(self):
            sm = self._pick(rest)
            if sm is None:
                return
            chunks = rest.run_block(0, self._config.warp_size)  # none of `rest.begun` is left
            resident.append(self._resume(rest, _Begun(sm, chunks)))
            rest.next += 1
            self.skipped += 1

    def _pick(self, rest: Rest) -> int | None:
        return self._placement.pick(
            rest, rest.next, len(self._sms), lambda sm: self._rooms[sm].fits(rest)
        )

    def _resume(self, rest: Rest, begun: _Begun) -> SkippedBlock:
        slot, warp_slots = self._rooms[begun.sm].take(rest)
        return self._skipped(begun.sm, slot, warp_slots, begun.chunks)

    def _skipped(
        self, home: int, slot: int, warp_slots: list[int], chunks: Iterator[LaneChunk]
    ) -> SkippedBlock:
        """A block in a slot of the SM at position `home`."""
        sm = self._sms[home].index
        return SkippedBlock(self.app, self.asid, sm, home, slot, warp_slots, chunks)
