"""One bank of the shared L2 cache: write-back, write-allocate, atomics performed in place."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from typing import Any, Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.config.schema import L2Config
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import NEVER, EventLoop, Port, Probe, Sink, Stall
from gpusim.core.interfaces import Inbound
from gpusim.core.law import Law
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.mshr import FULL, Mshrs
from gpusim.core.request import Kind, MemoryRequest, VirtualRequest
from gpusim.core.signals import Signals
from gpusim.core.states import State
from gpusim.core.warp_program import SECTOR_BYTES
from gpusim.files.units import Hertz
from gpusim.hardware.cache.array import CacheArray
from gpusim.hardware.cache.page_table_reads import Levels
from gpusim.hardware.cache.partition import arrays_of

_LOAD: Final = int(Kind.LOAD)
_WALK: Final = int(Kind.WALK)
_L2: Final = int(State.L2)
_INTERCONNECT: Final = int(State.INTERCONNECT)

WRITEBACK_BUFFER: Final = 8
"""Dirty lines that wait for DRAM before a bank stops taking fills [our choice]."""


@attr.s(auto_attribs=True)
class L2Counters:
    """What one L2 bank did for one application; hits + misses = lookups."""

    lookups: int = count("requests that looked for their line, each counted once")
    hits: int = count("requests that found it")
    misses: int = count("requests that did not, merged ones included")
    merged: int = count("misses that waited for one already under way")
    fills: int = count("lines that came back from DRAM")
    writebacks: int = count("dirty lines sent to DRAM")
    stores: int = count("stores and atomics among the lookups")
    translation_lookups: int = count("page-table reads among the lookups")
    translation_hits: int = count("page-table reads that found their line")
    stalls: int = count("times that a request had to wait for an MSHR or for DRAM")


declare_metrics(
    L2Counters,
    Metric("l2_hit_rate", FRACTION, "L2 cache hit rate", Ratio("hits", "lookups")),
    Metric(
        "l2_translation_hit_rate",
        FRACTION,
        "L2 cache hit rate of page-table reads",
        Ratio("translation_hits", "translation_lookups"),
    ),
    Metric(
        "l2_data_hit_rate",
        FRACTION,
        "L2 cache hit rate of data",
        Ratio("hits - translation_hits", "lookups - translation_lookups"),
    ),
)


LOOKUPS = Law("lookups", "hits + misses")
"""Of every bank."""


@mypyc_attr(allow_interpreted_subclasses=True)
class MissPath:
    """What becomes of the requests of an L2 bank that do not find their line.

    The bank looks up, counts, merges misses in its MSHRs and answers; its miss path brings the
    lines, and takes away those that make room for them.

    Args:
        bank: whose misses they are.
        channel: the DRAM channel that an address belongs to.

    Attributes:
        unsent: requests for which DRAM had no room.
        leaving: dirty lines that have not reached DRAM yet.
        second_lookups: requests of which each takes a port of the bank before those of its SMs and
            even while these have to wait: misses that look for their line again, under another
            name, or what other partitions ask for; None: there are none.
        virtual: whether lines are named by virtual addresses.
        laws: of the bank: between its counters and those of its miss path.
    """

    leaving: Sized
    second_lookups: Port[Any] | None = None
    virtual = False
    laws: Sequence[Law]

    def __init__(self, bank: L2Bank, channel: Callable[[int], Port[MemoryRequest]]) -> None:
        self.bank = bank
        self.channel = channel
        self.unsent: list[MemoryRequest] = []

    @abstractmethod
    def advance(self, answering: bool) -> int:
        """Go on with what is `unsent` or was let through, whenever the bank is woken.

        Args:
            answering: whether the bank can answer anybody now.

        Returns:
            when there is more to do (`NEVER`: the bank will be woken).
        """

    def send_unsent(self) -> None:
        """Send the requests for which DRAM has room, in their order."""
        unsent = self.unsent
        while unsent:
            channel = self.channel(unsent[0].address)
            if channel.full:
                channel.when_free(self.bank.process.wake)
                return
            channel.send(unsent.pop(0))

    @abstractmethod
    def way(self, request: MemoryRequest) -> Sink:
        """Where a new miss is sent, once there is room."""

    @abstractmethod
    def send(self, request: MemoryRequest, way: Sink) -> None:
        """Send a new miss on its way, which has room; its lookup takes the bank's latency."""

    @abstractmethod
    def found(self, request: MemoryRequest, name: int) -> None:
        """A request has found the line `name`; in a physical cache, only if it changes it."""

    def replay(self, request: Any) -> None:
        """Look for the line of one of the `second_lookups`."""

    @abstractmethod
    def fill(self, filled: MemoryRequest) -> None:
        """A line has come: keep it, and answer everyone who waits for it."""

    @abstractmethod
    def in_flight(self) -> int:
        """What is not finished beside the misses in MSHRs."""

    @abstractmethod
    def waiting(self) -> Iterator[str]:
        """Who waits for whom, for the watchdog."""

    def app_counters(self, app: int) -> Iterable[object]:
        """Its own counters of an application."""
        return ()


@mypyc_attr(allow_interpreted_subclasses=True)
class L2Bank(Component):
    """A bank looks up `ports` requests a cycle; a hit is answered after the latency.

    A miss takes an MSHR and goes its path; stores and atomics to its line wait for it and are then
    merged into it.

    Args:
        apps: indices of the applications that share the cache.
        levels: where lookups of page-table reads are counted by level; all banks share it.
        link: where the requests of the SMs come in; page-table reads come in on `requests`.
        replies: the way back to the SMs; while it is full, the bank sends no answers.
        misses: makes the miss path.

    Attributes:
        requests: page-table reads.
        fills: lines that come from DRAM.
        misses: the miss path.
        mshrs: misses by the names of their lines.
        arrays: the lines that each application may use.
        latency: of a lookup, in cycles.
        shift: a line's bytes, as a power of two.
        whole: mask of all sectors of a line.
    """

    path = "l2"

    def __init__(
        self,
        env: EventLoop,
        index: int,
        config: L2Config,
        clock: Hertz,
        apps: Sequence[int],
        levels: Levels,
        link: Inbound,
        replies: Sink,
        misses: Callable[[L2Bank], MissPath],
    ) -> None:
        self.env = env
        self.name = f"l2[{index}]"
        self.instance = index
        entry = 0 if config.entry is None else config.entry.cycles(clock)
        self.requests: Port[MemoryRequest] = Port(
            env, f"{self.name}.requests", entry, depth=config.queue + entry
        )
        self.fills: Port[MemoryRequest] = Port(env, f"{self.name}.fills")
        self.counters = [L2Counters() for _ in levels]
        self.on_lookup: Probe[[int, int, bool, int]] = Probe()
        """Depth (0: data), app, whether it hit, cycle."""
        self.latency = config.latency.cycles(clock)
        self.shift = config.line.bit_length() - 1
        self.whole = (1 << (config.line // SECTOR_BYTES)) - 1
        self.arrays = arrays_of(config, apps)
        self.mshrs: Mshrs[MemoryRequest] = Mshrs(config.mshrs, config.mshr_merge)
        self._levels = levels
        self._link = link
        self._replies = replies
        self._ports = config.ports
        self._in_order = config.page_table_reads == "in-order"
        self._left = 0
        """Ports that are still free in this cycle: a bank may be woken several times in one."""
        self.process = env.start(self._run())
        self._stall = Stall(self.process.wake)
        self._no_mshr = False
        self.misses = misses(self)
        self._virtual = self.misses.virtual
        self.laws = self.misses.laws
        self.requests.connect(self.process)
        link.connect(self.process)
        self.fills.connect(self.process)

    def attach(self, signals: Signals) -> None:
        """Hand its policies the signals of the machine."""
        for array in dict.fromkeys(self.arrays.values()):
            array.replacement.attach(signals)

    def _run(self) -> Generator[int | None, None, None]:
        env, replies, fills, misses = self.env, self._replies, self.fills, self.misses
        replays, leaving, stall = misses.second_lookups, misses.leaving, self._stall
        cycle = -1
        while True:
            answering = not replies.full
            upcoming = NEVER
            if misses.unsent or replays is not None:
                upcoming = misses.advance(answering)
            if not answering:
                replies.when_free(self.process.wake)
                yield None
                continue
            if fills.queue and len(leaving) < WRITEBACK_BUFFER:
                while (filled := fills.take()) is not None:
                    self.counters[filled.app].fills += 1
                    misses.fill(filled)
                if fills.ready < upcoming:
                    upcoming = fills.ready
            now = env._now
            if cycle != now:
                cycle = now
                self._left = self._ports
            if replays is not None:
                upcoming = min(upcoming, self._take_replays(replays))
            if not stall.active and (lookups := self._look_up()) < upcoming:
                upcoming = lookups
            yield None if upcoming == NEVER else upcoming - cycle

    def _take_replays(self, replays: Port[Any]) -> int:
        """Start this cycle's replays; returns when there may be more."""
        while self._left and (replay := replays.take()) is not None:
            self.misses.replay(replay)
            self._left -= 1
        return replays.next_cycle() if self._left else self.env._now + 1

    def _look_up(self) -> int:
        """Start this cycle's lookups; returns when there may be more (`NEVER`: it will be told)."""
        walks, link = self.requests, self._link
        now = self.env._now
        if self._in_order and walks.ready <= now:
            return self._look_up_in_order(now)
        while self._left and walks.ready <= now:
            if not self._take_walk():
                return NEVER
        while self._left and link.ready <= now:
            if not self._take_from_link(now):
                return NEVER
        if not self._left:
            return now + 1
        return min(walks.next_cycle(), link.ready)

    def _look_up_in_order(self, now: int) -> int:
        """Likewise, where page-table reads take their turn among the requests of the SMs."""
        walks, link = self.requests, self._link
        while self._left:
            if walks.ready <= now and walks.ready <= link.ready:
                if not self._take_walk():
                    return NEVER
            elif link.ready > now:
                return min(walks.next_cycle(), link.ready)
            elif not self._take_from_link(now):
                return NEVER
        return now + 1

    def _take_walk(self) -> bool:
        """Look up the next page-table read; False if it has to wait."""
        walk = self.requests.head()
        assert walk is not None, "the port passes any number a cycle"
        if not self._serve(walk):
            return False
        self.requests.take()
        self._left -= 1
        return True

    def _take_from_link(self, now: int) -> bool:
        """Look up the next request of an SM; False if it has to wait."""
        link = self._link
        request = link.head()
        if request.trail[-2] != _L2:
            request.trail.append(_L2)
            request.trail.append(now)
        if not self._serve(request):
            return False
        link.take()
        self._left -= 1
        return True

    def _serve(self, request: MemoryRequest) -> bool:
        """Look up one request; False if it has to wait (the bank is woken when it may not)."""
        if self._virtual:
            assert isinstance(request, VirtualRequest)
            name, line = request.name, request.line
        else:
            name = line = request.address >> self.shift
        counters = self.counters[request.app]
        hit = not self.arrays[request.app].missing(name, self.whole)
        if hit:
            counters.hits += 1
            if self._virtual or (request.kind != _LOAD and request.kind != _WALK):
                self.misses.found(request, name)
            self.answer(request, self.latency)
        elif self.mshrs.merges(line):
            if self.mshrs.admit(line, request) == FULL:
                return self._needs_fill(counters)
            counters.misses += 1
            counters.merged += 1
            request.follow(self.mshrs.first(line), self.env._now)
        else:
            way = self.misses.way(request)
            if way.full:
                return self._needs_way(counters, way)
            if self.mshrs.admit(line, request) == FULL:
                return self._needs_fill(counters)
            counters.misses += 1
            self.misses.send(request, way)
        self._count_lookup(request, counters, hit)
        return True

    def _needs_way(self, counters: L2Counters, way: Sink) -> bool:
        """The way of a miss is full: look up nothing until it has room."""
        counters.stalls += 1
        self._stall.active = True
        way.when_free(self._stall)
        return False

    def _needs_fill(self, counters: L2Counters) -> bool:
        """No MSHR, or no room in the right one: look up nothing until a line has come back."""
        counters.stalls += 1
        self._stall.active = self._no_mshr = True
        return False

    def _count_lookup(self, request: MemoryRequest, counters: L2Counters, hit: bool) -> None:
        """Count and announce a lookup that had its outcome."""
        counters.lookups += 1
        if request.kind != _LOAD:
            self._count_kind(request, counters, hit)
        if self.on_lookup.listeners:
            self.on_lookup(request.depth, request.app, hit, self.env._now)

    def _count_kind(self, request: MemoryRequest, counters: L2Counters, hit: bool) -> None:
        """Count a lookup that is not a plain load."""
        if request.kind != _WALK:
            counters.stores += 1
        else:
            counters.translation_lookups += 1
            counters.translation_hits += hit
            level = self._levels[request.app][request.depth - 1]
            level.l2_lookups += 1
            level.l2_hits += hit

    def warm(self, address: int, sectors: int, kind: int, app: int) -> None:
        """An access without a clock: its line is here afterwards; what goes for it is forgotten."""
        line, array = address >> self.shift, self.arrays[app]
        array.use(line, self.whole, self.whole)
        if kind != _LOAD and kind != _WALK:
            array.mark_dirty(line)

    # -- what the miss path calls ----------------------------------------------------------------

    def release(self, line: int) -> list[MemoryRequest]:
        """Everyone who waits for a line, whose MSHR is free again."""
        if self._no_mshr:
            self._stall.active = self._no_mshr = False
        return self.mshrs.release(line)

    def answer(self, request: MemoryRequest, delay: int) -> None:
        """Send a request back, `delay` cycles from now."""
        if request.kind == _WALK:
            request.path.pop().send(request, delay)
        else:
            request.trail.append(_INTERCONNECT)
            request.trail.append(self.env._now + delay)
            self._replies.send(request, delay)

    # -- for onlookers --------------------------------------------------------------------------

    def holds(self, line: int) -> bool:
        """Whether a line is here; a look is no use of it."""
        return any(array.state(line) for array in self.arrays.values())

    def watch(self, watched: Callable[[CacheArray], CacheArray]) -> None:
        """Put arrays in the place of this bank's, which see what happens to them."""
        of = {array: watched(array) for array in dict.fromkeys(self.arrays.values())}
        self.arrays = {app: of[array] for app, array in self.arrays.items()}

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Requests and write-backs that are not finished."""
        return len(self.mshrs) + len(self.requests) + self.misses.in_flight()

    def waiting(self) -> Iterator[str]:
        """Who waits for whom, for the watchdog."""
        if self.requests:
            yield f"{self.name}: {len(self.requests)} requests queue"
        yield from self.misses.waiting()

    def policies(self) -> Iterator[tuple[str, object]]:
        for array in dict.fromkeys(self.arrays.values()):
            yield "l2.replacement", array.replacement

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app], *self.misses.app_counters(app))
