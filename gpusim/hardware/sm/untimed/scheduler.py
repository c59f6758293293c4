"""Thread blocks without a clock: a scheduler that skips parts of a program and times others.

What is skipped of a block is executed in numpy, so that what is computed is right.  Before anything
is timed, and at the end of a launch, what was touched last passes through TLBs, walk caches, caches
and the page table; nothing of it takes time, and nothing is counted.  A block may be skipped, timed
and skipped again.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.copies import Copy
from gpusim.core.engine import Probe
from gpusim.core.streams import DEFAULT_STREAM
from gpusim.core.warp_program import Application, LaneChunk, Launch, Segment
from gpusim.hardware.sm.node_scheduler import (
    GpuSeats,
    NodeScheduler,
    RunningCopy,
    Share,
    SharedLaunch,
)
from gpusim.hardware.sm.occupancy import Occupancy
from gpusim.hardware.sm.running import LaunchRecord, RunningCall
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
class SkippingScheduler(NodeScheduler):
    """Skips and times as its pace says; set `pace` and `passage` before the first cycle.

    While it skips, blocks are in residence as they would be if they were timed: as many as the
    SMs hold, each on the SM that the placement chooses.  Those in residence execute a piece of
    their program each, in turn.  Those that have begun are timed from where they are, on their SMs.
    A copy that is skipped is executed as by SMs.

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
        in_streams: launches that named a stream or a GPU, and ran after those before them all the
            same.
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
    on_passed: Probe[[]]
    """What was noted of a stretch without a clock has passed through TLBs and caches."""

    _pausing: bool = False
    _rest: Rest | None = None
    """What is timed now."""

    _issued: int = 0
    """While nothing is timed: what has been issued."""

    _paused: list[list[SkippedBlock]]
    """By GPU, what was timed last, and has not ended."""

    _log: LastTouches | None = None
    """What has been touched and has not passed."""

    _turns: dict[str, Turns]
    """Turns of blocks, by the name of their kernel."""

    _held: list[Beside]
    """What SMs hold while it is timed."""

    _gpu_of: list[int]
    """By SM, its GPU."""

    @property
    def executed(self) -> int:
        """Warp instructions that have been skipped or issued."""
        return self.passed + (self._issued if self._rest is None else self.issued())

    def start(self, sms: Sequence[Sm], rooms: list[Occupancy]) -> None:
        self._turns = {}
        self._gpu_of = [0] * len(sms)
        for number, seats in enumerate(self._seats):
            self._gpu_of[seats.first : seats.first + seats.count] = [number] * seats.count
        self._held = [Beside() for _ in sms]
        self.on_passed = Probe()
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
        paused: list[list[SkippedBlock]] = [[] for _ in self._seats]
        for block in self._resident:
            if not block.live:
                continue
            begun = rest.begun_as(block.index)
            left = block.pause()
            if left is None:
                asked = self._sms[block.sm].asked()
                chunks = rest.run_block_beside(block.index, self._config.warp_size, asked)
                left = chunks, [] if begun is None else begun.segments
            again = self._without_clock(block.sm, block.slot, block.warp_slots, *left)
            paused[self._gpu_of[block.sm]].append(again)
            self.executed_pieces += block.pieces * len(block.warp_slots)
            self.paused += 1
            if begun is not None and begun.been_paused:
                self.paused_again += 1
            again.been_paused = True
            for queue in again.segments:
                self.waiting_pieces += len(queue)
        self._paused = paused
        self.process.wake.now()

    def _was_empty(self, begin: int) -> bool:
        return super()._was_empty(begin) and not self.pace.goes_around()

    def _before(self, launch: Launch) -> int:
        """No time passes before a launch that is skipped."""
        return 0 if self.pace.skips(self) else super()._before(launch)

    def _places_more(self) -> bool:
        return not self._pausing and super()._places_more()

    def _run_once(self, application: Application) -> Generator[int | None, None, None]:
        """Launches run one after the other, whatever their streams."""
        for index, launch in enumerate(application.launches()):
            if self._stopped:
                return
            use = launch.stream_use
            self.in_streams += int(use.stream != DEFAULT_STREAM or use.gpu is not None)
            self.launch += 1
            one = self._begin_launch(launch, index)
            while (left := one.record.work_begin - self.env._now) > 0:
                yield left
            self._begin_work(one)
            if isinstance(one, RunningCall):
                yield from self._run_call(one)
            elif isinstance(one, RunningCopy):
                yield from self._run_copy(one)
            elif isinstance(one, SharedLaunch):
                yield from self._run_launch(one)
            self._end_launch(one)
            self._tell_change()

    def _as_copy(self, launch: Launch) -> Copy | None:
        return None if self.pace.skips(self) else super()._as_copy(launch)

    def _start_call(self, one: RunningCall) -> None:
        """Nothing: it may have to wait until it may be timed."""

    def _run_call(self, one: RunningCall) -> Generator[int | None, None, None]:
        """A call that is skipped is performed in no time."""
        if not self.pace.skips(self):
            while not self.pace.may_time(self):
                yield None
            super()._start_call(one)
            while not one.done:
                yield None
            return
        assert self._calls is not None
        self._calls.at_once(self.app, one.call)

    def _start_copy(self, one: RunningCopy) -> None:
        """Nothing: it may have to wait until it may be timed."""

    def _run_copy(self, one: RunningCopy) -> Generator[int | None, None, None]:
        while not self.pace.may_time(self):
            yield None
        super()._start_copy(one)
        while not one.is_over():
            self._take_ended()
            if not one.is_over():
                yield self._pause()

    def _run_launch(self, one: SharedLaunch) -> Generator[int | None, None, None]:
        launch, record = one.launch, one.record
        rest = self._rest_of(one)
        while rest.blocks and not self._stopped:
            self._skip(rest)
            self._pass_all(ended=not rest.blocks)
            if not rest.blocks or self._stopped:
                break
            while not self.pace.may_time(self):
                yield None
            record.blocks = 0
            self._rest = rest
            self._paused = [[] for _ in self._seats]
            placed = yield from self._time(rest, record)
            self._turns_of(rest).end()
            rest.go_on(placed, self._paused)
            self._rest = None
            self._issued = self.issued()
            self._pausing = False
        record.blocks = launch.blocks - rest.blocks

    def _rest_of(self, one: SharedLaunch) -> Rest:
        """The whole of a launch, of which nothing has begun."""
        return Rest(one.launch, [share.blocks for share in one.shares])

    def _time(self, rest: Rest, record: LaunchRecord) -> Generator[int | None, None, list[int]]:
        """Place what is left of a launch, until it is paused, and wait until all has ended.

        Returns:
            how many blocks were placed, by GPU.
        """
        whole = self._running.pop()
        shares = [Share(rest.numbers_of(gpu)) for gpu in range(len(self._seats))]
        one = SharedLaunch(rest, record, whole.blocks, shares)
        one.works = True
        self._running.append(one)
        self._rates = [StartRate(self._dispatch) for _ in self._seats]
        self._tell_change()
        while not one.is_over():
            self._take_ended()
            self._place_blocks()
            if not one.is_over():
                yield self._pause()
        self._running[:] = [whole]
        return [share.next for share in shares]

    def _choose(self, launch: Launch, block: int, gpu: GpuSeats) -> int | None:
        """A block that has begun goes back to its SM."""
        begun = launch.begun_as(block) if isinstance(launch, Rest) else None
        if begun is None:
            return super()._choose(launch, block, gpu)
        return begun.home if self._rooms[begun.home].fits(launch) else None

    # -- without a clock -------------------------------------------------------------------------

    def _skip(self, rest: Rest) -> None:
        """Execute blocks until the pace says otherwise, or none is left."""
        if not self.pace.skips(self):
            return
        resident = rest.resident()
        for block in resident:
            block.slot, block.warp_slots = self._rooms[block.home].take(rest)
        shares = self._turns_of(rest).shares()
        while self.pace.skips(self):
            if self._begin_some(rest):
                resident = rest.resident()
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
                rest.drop(ended)
                resident = rest.resident()
        for block in resident:
            self._rooms[block.home].give_back(rest, block.slot, block.warp_slots)

    def _begin_some(self, rest: Rest) -> bool:
        """Begin further blocks, as many as the SMs can hold, of all GPUs in turn.

        Returns:
            Whether there are some.
        """
        firsts = list(rest.next)
        begun: list[list[SkippedBlock]] = [[] for _ in firsts]
        gpus = list(range(len(firsts)))
        while gpus:
            for gpu in list(gpus):
                block = self._begin_one(rest, gpu)
                if block is None:
                    gpus.remove(gpu)
                else:
                    begun[gpu].append(block)
        for gpu, blocks in enumerate(begun):
            if blocks:
                self._begin(rest, gpu, firsts[gpu], blocks)
                rest.begun[gpu] += blocks
        return any(begun)

    def _begin_one(self, rest: Rest, gpu: int) -> SkippedBlock | None:
        """Give the next block of a GPU its place; None: there is none, or it has to wait."""
        share, place = rest.shares[gpu], rest.next[gpu]
        if place == len(share) or not self.pace.may_begin(self):
            return None
        home = super()._choose(rest, share[place], self._seats[gpu])
        if home is None:
            return None
        slot, warp_slots = self._rooms[home].take(rest)
        rest.next[gpu] += 1
        self.skipped += 1
        return self._without_clock(home, slot, warp_slots, iter(()), [])

    def _begin(self, rest: Rest, gpu: int, first: int, blocks: list[SkippedBlock]) -> None:
        """Begin to execute blocks that follow each other in the share of a GPU."""
        warp_size, share = self._config.warp_size, rest.shares[gpu]
        places = range(first, first + len(blocks))
        rest.execute_in_step(gpu, places, warp_size, self._touched)
        for place, block in zip(places, blocks, strict=True):
            block.chunks = rest.begin(share[place], warp_size, self._sms[block.home].asked())

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
        begun = rest.begun_as(block.index)
        if begun is not None and begun.segments:
            block.go_on_with(begun.segments)
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
            if self.on_passed.listeners:
                self.on_passed()

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
