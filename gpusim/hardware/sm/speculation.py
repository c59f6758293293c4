"""Speculative fetches: lines at guessed frames, of loads whose translations are awaited.

Avatar (MICRO 2024): the fetch goes out when the first TLB misses; the translation validates it when
it comes.  A right guess hides the translation, a wrong one is squashed, and the load fetched anew.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Final

import attr
from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import EventLoop, NeverFull, Port, Sink, Wakeable
from gpusim.core.errors import UserError
from gpusim.core.interfaces import FirstCache
from gpusim.core.law import Law, laws_of
from gpusim.core.metrics import FRACTION, Metric, Ratio, Total, declare_metrics
from gpusim.core.request import Access, Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.core.unboxed import pair
from gpusim.core.warp_program import SECTOR_BYTES
from gpusim.hardware.sm.frame_guess import FrameGuess

_LOAD: Final = int(Kind.LOAD)
_INTERCONNECT: Final = int(State.INTERCONNECT)


@attr.s(auto_attribs=True, eq=False, repr=False)
class SpeculationCounters:
    """Speculative fetches of one application on one SM."""

    guesses: int = count("lines fetched at a guessed frame", later=True)
    right: int = count("of these, those whose frame was the page's", later=True)
    wrong: int = count("of these, those whose frame was not, squashed", later=True)
    void: int = count("of these, those whose page changed before its translation came", later=True)
    used: int = count("fetched lines that a load took", later=True)
    unused: int = count("fetched lines that none took: wrong, or here already", later=True)
    kept: int = count("fetched lines that are kept now", falls=True, later=True)
    fetched_bytes: int = count("bytes asked for by speculative fetches", "bytes", later=True)
    wasted_bytes: int = count("bytes of fetched lines that no load took", "bytes", later=True)
    nowhere: int = count("guesses of frames that memory does not have, not made", later=True)
    no_room: int = count("guesses not made, as the way out or all entries were full", later=True)


declare_metrics(
    SpeculationCounters,
    Metric(
        "speculative_fetches", "1", "lines fetched at guessed frames", Total("guesses"), later=True
    ),
    Metric(
        "speculation_right",
        FRACTION,
        "guesses of frames that were right",
        Ratio("right", "guesses"),
        later=True,
    ),
    Metric(
        "speculation_wasted",
        FRACTION,
        "bytes of speculative fetches that no load took",
        Ratio("wasted_bytes", "fetched_bytes"),
        later=True,
    ),
)


@frozen(eq=False, repr=False)
class SpeculationSite:
    """Where the speculative fetches of an SM stand in a machine.

    Attributes:
        env: the environment.
        sm: index of the SM.
        apps: applications that share the machine.
        entries: lines that are fetched or kept.
        delay: cycles from a lookup in the first TLB to its miss.
        line_shift, page_lines_shift: bytes of a line of the L1 cache, and such lines of a page, as
            shifts.
        has_frame: whether an address space's memory has a frame.
    """

    env: EventLoop
    sm: int
    apps: int
    entries: int
    delay: int
    line_shift: int
    page_lines_shift: int
    has_frame: Callable[[int, int], bool]


class _Fetch(Access):
    """A line that is fetched at a guessed frame; the load/store unit answers it.

    Attributes:
        frame: the guess.
        request: the one that fetches it.
        owners: loads whose translations have shown that the guess is right.
        judged: whether a translation has come.
        void: whether it was wrong.
        here: whether the line has come.
        waiting: the load that takes it when it comes; None: none yet.
    """

    __slots__ = (
        "app",
        "frame",
        "here",
        "judged",
        "owners",
        "request",
        "slot",
        "sm",
        "unit",
        "void",
        "waiting",
        "warp_slot",
    )

    def __init__(self, unit: SpeculativeFetches, by: Access, frame: int) -> None:
        self.unit = unit
        self.coherent = True  # so that its answer comes here, and goes into no cache
        self.app, self.sm = by.app, by.sm
        self.slot, self.warp_slot, self.place = by.slot, by.warp_slot, by.place
        self.frame = frame
        self.request: MemoryRequest | None = None
        self.owners: list[MemoryRequest] = []
        self.judged = False
        self.void = False
        self.here = False
        self.waiting: MemoryRequest | None = None

    def answered(self, request: MemoryRequest) -> None:
        self.unit.came(self)


class _Validation(NeverFull):
    """On the way of a translation back to a load: compares it with the guess, and passes it on."""

    __slots__ = ("_fetch", "_unit")

    name = "speculation"

    def __init__(self, unit: SpeculativeFetches, fetch: _Fetch | None) -> None:
        self._unit = unit
        self._fetch = fetch

    def send(self, item: MemoryRequest, extra_cycles: int = 0) -> None:
        """The translation of a load has come."""
        self._unit.translated(item, self._fetch)
        item.answer(extra_cycles)


class SpeculativeWay(Sink):
    """The way out of an SM: a load whose line has been fetched at the right frame goes no further.

    Args:
        way: where the others go.
        unit: has the lines.
    """

    def __init__(self, way: Sink, unit: SpeculativeFetches) -> None:
        self.name = way.name
        self._way = way
        self._unit = unit

    @property
    def full(self) -> bool:
        return self._way.full

    def when_free(self, sender: Wakeable) -> None:
        self._way.when_free(sender)

    def send(self, item: MemoryRequest, extra_cycles: int = 0) -> None:
        if item.kind != _LOAD or not self._unit.takes(item, extra_cycles):
            self._way.send(item, extra_cycles)


@mypyc_attr(allow_interpreted_subclasses=True)
class SpeculativeFetches(Component):
    """Fetches lines of an SM at guessed frames while translations are awaited.

    A load that misses the first TLB, or joins such a miss, asks the policy.  Its line is fetched
    through the network as any other, and kept beside the L1 cache.  The load itself waits for its
    translation, looks for its line in the L1 cache, and, where that has to be sent for, takes the
    fetched one: at once if it is here, or when it comes.  A wrong guess has cost the traffic.

    Args:
        site: where it stands.
        policy: guesses.
        l1: the L1 cache.
        way: out of the SM.

    Attributes:
        way: out of the SM, for the load/store unit.
        translations: where that takes its translations; the machine names it.
    """

    path = "speculation"
    laws: Sequence[Law] = laws_of(
        [SpeculationCounters],
        Law("guesses", "right + wrong + void"),
        Law("guesses", "used + unused + kept"),
    )

    def __init__(
        self, site: SpeculationSite, policy: FrameGuess, l1: FirstCache, way: Sink
    ) -> None:
        self.env = site.env
        self.name = f"speculation[{site.sm}]"
        self.instance = site.sm
        self.policy = policy
        self.way: Sink = SpeculativeWay(way, self)
        self.counters = [SpeculationCounters() for _ in range(site.apps)]
        self.translations: Sink | None = None
        self._site = site
        self._l1 = l1
        self._out = way
        self._lines: dict[int, _Fetch] = {}
        """By physical address, what is fetched or kept; the oldest first."""
        self._under_way = 0
        self._taken: Port[MemoryRequest] = Port(site.env, f"{self.name}.taken")
        self.process = site.env.start(self._run())
        self._taken.connect(self.process)

    def _run(self) -> Generator[int | None, None, None]:
        while True:
            while (request := self._taken.take()) is not None:
                self._l1.fill(request)
            yield self._taken.pause()

    # -- a load has missed the first TLB ---------------------------------------------------------

    def missed(self, request: MemoryRequest) -> None:
        """A request, of this SM or another one, waits for its translation from now on."""
        access = request.access
        if access is None or request.back is not self.translations:
            return
        fetch = None
        if request.kind == _LOAD and not access.coherent:
            fetch = self._guess(request, access)
        request.return_to(_Validation(self, fetch))

    def _guess(self, request: MemoryRequest, access: Access) -> _Fetch | None:
        """Fetch the line of a load where the policy thinks that it is."""
        site, tag = self._site, request.tag
        policy: Any = self.policy  # what it gives is checked here, in both forms of gpusim
        frame = policy.guess(tag, access)
        if frame is None:
            return None
        counters = self.counters[request.app]
        if type(frame) is not int:
            raise UserError(
                f"speculation.guess: {type(self.policy).__qualname__} guessed {frame!r} for page "
                f"{tag:#x}; allowed: the number of a frame, or None"
            )
        if not site.has_frame(request.asid, frame):
            counters.nowhere += 1
            return None
        inside = request.vline & (1 << site.page_lines_shift) - 1
        address = (frame << site.page_lines_shift | inside) << site.line_shift
        there = self._lines.get(address)
        if there is not None and not there.judged:
            return there
        if there is not None or self._out.full or not self._makes_room():
            counters.no_room += 1
            return None
        fetch = self._lines[address] = _Fetch(self, access, frame)
        trail = pair(_INTERCONNECT, self.env.now + site.delay)
        fetch.request = sent = MemoryRequest(
            _LOAD,
            request.app,
            request.asid,
            request.sm,
            tag,
            address,
            request.vline,
            self._l1.asks(request.sectors),
            0,
            fetch,
            trail,
        )
        counters.guesses += 1
        counters.kept += 1
        counters.fetched_bytes += _bytes(sent)
        self._under_way += 1
        self._out.send(sent, site.delay)
        return fetch

    def _makes_room(self) -> bool:
        """Whether there is an entry, perhaps of a line that came long ago and no load took."""
        if len(self._lines) < self._site.entries:
            return True
        for address, fetch in self._lines.items():
            if fetch.judged and fetch.here and fetch.waiting is None:
                self._drop(address, fetch)
                return True
        return False

    # -- its translation, its line, and the load itself --------------------------------------------

    def translated(self, request: MemoryRequest, fetch: _Fetch | None) -> None:
        """The translation of a request has come, which had guessed, or not."""
        mapping = request.mapping
        guessed = None if fetch is None else fetch.frame
        if mapping is not None:
            self.policy.learned(request.tag, mapping, guessed)
        if fetch is None:
            return
        counters = self.counters[fetch.app]
        right = mapping is not None and mapping.frame(request.tag) == guessed
        if not fetch.judged:
            fetch.judged = True
            if right:
                counters.right += 1
            elif mapping is None:
                counters.void += 1
            else:
                counters.wrong += 1
            fetch.void = not right
        if right and not fetch.void:
            fetch.owners.append(request)
        if fetch.void and fetch.here:
            self._forget(fetch)

    def came(self, fetch: _Fetch) -> None:
        """A fetched line is here."""
        fetch.here = True
        self._under_way -= 1
        if fetch.void:
            self._forget(fetch)
        elif fetch.waiting is not None:
            self._taken.send(fetch.waiting)
            fetch.waiting = None

    def takes(self, request: MemoryRequest, delay: int) -> bool:
        """Whether a load that leaves the L1 cache has its line here, or on the way."""
        fetch = self._lines.get(request.address)
        if fetch is None or not any(one is request for one in fetch.owners):
            return False
        sent = fetch.request
        assert sent is not None
        del self._lines[request.address]
        counters = self.counters[fetch.app]
        counters.kept -= 1
        if request.sectors & ~sent.sectors:
            counters.unused += 1
            counters.wasted_bytes += _bytes(sent)
            return False
        counters.used += 1
        if fetch.here:
            self._taken.send(request, delay)
        else:
            request.follow(sent, self.env.now)
            fetch.waiting = request
        return True

    def _forget(self, fetch: _Fetch) -> None:
        assert fetch.request is not None
        if self._lines.get(fetch.request.address) is fetch:
            self._drop(fetch.request.address, fetch)

    def _drop(self, address: int, fetch: _Fetch) -> None:
        """A line goes that no load took."""
        assert fetch.request is not None
        del self._lines[address]
        counters = self.counters[fetch.app]
        counters.kept -= 1
        counters.unused += 1
        counters.wasted_bytes += _bytes(fetch.request)

    # -- reports -----------------------------------------------------------------------------------

    def in_flight(self) -> int:
        return self._under_way + len(self._taken)

    def waiting(self) -> Iterator[str]:
        if self._under_way:
            yield f"{self.name}: {self._under_way} lines are fetched at guessed frames"

    def policies(self) -> Iterable[tuple[str, object]]:
        return (("speculation.guess", self.policy),)

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)


def _bytes(request: MemoryRequest) -> int:
    """Bytes that a fetch asks for."""
    return SECTOR_BYTES * (request.sectors & 0xFF).bit_count()
