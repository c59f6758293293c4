"""Thread blocks without a clock: a scheduler that skips parts of a program and times others.

What is skipped of a block is executed in numpy, so that what is computed is right.  Before anything
is timed, and at the end of a launch, what was touched last passes through TLBs, walk caches, caches
and the page table; nothing of it takes time, and nothing is counted.  A block may be skipped, timed
and skipped again.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.streams import DEFAULT_STREAM, stream_use
from gpusim.core.warp_program import Application, LaneChunk, Launch, Segment
from gpusim.hardware.sm.block_scheduler import BlockScheduler, LaunchRecord, Running
from gpusim.hardware.sm.occupancy import Occupancy
from gpusim.hardware.sm.sm import Sm
from gpusim.hardware.sm.start_rate import StartRate
from gpusim.hardware.sm.untimed.accesses import Ints, Touched, touched_in
from gpusim.hardware.sm.untimed.block_pace import Beside, Turns
from gpusim.hardware.sm.untimed.in_step import next_part
from gpusim.hardware.sm.untimed.last_touches import LastTouches
from gpusim.hardware.sm.untimed.partial_launch import PIECE_ROWS, Rest
from gpusim.hardware.sm.untimed.warm_up import Passage
from gpusim.hardware.sm.warp import Block, Seat, SkippedBlock


@mypyc_attr(allow_interpreted_subclasses=True)
class Pace:
    """Decides what schedulers skip and what they time.

    Schedulers call it before each launch, after each piece, and when they have paused.
    """

    def skips(self, scheduler: SkippingScheduler) -> bool:
        """Whether what is next is skipped."""
        raise NotImplementedError

    def may_begin(self, scheduler: SkippingScheduler) -> bool:
        """Whether a further block may begin to be skipped."""
        return True

    def may_time(self, scheduler: SkippingScheduler) -> bool:
        """Whether what is next may be timed now; if not, this object wakes the scheduler later."""
        return True

    def goes_around(self) -> bool:
        """Whether an application begins again of which a whole run has been skipped."""
        return False

    def kind_of_scheduler(self) -> type[SkippingScheduler]:
        """What of applications asks it."""
        return SkippingScheduler


@mypyc_attr(allow_interpreted_subclasses=True)
class SkippingScheduler(BlockScheduler):
    """Skips and times as its pace says; set `pace` and `passage` before the first cycle.

    While it skips, blocks are in residence as they would be if they were timed: as many as the
    SMs hold, each on the SM that the placement chooses.  Those in residence execute a piece of
    their program each, in turn.  Those that have begun are timed from where they are, on their SMs.

    Attributes:
        pace: what to skip.
        passage: where what is skipped passes.
        launch: number of the launch.
        passed: warp instructions that have been skipped.
        skipped: blocks of all launches that have begun to be skipped.
        in_turn: blocks that execute in turn now.
        executed_pieces: that blocks which were paused had executed since they were last, for each
            of their warps.
        waiting_pieces: of these, and of earlier ones, that warps had not begun, as they came apart.
        paused: how many blocks have been paused, each as often as it was.
        paused_again: how many of these pauses were of blocks that had been paused before.
        in_streams: launches that named a stream, and ran after those before them all the same.
    """

    pace: Pace
    passage: Passage
    launch: int = -1
    passed: int = 0
    skipped: int = 0
    in_turn: int = 0
    executed_pieces: int = 0
    waiting_pieces: int = 0
    paused: int = 0
    paused_again: int = 0
    in_streams: int = 0
    _pausing: bool = False
    _rest: Rest | None = None
    """What is timed now."""

    _issued: int = 0
    """While nothing is timed: what has been issued."""

    _paused: list[SkippedBlock]
    """What was timed last, and has not ended."""

    _log: LastTouches | None = None
    """What has been touched and has not passed."""

    _turns: dict[str, Turns]
    """Turns of blocks, by the name of their kernel."""

    _held: list[Beside]
    """What SMs hold while it is timed."""

    @property
    def executed(self) -> int:
        """Warp instructions that have been skipped or issued."""
        return self.passed + (self._issued if self._rest is None else self.issued())

    def start(self, sms: Sequence[Sm], rooms: list[Occupancy]) -> None:
        self._turns = {}
        self._held = [Beside() for _ in sms]
        super().start(sms, rooms)

    def issued(self) -> int:
        """Warp instructions that have been issued."""
        issued = 0
        for sm in self._sms:
            issued += sm.counters[self.app].instructions
        return issued

    def is_warm(self) -> None:
        """How fast blocks go on beside each other is learned from here on."""
        if self._rest is not None:
            turns = self._turns_of(self._rest)
            for beside in self._held:
                beside.count(turns, self.env._now)
            turns.forget()

    def pause(self) -> None:
        """Time no more: what warps have in hand is issued and answered, then the pace is asked.

        Where nothing is timed, the pace will be asked anyhow.
        """
        rest = self._rest
        if rest is None or self._pausing:
            return
        self._pausing = True
        for beside in self._held:
            beside.count(self._turns_of(rest), self.env._now)
            beside.clear()
        paused: list[SkippedBlock] = []
        for block in self._resident:
            if not block.live:
                continue
            left = block.pause()
            if left is None:
                asked = self._sms[block.sm].asked()
                chunks = rest.run_block_beside(block.index, self._config.warp_size, asked)
                left = chunks, rest.segments_of(block.index)
            paused.append(self._without_clock(block.sm, block.slot, block.warp_slots, *left))
            self.executed_pieces += block.pieces * len(block.warp_slots)
            self.paused += 1
            if rest.has_been_paused(block.index):
                self.paused_again += 1
            paused[-1].been_paused = True
            for queue in paused[-1].segments:
                self.waiting_pieces += len(queue)
        self._paused = paused
        self.process.wake.now()

    def _was_empty(self, begin: int) -> bool:
        return super()._was_empty(begin) and not self.pace.goes_around()

    def _before(self, launch: Launch) -> int:
        """No time passes before a launch that is skipped."""
        self.launch += 1
        return 0 if self.pace.skips(self) else super()._before(launch)

    def _places_more(self) -> bool:
        return not self._pausing and super()._places_more()

    def _run_once(self, application: Application) -> Generator[int | None, None, None]:
        """Launches run one after the other, whatever their streams."""
        for index, launch in enumerate(application.launches()):
            if self._stopped:
                return
            self.in_streams += int(stream_use(launch).stream != DEFAULT_STREAM)
            one = self._begin_launch(launch, index)
            while (left := one.record.work_begin - self.env._now) > 0:
                yield left
            self._begin_work(one)
            yield from self._run_launch(launch, one.record)
            self._end_launch(one)

    def _run_launch(
        self, launch: Launch, record: LaunchRecord
    ) -> Generator[int | None, None, None]:
        rest = Rest(launch)
        while rest.blocks and not self._stopped:
            self._skip(rest)
            self._pass_all(ended=not rest.blocks)
            if not rest.blocks or self._stopped:
                break
            while not self.pace.may_time(self):
                yield None
            record.blocks = 0
            self._rest = rest
            self._paused = []
            yield from self._time(rest, record)
            self._turns_of(rest).end()
            rest.go_on(record.blocks, self._paused)
            self._rest = None
            self._issued = self.issued()
            self._pausing = False
        record.blocks = launch.blocks - rest.blocks

    def _time(self, rest: Rest, record: LaunchRecord) -> Generator[int | None, None, None]:
        """Place what is left of a launch, until it is paused, and wait until all has ended."""
        whole = self._running.pop()
        one = Running(rest, record, whole.blocks)
        one.works = True
        self._running.append(one)
        self._rate = StartRate(self._dispatch)
        while not one.is_over():
            self._take_ended()
            self._place_blocks()
            if not one.is_over():
                yield self._pause()
        self._running[:] = [whole]

    def _place(self, one: Running) -> bool:
        """A block that has begun goes back to its SM."""
        rest = one.launch
        if not isinstance(rest, Rest) or one.next >= len(rest.begun):
            return super()._place(one)
        home = rest.begun[one.next].home
        fits = self._rooms[home].fits(rest)
        if fits:
            self._put(one, one.next, home)
        return fits

    # -- without a clock -------------------------------------------------------------------------

    def _skip(self, rest: Rest) -> None:
        """Execute blocks until the pace says otherwise, or none is left."""
        if not self.pace.skips(self):
            return
        resident = rest.begun
        for block in resident:
            block.slot, block.warp_slots = self._rooms[block.home].take(rest)
        shares = self._turns_of(rest).shares()
        while self.pace.skips(self):
            self._begin_some(rest, resident)
            self.in_turn = len(resident)
            if not resident:
                break
            ended = set()
            for block in self._in_turn(resident, shares):
                if not self._advance(block):
                    self._rooms[block.home].give_back(rest, block.slot, block.warp_slots)
                    ended.add(block)
                    if not block.been_paused:
                        rest.longest = max(rest.longest, block.passed)
                if not self.pace.skips(self):
                    break
            if ended:
                resident[:] = [block for block in resident if block not in ended]
        for block in resident:
            self._rooms[block.home].give_back(rest, block.slot, block.warp_slots)

    def _begin_some(self, rest: Rest, resident: list[SkippedBlock]) -> None:
        """Begin further blocks, as many as the SMs can hold."""
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
        self._begin(rest, first, begun)
        resident += begun

    def _begin(self, rest: Rest, first: int, blocks: list[SkippedBlock]) -> None:
        """Begin to execute blocks that follow each other in the grid."""
        warp_size = self._config.warp_size
        rest.execute_in_step(range(first, first + len(blocks)), warp_size, self._touched)
        for index, block in enumerate(blocks, first):
            block.chunks = rest.begin(index, warp_size, self._sms[block.home].asked())

    def _in_turn(self, resident: list[SkippedBlock], shares: list[float]) -> list[SkippedBlock]:
        """The blocks that have a turn now; faster blocks of an SM have more turns."""
        found, older = [], [0] * len(self._sms)
        for block in resident:
            rank = older[block.home]
            older[block.home] = rank + 1
            block.due += PIECE_ROWS * (shares[rank] if rank < len(shares) else 1.0)
            if block.due > 0:
                found.append(block)
        return found

    def _turns_of(self, rest: Rest) -> Turns:
        """How the blocks of a kernel go on beside each other."""
        return self._turns.setdefault(rest.name, Turns(len(self._sms)))

    def _touched(self, chunk: LaneChunk, blocks: int) -> Touched:
        """What `blocks` blocks access, side by side, in a piece."""
        return self._sms[0].lsu.touched(chunk, blocks)

    def _without_clock(
        self,
        home: int,
        slot: int,
        warp_slots: list[int],
        chunks: Iterator[LaneChunk],
        segments: list[list[Segment]],
    ) -> SkippedBlock:
        sm = self._sms[home].index
        seat = Seat(self.app, self.asid, slot, warp_slots, 0, home)
        return SkippedBlock(seat, sm, chunks, segments)

    def _begins(self, block: Block) -> None:
        """Warps that were at different places still are."""
        rest = block.launch
        assert isinstance(rest, Rest)
        if left := rest.segments_of(block.index):
            block.go_on_with(left)
        self._held[block.sm].begins(block, self._turns_of(rest), self.env._now)

    def _free(self, block: Block) -> None:
        if block.placed and not self._pausing:
            assert self._rest is not None
            self._held[block.sm].ends(block, self._turns_of(self._rest), self.env._now)
        super()._free(block)

    def _advance(self, block: SkippedBlock) -> bool:
        """Let a block execute what it is due; False if it had ended."""
        begun = False
        while block.due > 0:
            apart = any(map(len, block.segments))
            takes = self._advance_apart(block) if apart else self._advance_together(block)
            if takes is None:
                break
            block.due -= takes
            begun = True
        return begun

    def _advance_together(self, block: SkippedBlock) -> float | None:
        """Let a block execute a piece; returns what it takes, None at the end."""
        part = next_part(block.chunks, self._touched)
        if part is None:
            return None
        self.passed += part.instructions
        block.passed += part.instructions
        self._touches(block, part.touched)
        return part.takes

    def _touches(self, block: SkippedBlock, touches: Ints) -> None:
        """Note what a block accesses in a piece."""
        log = self._log
        if log is None:
            log = self._log = self.passage.new_log()
        log.add(block, touches)
        if log.is_long():
            self.passage.shorten(log)

    def _pass_all(self, ended: bool) -> None:
        """Let what has been noted pass through TLBs and caches; `ended`: its launch has."""
        if self._log is not None:
            self.passage.take(self._log, ended)
            self._log = None

    def _advance_apart(self, block: SkippedBlock) -> float:
        """Let each warp of a block execute its next piece, and stay as far from others as it is."""
        lsu, operations = self._sms[block.home].lsu, 0
        for left in block.segments:
            if not left and (chunk := next(block.chunks, None)) is not None:
                for queue, segment in zip(block.segments, lsu.coalesced(chunk), strict=True):
                    if segment.kinds:
                        queue.append(segment)
            if left:
                segment = left.pop(0)
                instructions = segment.instructions()
                self.passed += instructions
                block.passed += instructions
                operations += len(segment.kinds)
                self._touches(block, touched_in(segment))
        return operations / len(block.segments)
