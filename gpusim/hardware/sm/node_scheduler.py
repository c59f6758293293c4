"""The thread-block scheduler of a node: a launch runs on all GPUs of its application at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.config.schema import GpuConfig
from gpusim.core.engine import NEVER, EventLoop
from gpusim.core.warp_program import Launch
from gpusim.hardware.sm.block_placement import BlockPlacement, Fits
from gpusim.hardware.sm.block_scheduler import (
    ApplicationSite,
    BlockScheduler,
    LaunchRecord,
    Running,
)
from gpusim.hardware.sm.block_shares import BlockShares
from gpusim.hardware.sm.start_rate import StartRate


@frozen(eq=False)
class GpuSeats:
    """The SMs of one GPU that an application has.

    Attributes:
        first, count: places among all SMs of the application.
        placement: on which of them a block goes.
    """

    first: int
    count: int
    placement: BlockPlacement


class _Share:
    """The blocks of a launch that one GPU runs.

    Attributes:
        blocks: their numbers, in the order in which they are placed.
        next: how many have been placed.
    """

    __slots__ = ("blocks", "next")

    def __init__(self, blocks: Sequence[int]) -> None:
        self.blocks = blocks
        self.next = 0


class _SharedLaunch(Running):
    """A launch that is under way on several GPUs.

    Attributes:
        shares: by GPU.
    """

    __slots__ = ("shares",)

    def __init__(
        self, launch: Launch, record: LaunchRecord, blocks: int, shares: list[_Share]
    ) -> None:
        super().__init__(launch, record, blocks)
        self.shares = shares


@mypyc_attr(allow_interpreted_subclasses=True)
class NodeScheduler(BlockScheduler):
    """Runs one application on several GPUs: each places its blocks of a launch by itself.

    A launch begins on all GPUs in the same cycle and ends when its last block has ended on any of
    them.  Each GPU starts blocks at its own rate, those of a launch when all of its blocks of the
    one before have a place.

    Args:
        env, config, site: see `BlockScheduler`.
        gpus: the SMs that the application has, GPU by GPU.
        shares: which GPU runs which blocks.
    """

    def __init__(
        self,
        env: EventLoop,
        config: GpuConfig,
        site: ApplicationSite,
        gpus: Sequence[GpuSeats],
        shares: BlockShares,
    ) -> None:
        super().__init__(env, config, site, gpus[0].placement)
        self._gpus = gpus
        self._deal = shares
        self._rates = [StartRate(self._dispatch) for _ in gpus]

    def _run_of(self, launch: Launch, record: LaunchRecord, blocks: int) -> Running:
        dealt = self._deal.deal(launch, len(self._gpus))
        return _SharedLaunch(launch, record, blocks, [_Share(share) for share in dealt])

    def _begin_work(self, one: Running) -> None:
        if not any(other.works for other in self._running):
            self._rates = [StartRate(self._dispatch) for _ in self._gpus]
        super()._begin_work(one)

    def _place_blocks(self) -> None:
        if self.may_place:
            for number, gpu in enumerate(self._gpus):
                self._place_on(number, gpu)

    def _place_on(self, number: int, gpu: GpuSeats) -> None:
        """Place blocks of a GPU's share of the first launch with some left, then of the next."""
        now, rate = self.env._now, self._rates[number]
        first = gpu.first
        for one in self._running:
            if not one.works or not isinstance(one, _SharedLaunch):
                continue
            share = one.shares[number]
            launch, blocks = one.launch, share.blocks
            while share.next < len(blocks) and one.next < launch.blocks:
                if now < rate.due:
                    return
                block = blocks[share.next]
                chosen = gpu.placement.pick(launch, block, gpu.count, self._fits_on(launch, first))
                if chosen is None:
                    return
                self._put(one, block, first + chosen)
                share.next += 1
                one.next += 1
                one.record.blocks = one.next
                rate.start(self._rooms[first].warps_of(launch), now)

    def _fits_on(self, launch: Launch, first: int) -> Fits:
        """Whether a block fits on an SM of a GPU, whose SMs begin at place `first`."""
        return lambda sm: self._fits(launch, first + sm)

    def _pause(self) -> int | None:
        now = self.env._now
        cycle = self.ended.next_cycle()
        for one in self._running:
            if not one.works:
                cycle = min(cycle, one.record.work_begin)
            elif isinstance(one, _SharedLaunch) and one.next < one.launch.blocks and self.may_place:
                for share, rate in zip(one.shares, self._rates, strict=True):
                    if share.next < len(share.blocks) and now < rate.due:
                        cycle = min(cycle, rate.due)
        return None if cycle == NEVER else cycle - now

    def policies(self) -> Iterator[tuple[str, object]]:
        for gpu in self._gpus:
            yield "block_scheduler", gpu.placement
        yield "node.blocks", self._deal
