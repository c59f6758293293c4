"""The host's MMU: a TLB and walkers for pages that GPUs do not find in their own tables."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

import attr
from mypy_extensions import mypyc_attr

from gpusim.config.node import HostMmuConfig
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import NEVER, EventLoop, Port
from gpusim.core.law import Law, laws_of
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.files.units import Hertz
from gpusim.hardware.node.far_faults import FarFault, FarFaults
from gpusim.hardware.node.forwarding import Forwarding
from gpusim.hardware.node.own_walk import OwnWalk


@attr.s(auto_attribs=True, eq=False, repr=False)
class HostMmuCounters:
    """What GPUs asked of the host for one application."""

    faults: int = count("pages that GPUs asked for")
    hits: int = count("of these, found in the host's TLB")
    walks: int = count("of these, walked")
    merged: int = count("of these, those that waited for a walk of the same page")
    queue_cycles: int = count("waiting for a walker, summed over walks", "cycles")
    forwarded: int = count("of the walks, those that a GPU's walkers were asked for", later=True)
    spared: int = count("of these, answered before a walker of the host was free", later=True)
    in_vain: int = count("of these, those whose page that GPU did not have", later=True)


declare_metrics(
    HostMmuCounters,
    Metric("host_tlb_hit_rate", FRACTION, "hit rate of the host's TLB", Ratio("hits", "faults")),
    Metric(
        "host_walk_queueing",
        "cycles",
        "time that a fault queues for a walker of the host",
        Ratio("queue_cycles", "walks"),
    ),
)


@mypyc_attr(allow_interpreted_subclasses=True)
class HostMmu(Component):
    """Takes faults in their order; a hit in its TLB is resolved at once, others are walked.

    Args:
        env: the environment.
        config: what it is like.
        clock: of the core.
        apps: applications that share the machine.
        resolve: called with a fault whose page has been looked for; tells whether it is there.
        forwarding: which faults walkers of GPUs look for as well; None: none.

    Attributes:
        requests: where GPUs send their faults.
        gpus: by number, the stage in front of its walkers.
    """

    name = "host_mmu"
    path = "node/host_mmu"
    laws: Sequence[Law] = laws_of([HostMmuCounters], Law("faults", "hits + walks + merged"))

    def __init__(
        self,
        env: EventLoop,
        config: HostMmuConfig,
        clock: Hertz,
        apps: int,
        resolve: Callable[[FarFault], bool],
        forwarding: Forwarding | None = None,
    ) -> None:
        self.env = env
        self.counters = [HostMmuCounters() for _ in range(apps)]
        self.requests: Port[FarFault] = Port(
            env, "host_mmu.requests", config.trip.cycles(clock), depth=config.queue
        )
        self.gpus: Sequence[FarFaults] = ()
        self._forwarding = forwarding
        self._forwarded = 0
        """Walks of GPUs for the host that are under way."""
        self._resolve = resolve
        self._entries = config.entries
        self._latency = config.latency.cycles(clock)
        self._free = config.walkers
        self._tlb: dict[int, None] = {}
        self._walks: dict[int, list[FarFault]] = {}
        """By page, the faults that wait for its walk."""
        self._queue: list[tuple[int, int]] = []
        """Pages that wait for a walker, and since when."""
        self._walked: Port[int] = Port(env, "host_mmu.walked", self._latency)
        self._walked_by_gpus: Port[OwnWalk] = Port(
            env, "host_mmu.walked_by_gpus", config.trip.cycles(clock)
        )
        self.process = env.start(self._run())
        self.requests.connect(self.process)
        self._walked.connect(self.process)
        self._walked_by_gpus.connect(self.process)

    def _run(self) -> Generator[int | None, None, None]:
        requests, walked, by_gpus = self.requests, self._walked, self._walked_by_gpus
        while True:
            now = self.env._now
            while (tag := walked.take()) is not None:
                self._free += 1
                self._keep(tag)
                self._found(tag)
            while (walk := by_gpus.take()) is not None:
                self._came(walk)
            while (fault := requests.take()) is not None:
                self._look_up(fault)
            while self._free and self._queue:
                tag, since = self._queue.pop(0)
                self.counters[self._walks[tag][0].app].queue_cycles += now - since
                self._free -= 1
                walked.send(tag)
            upcoming = min(requests.ready, walked.ready, by_gpus.ready)
            yield None if upcoming == NEVER else upcoming - now

    def _look_up(self, fault: FarFault) -> None:
        counters, tag = self.counters[fault.app], fault.tag
        counters.faults += 1
        if tag in self._tlb:
            counters.hits += 1
            self._keep(tag)
            self._resolve(fault)
        elif tag in self._walks:
            counters.merged += 1
            self._walks[tag].append(fault)
        else:
            counters.walks += 1
            self._walks[tag] = [fault]
            if self._forwarding is not None:
                queued = max(len(self._queue) + 1 - self._free, 0)
                self._forward(fault, self._forwarding.holder(tag, fault.gpu, queued))
            self._queue.append((tag, self.env._now))

    def _forward(self, fault: FarFault, gpu: int) -> None:
        """Let walkers of a GPU (-1: none) look for a page as well."""
        if gpu >= 0:
            self.counters[fault.app].forwarded += 1
            self._forwarded += 1
            stage = self.gpus[gpu]
            stage.forwarded.send(stage.own_walk(fault.tag, self._walked_by_gpus.send))

    def _came(self, walk: OwnWalk) -> None:
        """A GPU has walked a page: if it has it, no walker of the host is needed any more."""
        self._forwarded -= 1
        tag, counters = walk.tag, self.counters[walk.app]
        if walk.mapping is None:
            counters.in_vain += 1
            return
        for index, (queued, since) in enumerate(self._queue):
            if queued == tag:
                del self._queue[index]
                counters.queue_cycles += self.env._now - since
                counters.spared += 1
                self._keep(tag)
                self._found(tag)
                return

    def _found(self, tag: int) -> None:
        """A page has been looked for; the TLB keeps none that lies nowhere."""
        for waiting in self._walks.pop(tag):
            if not self._resolve(waiting):
                self._tlb.pop(tag, None)

    def _keep(self, tag: int) -> None:
        """Put a page into the TLB, as the one that was used last."""
        self._tlb.pop(tag, None)
        self._tlb[tag] = None
        if len(self._tlb) > self._entries:
            del self._tlb[next(iter(self._tlb))]

    def shoot_down(self, tag: int | None) -> None:
        """Forget a page (None: all) in the TLB; walks under way read what is right at their end."""
        if tag is None:
            self._tlb.clear()
        else:
            self._tlb.pop(tag, None)

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        return len(self.requests) + sum(map(len, self._walks.values())) + self._forwarded

    def waiting(self) -> Iterator[str]:
        if self._walks:
            yield f"{self.name}: {len(self._walks)} pages are walked, or wait for a walker"

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)
