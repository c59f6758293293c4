"""The thread-block scheduler: launches of one application, block by block onto SMs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence

from attrs import evolve, frozen
from mypy_extensions import mypyc_attr

from gpusim.config.schema import GpuConfig
from gpusim.core.component import Component
from gpusim.core.engine import NEVER, EventLoop, Port, Probe, Wake
from gpusim.core.errors import UserError
from gpusim.core.mapping_calls import CallDriver, MappingCall
from gpusim.core.warp_program import Application, Launch
from gpusim.hardware.sm.block_placement import BlockPlacement
from gpusim.hardware.sm.launch_queue import LaunchQueue
from gpusim.hardware.sm.occupancy import Occupancy, blocks_per_sm
from gpusim.hardware.sm.running import LaunchRecord, Running, RunningCall
from gpusim.hardware.sm.sm import Sm
from gpusim.hardware.sm.start_rate import StartRate
from gpusim.hardware.sm.warp import Block, Seat


@frozen(eq=False, repr=False)
class ApplicationSite:
    """An application in a machine.

    Attributes:
        app, asid: its index and address space.
        application: its launches.
        first_warp: hands out warp numbers, `first_warp(n)` being the first of *n*.
        run_ended: called when a run has ended; returns the launches to run next, if any.
        calls: performs calls of its host; None: it makes none.
    """

    app: int
    asid: int
    application: Application
    first_warp: Callable[[int], int]
    run_ended: Callable[[int], Application | None]
    calls: CallDriver | None = None


@mypyc_attr(allow_interpreted_subclasses=True)
class BlockScheduler(Component):
    """Runs one application: its launches, each when those that it waits for have ended.

    Launches of different streams may be under way at once.  Their blocks are placed in the order
    in which they began: those of a launch when all of the one before have been, as Amert et al.
    found on a TX2 (RTSS 2017: only blocks of the kernel at the head of a queue are eligible).

    One block is placed a cycle [our choice], unless `dispatch` says how many warps are; a block
    has ended when all its warps have, their loads and stores answered.  An application that has
    ended may be run again; `records` and `finished_at` tell of its first run.

    Args:
        config: the machine.
        site: the application, and what the machine does for it.
        placement: on which SM a block goes.

    Attributes:
        on_work_begin: a launch of the first run, before its first block is placed.
        on_end: a launch of the first run that is over; of a run that is cut short, the last one.
        may_place: whether its blocks may be placed now; else they wait for its time slice.
        on_change: is woken when it has blocks to place, or none in residence; None: nothing is.
        neighbours: schedulers that place blocks on the same SMs, and are woken when there is room.
        most_threads: of each SM, that its blocks may take together.
    """

    path = "blocks"

    def __init__(
        self, env: EventLoop, config: GpuConfig, site: ApplicationSite, placement: BlockPlacement
    ) -> None:
        self.env = env
        self.name = f"blocks[{site.application.name}]"
        self.app = self.instance = site.app
        self.asid = site.asid
        self.application = site.application
        self.ended: Port[Block] = Port(env, self.name, latency=1)
        self.records: list[LaunchRecord] = []
        self.warps_launched = 0
        self.warps_known = 0
        """Warps of all launches so far."""
        self.launches_begun = 0
        self.blocks_known = 0
        """Blocks of all launches so far."""
        self.blocks_ended = 0
        self.finished_at = -1
        self.on_work_begin: Probe[[LaunchRecord]] = Probe()
        self.on_end: Probe[[LaunchRecord]] = Probe()
        self.may_place = True
        self.on_change: Wake | None = None
        self.neighbours: list[BlockScheduler] = []
        self.most_threads = config.sm.max_threads
        self._config = config.sm
        self._placement = placement
        self._first_warp = site.first_warp
        self._run_ended = site.run_ended
        self._calls = site.calls
        self._overhead = config.launch_overhead.cycles(config.clock)
        self._dispatch = config.dispatch
        self._stopped = False
        self._most_launches = config.concurrent_kernels
        self._rate = StartRate(self._dispatch)
        self._running: list[Running] = []
        self._resident: dict[Block, Running] = {}
        self._sms: Sequence[Sm] = ()
        self._rooms: list[Occupancy] = []
        self._threads: list[int] = []
        """By SM, what its blocks take."""

    def start(self, sms: Sequence[Sm], rooms: list[Occupancy]) -> None:
        """Begin on these SMs, of which `rooms` are free, perhaps for others, too."""
        self._sms = sms
        self._rooms = rooms
        self._threads = [0] * len(sms)
        self.process = self.env.start(self._run())
        self.ended.connect(self.process)

    def stop(self) -> None:
        """Place no more blocks: what is in residence ends, the rest is not run."""
        self._stopped = True
        if self.neighbours:
            self.process.wake.now()

    def end_first_run(self) -> None:
        """The first run ends in this cycle for `records` and `finished_at`; it is still going."""
        now = self.env._now
        for one in self._running:
            self._keep(evolve(one.record, end=now, work_begin=min(one.record.work_begin, now)))
        self.finished_at = now

    def cut(self) -> None:
        """Place no more blocks, and let those in residence end where they are."""
        self._stopped = True
        for block in self._resident:
            block.cut()
        self.process.wake.now()

    def _run(self) -> Generator[int | None, None, None]:
        application: Application | None = self.application
        while application is not None and not self._stopped:
            begin = self.env._now
            yield from self._run_once(application)
            if self.finished_at < 0:
                self.finished_at = self.env._now
            application = self._run_ended(self.app)
            if self._was_empty(begin):
                return

    def _was_empty(self, begin: int) -> bool:
        """Whether a run that began then had nothing to run: again would be for ever."""
        return self.env._now == begin

    def _run_once(self, application: Application) -> Generator[int | None, None, None]:
        queue = LaunchQueue(application.launches(), self._most_launches)
        while True:
            self._take_ended()
            self._end_and_begin(queue)
            self._tell_change()
            if queue.is_over():
                return
            self._place_blocks()
            yield self._pause()

    def _tell_change(self) -> None:
        """It may have work now that it had not, or none any more."""
        if self.on_change is not None:
            self.on_change.now()

    def has_work(self) -> bool:
        """Whether it has blocks to place, or in residence."""
        if self._resident:
            return True
        return any(one.works and one.next < one.total for one in self._running)

    def resident_blocks(self) -> int:
        """Blocks that have a place, or stores that are not answered."""
        return len(self._resident)

    def _end_and_begin(self, queue: LaunchQueue) -> None:
        """End launches of which all blocks have ended, and begin those that waited for them."""
        if self._stopped:
            queue.drop()
        changed = True
        while changed:
            changed = False
            for one in list(self._running):
                if not one.works and one.record.work_begin <= self.env._now:
                    self._begin_work(one)
                if one.works and one.is_over():
                    self._end_launch(one)
                    queue.end(one.launch.stream_use)
                    changed = True
            while (waiting := queue.take()) is not None:
                self._begin_launch(waiting.launch, waiting.index)
                changed = True

    def _begin_launch(self, launch: Launch, index: int) -> Running:
        """A launch is under way, and takes what a launch takes."""
        now = self.env._now
        use = launch.stream_use
        gpu = -1 if use.gpu is None else use.gpu
        record = LaunchRecord(self.app, index, launch.name, 0, now, now, now, use.stream, gpu)
        one: Running
        if isinstance(launch, MappingCall):
            one = RunningCall(launch, record)
        else:
            one = self._run_of(launch, record)
        self._running.append(one)
        self.warps_known += self._rooms[0].warps_of(launch) * one.total
        self.launches_begun += 1
        self.blocks_known += one.total
        if not isinstance(one, RunningCall):
            record.work_begin = now + self._before(launch)
        return one

    def _run_of(self, launch: Launch, record: LaunchRecord) -> Running:
        """What is kept of a launch while it is under way."""
        return Running(launch, record, self._check(launch))

    def _places_of(self, one: Running) -> Sequence[int]:
        """The places of the SMs on which blocks of a launch may be."""
        return () if isinstance(one, RunningCall) else range(len(self._sms))

    def _gpus(self) -> int:
        """How many GPUs the application has."""
        return 1

    def _begin_work(self, one: Running) -> None:
        """Blocks of a launch may be placed from this cycle on."""
        if not any(other.works for other in self._running):
            self._rate = StartRate(self._dispatch)
        one.works = True
        if self.finished_at < 0 and self.on_work_begin.listeners:
            self.on_work_begin(one.record)
        for place in self._places_of(one):
            self._sms[place].begin_kernel(*self._rooms[place].begin(one.launch, one.blocks))
        if isinstance(one, RunningCall):
            self._start_call(one)

    def _start_call(self, one: RunningCall) -> None:
        """The host begins with a call."""
        self.env.start(self._call(one))

    def _call(self, one: RunningCall) -> Generator[int, None, None]:
        assert self._calls is not None, "a program has a call, but no array that it is for"
        yield from self._calls.perform(self.app, one.call)
        one.done = True
        self.process.wake.now()

    def runs_now(self) -> str:
        """What it runs now, for messages."""
        running = [one.record for one in self._running if not isinstance(one, RunningCall)]
        named = " or ".join(f"launch {one.index} (kernel {one.kernel!r})" for one in running)
        return f"{named or 'a launch'} of {self.application.name!r}"

    def _end_launch(self, one: Running) -> None:
        """The last block of a launch has ended."""
        self._running.remove(one)
        for place in self._places_of(one):
            self._rooms[place].end(one.launch, one.blocks)
            self._sms[place].end_kernel()
        if self.finished_at < 0:
            one.record.end = self.env._now
            self._keep(one.record)

    def _keep(self, record: LaunchRecord) -> None:
        """A launch of the first run is over."""
        self.records.append(record)
        if self.on_end.listeners:
            self.on_end(record)

    def _before(self, launch: Launch) -> int:
        """Cycles between a launch and its first block."""
        return self._overhead

    def _take_ended(self) -> None:
        """Give back the places of blocks that have ended; forget blocks that will not be placed."""
        while (ended := self.ended.take()) is not None:
            self._free(ended)
        if not self._places_more():
            for one in self._running:
                one.next = one.total

    def _place_blocks(self) -> None:
        """Place blocks of the first launch that has some left, then of the next one."""
        if not self.may_place:
            return
        now = self.env._now
        for one in self._running:
            if not one.works:
                continue
            while one.next < one.total:
                if now < self._rate.due or not self._place(one):
                    return
                one.next += 1
                one.record.blocks = one.next
                self._rate.start(self._rooms[0].warps_of(one.launch), now)

    def _pause(self) -> int | None:
        """Cycles until something can be done; None: a block has to end first."""
        now = self.env._now
        cycle = self.ended.next_cycle()
        for one in self._running:
            if not one.works:
                cycle = min(cycle, one.record.work_begin)
            elif one.next < one.total and now < self._rate.due and self.may_place:
                cycle = min(cycle, self._rate.due)
        return None if cycle == NEVER else cycle - now

    def _places_more(self) -> bool:
        """Whether blocks are placed that have not been."""
        return not self._stopped

    def _place(self, one: Running) -> bool:
        """Place the next block of a launch on the SM that the placement picks, if there is one."""
        launch = one.launch
        chosen = self._placement.pick(
            launch, one.next, len(self._sms), lambda sm: self._fits(launch, sm)
        )
        if chosen is not None:
            self._put(one, one.next, chosen)
        return chosen is not None

    def _fits(self, launch: Launch, sm: int) -> bool:
        """Whether an SM has room for a block, and the application may take it."""
        threads = self._threads[sm] + launch.threads_per_block
        return threads <= self.most_threads and self._rooms[sm].fits(launch)

    def _put(self, one: Running, number: int, chosen: int) -> None:
        """Place a block of a launch on an SM on which it fits."""
        block_slot, warp_slots = self._rooms[chosen].take(one.launch)
        self._threads[chosen] += one.launch.threads_per_block
        count = len(warp_slots)
        first = self._first_warp(count)
        self.warps_launched += count
        seat = Seat(self.app, self.asid, block_slot, warp_slots, first, chosen)
        block = Block(one.launch, number, seat, self.ended)
        block.launched_at = one.record.work_begin
        self._begins(block)
        self._resident[block] = one
        one.resident += 1
        self._sms[chosen].blocks.send(block)

    def _begins(self, block: Block) -> None:
        """A block is about to begin."""

    def _free(self, block: Block) -> None:
        """A block gives back its place; it has ended when its stores are answered."""
        if block.placed:
            block.placed = False
            self._rooms[block.sm].give_back(block.launch, block.slot, block.warp_slots)
            self._threads[block.sm] -= block.launch.threads_per_block
            for other in self.neighbours:
                other.process.wake.now()
        if not block.posted and not block.over:
            block.over = True
            self.blocks_ended += 1
            self._resident.pop(block).resident -= 1

    def _check_gpu(self, launch: Launch) -> None:
        """Refuse a launch of a GPU that is not there.

        Raises:
            UserError: it is.
        """
        gpu = launch.stream_use.gpu
        if gpu is not None and gpu >= self._gpus():
            raise UserError(
                f"kernel {launch.name!r} is of GPU {gpu}, and {self.application.name!r} has "
                f"{self._gpus()}, numbered from 0 on: set node.gpus, or run it with fewer"
            )

    def _check(self, launch: Launch) -> int:
        """How many blocks of a launch an SM holds.

        Raises:
            UserError: none, or it is of a GPU that is not there.
        """
        self._check_gpu(launch)
        blocks = blocks_per_sm(self._config, launch)
        if blocks and launch.threads_per_block > self.most_threads:
            raise UserError(
                f"a block of kernel {launch.name!r} has {launch.threads_per_block} threads, and "
                f"{self.application.name!r} may take {self.most_threads} of those of an SM: raise "
                "its share, or sharing.active_thread_percentage"
            )
        if not blocks:
            raise UserError(
                f"a block of kernel {launch.name!r} does not fit on an SM: it needs "
                f"{launch.threads_per_block} threads, {launch.registers_per_thread} registers a "
                f"thread and {launch.shared_bytes} B of shared memory; an SM has "
                f"sm.max_threads = {self._config.max_threads}, "
                f"sm.registers = {self._config.registers}, "
                f"sm.shared_memory = {self._config.shared_memory} B; if it is a trace whose header "
                "is wrong: --set workload.nregs=N, --set workload.shmem=BYTES, or "
                "--set workload.ignore_resource_limits=true"
            )
        return blocks

    def in_flight(self) -> int:
        """1 while the application has not finished."""
        return int(self.finished_at < 0)

    def policies(self) -> Iterator[tuple[str, object]]:
        yield "block_scheduler", self._placement

    def waiting(self) -> Iterator[str]:
        """Lines for the watchdog: which requests wait, and for what."""
        if self.finished_at < 0:
            yield f"{self.application.name}: {len(self._resident)} blocks in residence"
