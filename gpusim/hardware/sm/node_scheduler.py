"""The thread-block scheduler of several GPUs: a launch runs on all of its application at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.config.schema import GpuConfig
from gpusim.core.copies import Copy
from gpusim.core.copy_order import CopyOrder
from gpusim.core.engine import NEVER, EventLoop, Port
from gpusim.core.warp_program import Launch
from gpusim.hardware.sm.block_placement import BlockPlacement, Fits
from gpusim.hardware.sm.block_scheduler import ApplicationSite, BlockScheduler
from gpusim.hardware.sm.block_shares import BlockShares
from gpusim.hardware.sm.occupancy import Occupancy
from gpusim.hardware.sm.running import LaunchRecord, Running
from gpusim.hardware.sm.sm import Sm
from gpusim.hardware.sm.start_rate import StartRate


@frozen(eq=False, repr=False)
class GpuSeats:
    """The SMs of one GPU that an application has.

    Attributes:
        first, count: places among all SMs of the application.
        placement: on which of them a block goes.
        begins: called when a launch begins there; None: nothing is to be done.
    """

    first: int
    count: int
    placement: BlockPlacement
    begins: Callable[[], None] | None = None


class Share:
    """The blocks of a launch that one GPU runs.

    Attributes:
        blocks: their numbers, in the order in which they are placed.
        next: how many have been placed.
    """

    __slots__ = ("blocks", "next")

    def __init__(self, blocks: Sequence[int]) -> None:
        self.blocks = blocks
        self.next = 0


class SharedLaunch(Running):
    """A launch that is under way on several GPUs.

    Attributes:
        shares: by GPU.
    """

    __slots__ = ("shares",)

    def __init__(
        self, launch: Launch, record: LaunchRecord, blocks: int, shares: list[Share]
    ) -> None:
        super().__init__(launch, record, blocks)
        self.shares = shares


class RunningCopy(Running):
    """A copy that is under way on a copy engine.

    Attributes:
        order: for an engine.
        done: whether its last byte is written.
    """

    __slots__ = ("done", "order")

    def __init__(self, launch: Launch, record: LaunchRecord, order: CopyOrder) -> None:
        super().__init__(launch, record, 0)
        self.total = 0
        self.order = order
        self.done = False

    def is_over(self) -> bool:
        return self.done


@mypyc_attr(allow_interpreted_subclasses=True)
class NodeScheduler(BlockScheduler):
    """Runs one application on several GPUs: each places its blocks of a launch by itself.

    A launch begins on all GPUs in the same cycle and ends when its last block has ended on any of
    them; one that names a GPU is a launch there.  Each GPU starts blocks at its own rate, those of
    a launch when all of its blocks of the one before have a place.

    Args:
        env, config, site: see `BlockScheduler`.
        gpus: the SMs that the application has, GPU by GPU.
        shares: which GPU runs which blocks; None: there is one GPU.
        engines: by GPU, where copies go; empty: SMs execute them.
    """

    def __init__(
        self,
        env: EventLoop,
        config: GpuConfig,
        site: ApplicationSite,
        gpus: Sequence[GpuSeats],
        shares: BlockShares | None,
        engines: Sequence[Port[CopyOrder]],
    ) -> None:
        super().__init__(env, config, site, gpus[0].placement)
        self._seats = gpus
        self._deal = shares
        self._engines = engines
        self._copied: Port[CopyOrder] = Port(env, f"{self.name}.copied", latency=1)
        self._rates = [StartRate(self._dispatch) for _ in gpus]

    def start(self, sms: Sequence[Sm], rooms: list[Occupancy]) -> None:
        super().start(sms, rooms)
        self._copied.connect(self.process)

    def _as_copy(self, launch: Launch) -> Copy | None:
        """What a copy engine does instead of SMs; None: SMs execute the launch."""
        return launch.copy if self._engines else None

    def _take_ended(self) -> None:
        super()._take_ended()
        while (order := self._copied.take()) is not None:
            for one in self._running:
                if isinstance(one, RunningCopy) and one.order is order:
                    one.done = True

    def _run_of(self, launch: Launch, record: LaunchRecord) -> Running:
        copy = self._as_copy(launch)
        if copy is not None:
            self._check_gpu(launch)
            order = CopyOrder(copy, self.app, self.asid, self._copied)
            return RunningCopy(launch, record, order)
        blocks = self._check(launch)
        own = launch.stream_use.gpu
        dealt: Sequence[Sequence[int]]
        if own is None and self._deal is not None:
            dealt = self._deal.deal(launch, len(self._seats))
        else:
            whole, none = range(launch.blocks), range(0)
            dealt = [whole if gpu == (own or 0) else none for gpu in range(len(self._seats))]
        return SharedLaunch(launch, record, blocks, [Share(share) for share in dealt])

    def _begin_work(self, one: Running) -> None:
        own = one.launch.stream_use.gpu
        for gpu in range(len(self._seats)) if own is None else (own,):
            if not any(other.works and _runs_on(other, gpu) for other in self._running):
                self._rates[gpu] = StartRate(self._dispatch)
            begins = self._seats[gpu].begins
            if begins is not None and isinstance(one, SharedLaunch):
                begins()
        super()._begin_work(one)
        if isinstance(one, RunningCopy):
            self._start_copy(one)

    def _start_copy(self, one: RunningCopy) -> None:
        self._engines[one.launch.stream_use.gpu or 0].send(one.order)

    def _places_of(self, one: Running) -> Sequence[int]:
        if isinstance(one, RunningCopy):
            return ()
        own = one.launch.stream_use.gpu
        if own is None:
            return super()._places_of(one)
        seats = self._seats[own]
        return range(seats.first, seats.first + seats.count)

    def _gpus(self) -> int:
        return len(self._seats)

    def _place_blocks(self) -> None:
        if self.may_place:
            for number, gpu in enumerate(self._seats):
                self._place_on(number, gpu)

    def _place_on(self, number: int, gpu: GpuSeats) -> None:
        """Place blocks of a GPU's share of the first launch with some left, then of the next."""
        now, rate = self.env._now, self._rates[number]
        for one in self._running:
            if not one.works or not isinstance(one, SharedLaunch):
                continue
            share = one.shares[number]
            launch, blocks = one.launch, share.blocks
            while share.next < len(blocks) and one.next < one.total:
                if now < rate.due:
                    return
                block = blocks[share.next]
                chosen = self._choose(launch, block, gpu)
                if chosen is None:
                    return
                self._put(one, block, chosen)
                share.next += 1
                one.next += 1
                one.record.blocks = one.next
                rate.start(self._rooms[gpu.first].warps_of(launch), now)

    def _choose(self, launch: Launch, block: int, gpu: GpuSeats) -> int | None:
        """The place of the SM of a GPU on which a block goes; None: it waits."""
        first = gpu.first
        chosen = gpu.placement.pick(launch, block, gpu.count, self._fits_on(launch, first))
        return None if chosen is None else first + chosen

    def _fits_on(self, launch: Launch, first: int) -> Fits:
        """Whether a block fits on an SM of a GPU, whose SMs begin at place `first`."""
        return lambda sm: self._fits(launch, first + sm)

    def _pause(self) -> int | None:
        now = self.env._now
        cycle = min(self.ended.next_cycle(), self._copied.next_cycle())
        for one in self._running:
            if not one.works:
                cycle = min(cycle, one.record.work_begin)
            elif isinstance(one, SharedLaunch) and one.next < one.total and self.may_place:
                for share, rate in zip(one.shares, self._rates, strict=True):
                    if share.next < len(share.blocks) and now < rate.due:
                        cycle = min(cycle, rate.due)
        return None if cycle == NEVER else cycle - now

    def policies(self) -> Iterator[tuple[str, object]]:
        for gpu in self._seats:
            yield "block_scheduler", gpu.placement
        if self._deal is not None:
            yield "node.blocks", self._deal


def _runs_on(one: Running, gpu: int) -> bool:
    """Whether a launch is one of a GPU, or of all."""
    return one.launch.stream_use.gpu in (None, gpu)
