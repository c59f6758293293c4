"""The stage in front of a GPU's walkers: pages that its table does not have wait here."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import ClassVar, Final

import attr
from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.engine import NEVER, EventLoop, Port, Sink
from gpusim.core.law import Law, laws_of
from gpusim.core.metrics import Metric, Ratio, Total, declare_metrics
from gpusim.core.request import Purpose, Translation
from gpusim.core.stage import Stage
from gpusim.hardware.node.forwarding import Forwarding
from gpusim.hardware.node.invalidation import Invalidation
from gpusim.hardware.node.own_walk import OwnWalk

_PREFETCH: Final = int(Purpose.PREFETCH)
_REPLAY: Final = int(Purpose.REPLAY)


@attr.s(auto_attribs=True, eq=False, repr=False)
class FarFaultCounters:
    """Translations of one application that passed, and those whose pages the GPU did not know."""

    received: int = count("translations that came from the TLBs")
    returned: int = count("of these, answered")
    faults: int = count("walks that did not find their page in the GPU's table")
    merged: int = count("of these, those whose page had been asked for already")
    replays: int = count("walks begun anew when the host had answered")
    fault_cycles: int = count("from such a walk to its replay, summed", "cycles")
    dropped: int = count("prefetches that did not find their page, and did not ask for it")
    absent: int = count(
        "of the faults, those whose page lay with no GPU: answered with nothing", later=True
    )
    unwalked: int = count("translations whose pages were known to be in no entry", later=True)
    own_walks: int = count(
        "walks that no TLB asked for: of entries to invalidate, and for other GPUs", later=True
    )


declare_metrics(
    FarFaultCounters,
    Metric("far_faults", "1", "walks that did not find a page in a GPU's table", Total("faults")),
    Metric(
        "far_fault_latency",
        "cycles",
        "from such a walk to its replay",
        Ratio("fault_cycles", "replays"),
    ),
)


class FarFault:
    """A page that a GPU asks the host for.

    Attributes:
        tag: the page.
        gpu: the GPU.
        app: the application behind it.
        stores: whether it has to be writable: a store or an atomic waits where it leaves its SM.
        writes: whether the access whose walk has not found the page is a store or an atomic.
    """

    __slots__ = ("app", "gpu", "stores", "tag", "writes")

    def __init__(
        self, tag: int, gpu: int, app: int, *, stores: bool = False, writes: bool = False
    ) -> None:
        self.tag = tag
        self.gpu = gpu
        self.app = app
        self.stores = stores
        self.writes = writes


@frozen(eq=False, repr=False)
class FarFaultSite:
    """Where the stage of far faults stands in a node.

    Attributes:
        env: the environment.
        gpu: the GPU.
        queue: translations that fit into `requests`.
        apps: applications that share the machine.
        host: where faults go.
        trip: cycles of the way from the host.
        enter: called with a page when the host's answer has come, and enters it into the table.
        asks: whether a page is one that the host is asked for.
        sm: the first SM of the GPU.
        invalidation: when entries are invalidated; None: as soon as the GPU is asked to.
        forwarding: which pages the GPU's table is taken to lack; None: walks find that out.
    """

    env: EventLoop
    gpu: int
    queue: int
    apps: int
    host: Sink
    trip: int
    enter: Callable[[int, int], None]
    asks: Callable[[int], bool]
    sm: int
    invalidation: Invalidation | None = None
    forwarding: Forwarding | None = None


@mypyc_attr(allow_interpreted_subclasses=True)
class FarFaults(Stage):
    """Sends translations on to the walkers, and asks the host for pages that these do not find.

    All that find the same page missing wait for one answer; then they walk again.  Walks that no
    TLB waits for, of entries to invalidate and for other GPUs, take the same walkers.

    Args:
        site: where it stands.
        walkers: the stage below.

    Attributes:
        answers: pages that the host has answered for.
        absent: pages that lie with no GPU, as the host says.
        forwarded: walks for faults of other GPUs, on their way from the host.
    """

    laws: Sequence[Law] = laws_of(
        [FarFaultCounters],
        Law("received", "returned", "translations that came", "those that were answered"),
        Law("replays + absent", "faults"),
    )
    states: ClassVar[tuple[str, ...]] = ("host_mmu", "migration")

    def __init__(self, site: FarFaultSite, walkers: Stage) -> None:
        env, name = site.env, f"far_faults[{site.gpu}]"
        requests: Port[Translation] = Port(env, f"{name}.requests", depth=site.queue)
        super().__init__(name, "node/far_faults", site.gpu, requests)
        self.env = env
        self.counters = [FarFaultCounters() for _ in range(site.apps)]
        self.answers: Port[int] = Port(env, f"{name}.answers", site.trip)
        self.absent: Port[int] = Port(env, f"{name}.absent", site.trip)
        self.forwarded: Port[OwnWalk] = Port(env, f"{name}.forwarded", site.trip)
        self._site = site
        self._walkers = walkers.requests
        self._host = site.host
        self._enter = site.enter
        self._walked: Port[Translation] = Port(env, f"{name}.walked")
        self._waiting: dict[int, list[tuple[Translation, int]]] = {}
        """By page, what waits for it, and since when."""
        self._unsent: list[FarFault] = []
        self._again: list[Translation] = []
        self._own: list[OwnWalk] = []
        self._under_way = 0
        self.process = env.start(self._run())
        for port in (self.requests, self._walked, self.answers, self.absent, self.forwarded):
            port.connect(self.process)

    def _run(self) -> Generator[int | None, None, None]:
        requests, walked, answers, below = self.requests, self._walked, self.answers, self._walkers
        absent, forwarded = self.absent, self.forwarded
        while True:
            self._take_answers()
            while (walk := walked.take()) is not None:
                self._ended(walk)
            while (own := forwarded.take()) is not None:
                self._own.append(own)
            self._invalidate()
            while self._own and not below.full:
                self._send_own(self._own.pop(0))
            while self._again and not below.full:
                self._send(self._again.pop(0))
            while not below.full and (translation := requests.take()) is not None:
                self._received(translation)
            while self._unsent and not self._host.full:
                self._host.send(self._unsent.pop(0))
            if self._unsent:
                self._host.when_free(self.process.wake)
            blocked = below.full and (requests.queue or self._again or self._own)
            if blocked:
                below.when_free(self.process.wake)
            upcoming = min(walked.ready, answers.ready, absent.ready, forwarded.ready)
            if not blocked:
                upcoming = min(upcoming, requests.ready)
            yield None if upcoming == NEVER else max(upcoming - self.env._now, 0)

    def _take_answers(self) -> None:
        """What the host has said of pages."""
        while (tag := self.answers.take()) is not None:
            self._answered(tag)
        while (tag := self.absent.take()) is not None:
            self._is_absent(tag)

    def _send(self, translation: Translation) -> None:
        translation.return_to(self._walked)
        self._under_way += 1
        self._walkers.send(translation)

    def _received(self, translation: Translation) -> None:
        """A translation has come: it is walked, unless its page is known to be in no entry."""
        counters, tag, site = self.counters[translation.app], translation.tag, self._site
        counters.received += 1
        void = site.invalidation is not None and site.invalidation.kept(tag, site.gpu)
        if not void and site.forwarding is not None:
            void = site.asks(tag) and site.forwarding.absent(tag, site.gpu)
        if void:
            counters.unwalked += 1
            translation.mapping = None
            self._missed(translation)
        else:
            self._send(translation)

    def walk(self, tag: int, then: Callable[[OwnWalk], None]) -> None:
        """Let a walker come to the entry of a page; `then` is called with the walk at its end."""
        self._own.append(self.own_walk(tag, then))
        self.process.wake.now()

    def own_walk(self, tag: int, then: Callable[[OwnWalk], None]) -> OwnWalk:
        """A walk of the GPU's table that no TLB waits for."""
        return OwnWalk(tag, self._site.sm, self.env._now, then)

    def invalidate_later(self) -> None:
        """The policy has kept an invalidation, for which walkers may have time."""
        self.process.wake.now()

    def _invalidate(self) -> None:
        """Walkers come to entries of pages whose invalidation was kept, if the policy says so."""
        policy = self._site.invalidation
        if policy is None:
            return
        idle = not (self._under_way or self._own or self._again or self.requests.queue)
        for tag in policy.due(self.instance, idle):
            self._own.append(self.own_walk(tag, _written))

    def _send_own(self, walk: OwnWalk) -> None:
        self.counters[walk.app].own_walks += 1
        self._send(walk)

    def _ended(self, translation: Translation) -> None:
        """A walk has ended: pass on what it found, or ask for the page."""
        self._under_way -= 1
        if isinstance(translation, OwnWalk):
            translation.then(translation)
        elif translation.mapping is None:
            self._missed(translation)
        else:
            self.counters[translation.app].returned += 1
            translation.answer()

    def _missed(self, translation: Translation) -> None:
        """The table does not have the page of a translation: the host is asked for it."""
        counters, tag = self.counters[translation.app], translation.tag
        if translation.kind == _PREFETCH:
            counters.dropped += 1
            counters.returned += 1
            translation.answer()
            return
        now = self.env._now
        counters.faults += 1
        translation.trail.append(self.state_numbers[0])
        translation.trail.append(now)
        if tag in self._waiting:
            counters.merged += 1
            self._waiting[tag].append((translation, now))
            return
        self._waiting[tag] = [(translation, now)]
        access = translation.access
        writes = access is not None and access.stores()
        self._unsent.append(FarFault(tag, self.instance, translation.app, writes=writes))

    def moves(self, tag: int) -> None:
        """A page that is waited for is on its way, or will be."""
        for translation, _ in self._waiting.get(tag, ()):
            translation.trail.append(self.state_numbers[1])
            translation.trail.append(self.env._now)

    def _answered(self, tag: int) -> None:
        """The host's answer has come: all that wait for the page walk again."""
        self._enter(tag, self.instance)
        for translation, since in self._waiting.pop(tag, ()):
            counters = self.counters[translation.app]
            counters.replays += 1
            counters.fault_cycles += self.env._now - since
            translation.kind = _REPLAY
            self._again.append(translation)

    def _is_absent(self, tag: int) -> None:
        """A page lies with no GPU: what waits for it is answered with nothing, and has to fault."""
        for translation, _ in self._waiting.pop(tag, ()):
            counters = self.counters[translation.app]
            counters.absent += 1
            counters.returned += 1
            translation.answer()

    def shoot_down(self, tag: int | None) -> None:
        """Nothing is kept here; the stages above know what is on its way."""

    # -- reports ---------------------------------------------------------------------------------

    def sent(self, paths: Sequence[str]) -> str:
        path = self.path
        return f"{path}.received - {path}.unwalked + {path}.replays + {path}.own_walks"

    def received(self, paths: Sequence[str]) -> str:
        return f"{self.path}.received"

    def in_flight(self) -> int:
        waiting = sum(map(len, self._waiting.values()))
        again = len(self._again) + len(self._own) + len(self.forwarded)
        return self._under_way + len(self.requests) + waiting + again

    def waiting(self) -> Iterator[str]:
        if self._waiting:
            pages = ", ".join(f"{tag:#x}" for tag in list(self._waiting)[:4])
            yield f"{self.name}: {len(self._waiting)} pages are asked for: {pages}"
        if walked := self._under_way + len(self._again) + len(self._own):
            yield f"{self.name}: {walked} translations are walked"

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)


def _written(walk: OwnWalk) -> None:
    """A walker has invalidated an entry whose page had been forgotten before."""
