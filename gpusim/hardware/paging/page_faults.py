"""The stage in front of the walkers: pages that a walk does not find wait here for the host."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from typing import ClassVar, Final

import attr
from attrs import frozen

from gpusim.core.counters import count
from gpusim.core.engine import NEVER, EventLoop, Port
from gpusim.core.law import Law, laws_of
from gpusim.core.metrics import Metric, PerKiloInstruction, Ratio, Total, declare_metrics
from gpusim.core.request import Purpose, Translation
from gpusim.core.stage import Stage
from gpusim.hardware.paging.fault import FaultBuffer, named_pages
from gpusim.hardware.paging.utlb import FaultQueues

_PREFETCH: Final = int(Purpose.PREFETCH)
_REPLAY: Final = int(Purpose.REPLAY)


@frozen(eq=False, repr=False)
class FaultSite:
    """Where the stage of faults stands in a machine, and what limits its faults.

    Attributes:
        env: the environment.
        name: for reports.
        index: number of its domain.
        queue: translations that fit into `requests`.
        apps: applications that share the machine.
        waiting: the SM of each warp that waits for a page in a first TLB, which all report it;
            None, or where there is none: only the one whose lookup missed first does.
        utlb_faults: faults of a µTLB that may be reported and not replayed; None: any number.
        utlb_sms: SMs that share a µTLB.
        interval: cycles from one fault that goes to the buffer to the next.
        host_walk: cycles that a walk takes longer which finds a page with the host.
        first_host_frame: of these pages.
    """

    env: EventLoop
    name: str
    index: int
    queue: int
    apps: int
    waiting: Callable[[int], list[int]] | None = None
    utlb_faults: int | None = None
    utlb_sms: int = 1
    interval: int = 0
    host_walk: int = 0
    first_host_frame: int = 0


@attr.s(auto_attribs=True, eq=False, repr=False)
class FaultCounters:
    """Translations of one application that passed, and those that found no page."""

    received: int = count("translations that came from the TLBs")
    returned: int = count("of these, answered")
    faults: int = count("walks that found no page, and waited for it")
    lost: int = count("of these, those for which the fault buffer had no room")
    replays: int = count("walks begun anew after a batch of the driver")
    fault_cycles: int = count("from a walk that found no page to its replay, summed", "cycles")
    dropped: int = count("prefetches that found no page, and caused no fault")
    held: int = count("faults for which their µTLB had no room, not reported", later=True)
    reported: int = count("faults that went to the fault buffer, lost ones included", later=True)
    host_walks: int = count("walks that found a page with the host, and asked it", later=True)


declare_metrics(
    FaultCounters,
    Metric("faults", "1", "walks that found no page on the device", Total("faults")),
    Metric("faults_pki", "1", "faults per 1000 warp instructions", PerKiloInstruction("faults")),
    Metric(
        "fault_latency", "cycles", "from a fault to its replay", Ratio("fault_cycles", "replays")
    ),
)


class PageFaults(Stage):
    """Sends translations on to the walkers, and keeps those whose pages are not there.

    A fault goes to the `buffer`, and its walker is free.  When the driver has served a batch, it
    lets those that wait walk again (`replay`); what finds no page again is a fault again.  A fault
    for which its µTLB has no room is not reported, and walks again at the next replay.

    Args:
        site: where it stands, and its limits.
        walkers: the stage below.
        buffer: shared by all stages of a machine.
        wake: called when the buffer has something for the driver.
    """

    laws: Sequence[Law] = laws_of(
        [FaultCounters],
        Law("received", "returned", "translations that came", "those that were answered"),
        Law("replays", "faults", other="faults"),
        Law("held + reported", "faults", "faults held and reported", "faults"),
    )
    states: ClassVar[tuple[str, ...]] = ("fault",)

    def __init__(
        self,
        site: FaultSite,
        walkers: Stage,
        buffer: FaultBuffer,
        wake: Callable[[], None],
    ) -> None:
        env, name = site.env, site.name
        requests: Port[Translation] = Port(env, f"{name}.requests", depth=site.queue)
        super().__init__(name, "faults", site.index, requests)
        self.env = env
        self.counters = [FaultCounters() for _ in range(site.apps)]
        self._walkers = walkers.requests
        self._buffer = buffer
        self._tell_driver = wake
        self._answers: Port[Translation] = Port(env, f"{name}.answers")
        self._waiting = site.waiting
        self._interval = site.interval
        self._host_walk, self._first_host_frame = site.host_walk, site.first_host_frame
        self._next_write = 0
        self._queues = FaultQueues(
            NEVER if site.utlb_faults is None else site.utlb_faults, site.utlb_sms
        )
        self._faulted: list[Translation] = []
        """Translations that wait for a replay, whose faults were reported."""
        self._held: list[Translation] = []
        """Translations that wait for a replay, whose µTLB had no room for a fault."""
        self._again: list[Translation] = []
        """Translations that are to walk again."""
        self._under_way = 0
        self.process = env.start(self._run())
        self.requests.connect(self.process)
        self._answers.connect(self.process)

    def _run(self) -> Generator[int | None, None, None]:
        requests, answers, below = self.requests, self._answers, self._walkers
        while True:
            while (answer := answers.take()) is not None:
                self._answered(answer)
            while self._again and not below.full:
                self._send(self._again.pop(0))
            while not below.full and (translation := requests.take()) is not None:
                self.counters[translation.app].received += 1
                self._send(translation)
            self._write_faults()
            blocked = below.full and (requests.queue or self._again)
            if blocked:
                below.when_free(self.process.wake)
            upcoming = answers.ready if blocked else min(answers.ready, requests.ready)
            if self._queues:
                upcoming = min(upcoming, self._next_write)
            yield None if upcoming == NEVER else max(upcoming - self.env._now, 0)

    def _send(self, translation: Translation) -> None:
        translation.return_to(self._answers)
        self._under_way += 1
        self._walkers.send(translation)

    def _answered(self, translation: Translation) -> None:
        """A walk has ended: pass on what it found, or wait for the page."""
        self._under_way -= 1
        counters = self.counters[translation.app]
        if translation.mapping is not None or translation.kind == _PREFETCH:
            counters.dropped += translation.mapping is None
            counters.returned += 1
            translation.answer(self._asks_host(translation))
            return
        now = self.env._now
        counters.faults += 1
        translation.trail.append(self.state_numbers[0])
        translation.trail.append(now)
        waiting = [] if self._waiting is None else self._waiting(translation.tag)
        if not self._queues.report(translation, waiting or [translation.sm]):
            counters.held += 1
            self._held.append(translation)
            return
        counters.reported += 1
        self._faulted.append(translation)
        if not self._interval:
            self._write_faults()

    def _asks_host(self, translation: Translation) -> int:
        """Cycles until the host has answered where a page of its own lies."""
        mapping = translation.mapping
        if not self._host_walk or mapping is None or mapping.pfn < self._first_host_frame:
            return 0
        self.counters[translation.app].host_walks += 1
        return self._host_walk

    def _write_faults(self) -> None:
        """Write faults into the buffer, as many as may be in this cycle."""
        now = self.env._now
        while self._next_write <= now and (translation := self._queues.next()) is not None:
            self.counters[translation.app].lost += not self._buffer.put(translation, now)
            self._next_write = now + self._interval
            self._tell_driver()

    def replay(self, still: Collection[int]) -> None:
        """Let all that wait walk again, but those whose pages the driver will still come to."""
        now = self.env._now
        faulted, self._faulted = self._faulted, []
        waiting, self._held = self._held, []
        for translation in faulted:
            if translation.tag in still:
                self._faulted.append(translation)
            else:
                self._queues.release(translation)
                waiting.append(translation)
        for translation in waiting:
            counters = self.counters[translation.app]
            counters.replays += 1
            counters.fault_cycles += now - translation.trail[-1]
            translation.kind = _REPLAY
            self._again.append(translation)
        if self._again:
            self.process.wake.at(now)

    def shoot_down(self, tag: int | None) -> None:
        """Nothing is kept here; the stages above know what is on its way."""

    # -- reports ---------------------------------------------------------------------------------

    def sent(self, paths: Sequence[str]) -> str:
        return f"{self.path}.received + {self.path}.replays"

    def received(self, paths: Sequence[str]) -> str:
        return f"{self.path}.received"

    def in_flight(self) -> int:
        waiting = len(self._faulted) + len(self._held)
        return self._under_way + len(self.requests) + waiting + len(self._again)

    def waiting(self) -> Iterator[str]:
        if waiting := [*self._faulted, *self._held]:
            pages = named_pages(one.tag for one in waiting)
            yield f"{self.name}: {len(waiting)} translations wait for the host's driver: {pages}"
        if self._under_way or self._again:
            yield f"{self.name}: {self._under_way + len(self._again)} translations are walked"

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)
