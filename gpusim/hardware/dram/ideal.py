"""DRAM that answers every request after the same time, with no limit on bandwidth."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import Any

from mypy_extensions import mypyc_attr

from gpusim.config.dram import DramConfig
from gpusim.core.component import Component
from gpusim.core.engine import EventLoop, Port, Probe
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.files.units import Hertz
from gpusim.hardware.dram.clock import ClockRatio, core_cycles
from gpusim.hardware.dram.completion import Completion
from gpusim.hardware.dram.counters import DramCounters
from gpusim.hardware.dram.mapping import AddressMapping
from gpusim.hardware.dram.queue import DramQueue
from gpusim.hardware.dram.sectors import SectorBursts
from gpusim.hardware.dram.use import ChannelUse
from gpusim.hardware.dram.waiting import Waiting


@mypyc_attr(allow_interpreted_subclasses=True)
class IdealDramChannel(Component):
    """A channel without banks, queues or a bus; same ports, counters and reports as `DramChannel`.

    Its requests are never accepted later than they arrive, and count neither as row hits nor as
    misses.
    """

    path = "dram"

    queues: tuple[DramQueue, ...] = ()

    def __init__(
        self,
        env: EventLoop,
        index: int,
        config: DramConfig,
        mapping: AddressMapping,
        core_clock: Hertz,
        use: ChannelUse,
    ) -> None:
        self.env = env
        self.instance = index
        self.name = f"dram[{index}]"
        self._trip = core_cycles(config.trip, core_clock, config.clock)
        self.requests: Port[MemoryRequest] = Port(env, f"{self.name}.requests", self._trip)
        self.on_request: Probe[[Completion]] = Probe()
        self._apps = [DramCounters() for _ in range(use.apps)]
        self._bytes = use.request_bytes or int(config.burst)
        self._sectors = SectorBursts(config.burst) if use.sectored else None
        self._latency = config.ideal_latency.cycles(config.clock)
        self._ratio = ClockRatio(core_clock, config.clock)
        self.process = env.start(self._run())
        self.requests.connect(self.process)

    def _run(self) -> Generator[int | None, None, None]:
        requests, ratio = self.requests, self._ratio
        while True:
            now = self.env._now
            while (request := requests.take()) is not None:
                self._answer(request, now, ratio.cycle(ratio.clock(now) + self._latency))
            yield requests.pause()

    def _answer(self, request: MemoryRequest, now: int, finished: int) -> None:
        counters = self._apps[request.app]
        writes = request.kind == Kind.WRITEBACK
        if self._sectors is not None:
            self._sectors.take_in(request, counters)
        if self.on_request.listeners:
            waiting = Waiting(request, 0, 0, writes, 1, now)
            whole = 0 if self._sectors is not None else self._bytes
            self.on_request(Completion(self.instance, waiting, now, finished, whole))
        if writes:
            counters.writes += 1
            return
        if request.depth > 0:
            counters.walk_reads += 1
            counters.walk_latency_cycles += finished - now
        else:
            counters.data_reads += 1
            counters.data_latency_cycles += finished - now
        request.trail.append(State.DRAM)
        request.trail.append(now - self._trip)
        request.answer(finished - now)

    def recordable(self) -> Iterable[tuple[str, Any]]:
        return (("dram", self.on_request),)

    def app_counters(self, app: int) -> Iterable[object]:
        counters = self._apps[app]
        return (counters if self._sectors is not None else counters.with_bytes(self._bytes),)

    def in_flight(self) -> int:
        """Requests that are not answered."""
        return len(self.requests)

    def waiting(self) -> Iterator[str]:
        """What it waits for, for the watchdog: nothing."""
        yield from ()
