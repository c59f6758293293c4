"""Stores to pages of which there are copies: they wait until the copies are given up."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import ClassVar, Final, Protocol

import attr
from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import NEVER, EventLoop, Port, Sink
from gpusim.core.law import Law, laws_of
from gpusim.core.mapping import Mapping
from gpusim.core.metrics import Metric, Ratio, Total, declare_metrics
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.hardware.node.accesses import AccessesUnderWay
from gpusim.hardware.node.far_faults import FarFault

_LOAD: Final = int(Kind.LOAD)
_INTERCONNECT: Final = int(State.INTERCONNECT)


@attr.s(auto_attribs=True, eq=False, repr=False)
class HeldStoreCounters:
    """Stores and atomics of one application that could not leave their SMs at once."""

    held: int = count("stores and atomics to pages of which there were copies")
    released: int = count("of these, those that have left")
    faults: int = count("pages that the host was asked for, to store to them")
    held_cycles: int = count("cycles that stores and atomics waited, summed", "cycles")


declare_metrics(
    HeldStoreCounters,
    Metric("held_stores", "1", "stores that waited for copies of pages to go", Total("held")),
    Metric(
        "held_store_latency",
        "cycles",
        "that such a store waited",
        Ratio("held_cycles", "released"),
    ),
)


class CopiedPages(Protocol):
    """Which pages have copies, and what GPUs have (see `gpusim.hardware.node.PageMoves`)."""

    def is_copied(self, tag: int) -> bool:
        """Whether there are copies of a page; `tag`: its first page."""

    def enter(self, tag: int, gpu: int) -> None:
        """The host's answer is there."""

    def of_gpu(self, tag: int, gpu: int) -> Mapping:
        """What a GPU uses of a page: its copy, or what all have."""


@frozen(eq=False, repr=False)
class HeldStoresSite:
    """Where stores of a GPU are held.

    Attributes:
        env: the environment.
        gpu: the GPU.
        apps: applications that share the machine.
        host: where faults go.
        trip: cycles of the way from the host.
        page_shift: of the smallest pages.
        pages: which have copies.
        accesses: under way, of the GPU's SMs.
    """

    env: EventLoop
    gpu: int
    apps: int
    host: Sink
    trip: int
    page_shift: int
    pages: CopiedPages
    accesses: AccessesUnderWay


class _Held:
    """A store or an atomic that is held.

    Attributes:
        request: it.
        way: out of its SM.
        since: when it came.
    """

    __slots__ = ("request", "since", "way")

    def __init__(self, request: MemoryRequest, way: Sink, since: int) -> None:
        self.request = request
        self.way = way
        self.since = since


@mypyc_attr(allow_interpreted_subclasses=True)
class HeldStores(Component):
    """Holds what a GPU's SMs store to pages with copies, and asks the host to give these up.

    A translation says that such a page is read only.  That is found as a store leaves its SM, and
    it leaves when the host has answered, for the frame that the page has then, without another
    lookup [our choice].
    """

    path = "node/held_stores"
    laws: Sequence[Law] = laws_of(
        [HeldStoreCounters], Law("held", "released", "stores that were held", "those that left")
    )
    states: ClassVar[tuple[str, ...]] = ("migration",)

    def __init__(self, site: HeldStoresSite) -> None:
        env = self.env = site.env
        self.name = f"held_stores[{site.gpu}]"
        self.instance = site.gpu
        self.counters = [HeldStoreCounters() for _ in range(site.apps)]
        self.answers: Port[int] = Port(env, f"{self.name}.answers", site.trip)
        self._site = site
        self._held: dict[int, list[_Held]] = {}
        """By first page."""
        self._unsent: list[FarFault] = []
        self._leaving: list[_Held] = []
        self.process = env.start(self._run())
        self.answers.connect(self.process)

    def holds(self, request: MemoryRequest, way: Sink) -> bool:
        """Whether a request of an SM is held, to leave by `way` later."""
        mapping = request.mapping
        if request.kind == _LOAD or mapping is None:
            return False
        tag = mapping.tag
        held = self._held.get(tag)
        if held is None and not self._site.pages.is_copied(tag):
            return False
        now = self.env._now
        request.trail.append(self.state_numbers[0])
        request.trail.append(now)
        self._site.accesses.came(tag)
        self.counters[request.app].held += 1
        if held is None:
            held = self._held[tag] = []
            self._ask(tag, request.app)
        held.append(_Held(request, way, now))
        return True

    def _ask(self, tag: int, app: int) -> None:
        self.counters[app].faults += 1
        self._unsent.append(FarFault(tag, self.instance, app, stores=True))
        self.process.wake.now()

    def _run(self) -> Generator[int | None, None, None]:
        answers, host = self.answers, self._site.host
        while True:
            while (tag := answers.take()) is not None:
                self._answered(tag)
            while self._unsent and not host.full:
                host.send(self._unsent.pop(0))
            if self._unsent:
                host.when_free(self.process.wake)
            self._let_leave()
            ready = answers.ready
            yield None if ready == NEVER else max(ready - self.env._now, 0)

    def _answered(self, tag: int) -> None:
        """The host's answer has come: what waited for the page is under way, or asks again."""
        site = self._site
        site.pages.enter(tag, self.instance)
        held = self._held.pop(tag)
        if site.pages.is_copied(tag):
            self._held[tag] = held
            self._ask(tag, held[0].request.app)
            return
        mapping, now = site.pages.of_gpu(tag, self.instance), self.env._now
        for one in held:
            request = one.request
            assert request.mapping is not None
            request.address += (mapping.delta - request.mapping.delta) << site.page_shift
            request.mapping = mapping
            request.trail.append(_INTERCONNECT)
            request.trail.append(now)
            counters = self.counters[request.app]
            counters.released += 1
            counters.held_cycles += now - one.since
            site.accesses.left(request)
        self._leaving += held

    def _let_leave(self) -> None:
        """Put what may leave on its way, as far as there is room."""
        blocked: list[_Held] = []
        for one in self._leaving:
            if one.way.full:
                one.way.when_free(self.process.wake)
                blocked.append(one)
            else:
                one.way.send(one.request)
        self._leaving = blocked

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        return sum(map(len, self._held.values())) + len(self._leaving)

    def waiting(self) -> Iterator[str]:
        if self._held:
            pages = ", ".join(f"{tag:#x}" for tag in list(self._held)[:4])
            yield f"{self.name}: stores wait for {len(self._held)} pages with copies: {pages}"

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)
