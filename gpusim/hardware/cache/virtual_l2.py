"""A bank of a virtual L2 cache: what misses is translated, and may be cached under another name.

The forward–backward table stands between such a bank and memory (VC §4.1).  A miss waits in its
MSHR under its own name until the table lets it through, with the *leading* name of its line; then
the bank looks whether the line is there under that name, and fetches it if not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Protocol

from attrs import define, frozen

from gpusim.config.schema import L2Config
from gpusim.config.units import Hertz
from gpusim.core.counters import count
from gpusim.core.engine import NEVER, Environment, Port, Wakeable
from gpusim.core.law import Law, laws_of
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.mshr import FULL
from gpusim.core.request import MemoryRequest, Sink, VirtualRequest, page_of_line
from gpusim.hardware.cache.array import DIRTY, READ_ONLY, CacheArray
from gpusim.hardware.cache.l2 import WRITEBACK_BUFFER, Inbound, L2Bank, L2Counters
from gpusim.hardware.cache.page_table_reads import Levels


@define(slots=True)
class VirtualL2Counters:
    """What only a virtual L2 bank does, for one application."""

    replays: int = count("misses answered by a line that was fetched under its leading name")
    permission_faults: int = count("stores that the permission of their page forbids: dropped")
    invalidated: int = count("lines invalidated because their pages were, or by a CPU")


@frozen
class Invalidation:
    """A message that lines have to go.

    Attributes:
        lines: the lines; not all of them need be here.
        page: the page of which all lines have to go instead, for which the bank walks its tags;
            -1: none.
        purge: what the table wants to hear when they have gone.
    """

    lines: Sequence[int]
    page: int
    purge: object


class Translator(Protocol):
    """What the bank needs of the forward–backward table (see `gpusim.hardware.fbt.Fbt`)."""

    @property
    def full(self) -> bool:
        """Whether a miss has to wait."""

    def when_free(self, sender: Wakeable) -> None:
        """Wake when there may be room."""

    def translate(self, request: VirtualRequest, delay: int) -> None:
        """Let a miss through as soon as it may be: to `grants` or `requests` of its bank."""

    def finished(self, request: VirtualRequest, fetched: bool) -> None:
        """A miss that was let through is answered, by a line that it fetched or that was there."""

    def evicted(self, line: int, dirty: bool, app: int, bank: VirtualL2Bank) -> None:
        """A line is gone; if it is dirty, `bank` is told when it has been written back."""

    def wrote(self, line: int, request: VirtualRequest) -> None:
        """A store of `request` made a line dirty that is cached under the name `line`."""

    def done(self, purge: object, delay: int) -> None:
        """The bank has done what a message of the table asked for."""


class VirtualL2Bank(L2Bank):
    """Lines are named by address space and virtual line.

    Attributes:
        requests: misses let through whose line is probably here under its leading name: replays,
            which take a port as the requests of the SMs do.
        grants: other misses let through.
        invalidations: lines that have to go.
    """

    laws = laws_of(
        [L2Counters, VirtualL2Counters],
        Law("lookups", "hits + misses"),
        Law("fills", "misses - merged - replays", other="misses neither merged nor replayed"),
    )

    def __init__(
        self, env: Environment, index: int, config: L2Config, clock: Hertz, apps: Sequence[int],
        levels: Levels, channel: Callable[[int], Port[MemoryRequest]], link: Inbound, replies: Sink,
        table: Translator, lines_shift: int,
    ) -> None:  # fmt: skip
        super().__init__(env, index, config, clock, apps, levels, channel, link, replies)
        self._array = self._arrays[apps[0]]
        self._table = table
        self._lines_shift = lines_shift
        self.requests = Port(env, f"{self.name}.replays")
        self.grants: Port[VirtualRequest] = Port(env, f"{self.name}.grants")
        self.invalidations: Port[Invalidation] = Port(env, f"{self.name}.invalidations")
        for port in (self.requests, self.grants, self.invalidations):
            port.connect(self.process)
        self.own_counters = [VirtualL2Counters() for _ in levels]
        self._sets = config.size // config.line // config.banks // config.ways
        self._unsent: deque[VirtualRequest] = deque()
        self._fetching: dict[int, list[VirtualRequest]] = {}
        """By leading name: who waits for a line that comes from DRAM; the first one fetches it."""
        self._leaving: dict[int, list[VirtualRequest]] = {}
        """Dirty lines that have not reached DRAM yet, and who waits to fetch them again."""

    def _run(self) -> Generator[int | None, None, None]:
        fills, grants, invalidations, replies = (
            self.fills, self.grants, self.invalidations, self._replies,
        )  # fmt: skip
        while True:
            if replies.full:
                replies.when_free(self.process.wake)
                yield None
                continue
            while (message := invalidations.take()) is not None:
                self._invalidate(message)
            while (granted := grants.take()) is not None:
                self._granted(granted)
            self._fetch()
            upcoming = min(grants.next_cycle(), invalidations.next_cycle())
            if fills.queue and len(self._leaving) < WRITEBACK_BUFFER:
                while (filled := fills.take()) is not None:
                    self._fill(filled)
                if fills.queue:
                    upcoming = min(upcoming, fills.next_cycle())
            upcoming = min(upcoming, self._look_up())
            if self._stall.active:
                free = self.env._now if self._left else self.env._now + 1
                upcoming = min(upcoming, max(free, self.requests.next_cycle()))
            yield None if upcoming == NEVER else upcoming - self.env._now

    def _serve(self, request: MemoryRequest) -> bool:
        assert isinstance(request, VirtualRequest)
        if request.leading >= 0:
            self._granted(request)
            return True
        if self._stall.active:  # until a replay, perhaps, has ended it
            return False
        line = request.line
        counters = self.counters[request.app]
        mshrs = self._mshrs
        if not self._array.missing(request.name, self._whole):
            counters.hits += 1
            request.leading = request.name
            if request.stores:
                request.writable = not self._array.state(line) & READ_ONLY
                self._store(request)
            self._answer(request, self._latency)
        elif line in mshrs.pending:
            if mshrs.admit(line, request) == FULL:
                return self._needs_fill(counters)
            counters.misses += 1
            counters.merged += 1
            request.follow(mshrs.pending[line][0], self.env._now)
        else:
            if self._table.full:
                counters.stalls += 1
                self._stall.active = True
                self._table.when_free(self._stall)
                return False
            if mshrs.admit(line, request) == FULL:
                return self._needs_fill(counters)
            counters.misses += 1
            self._table.translate(request, self._latency)
        counters.lookups += 1
        counters.stores += request.stores
        hit = request.leading >= 0
        if not hit:
            request.name = line
        if self.on_lookup.listeners:
            self.on_lookup(0, request.app, hit, self.env._now)
        return True

    def _store(self, request: VirtualRequest) -> None:
        """Perform a store or an atomic on a line that is there, if its page allows it."""
        line = request.leading
        if not request.writable:
            self.own_counters[request.app].permission_faults += 1
            return
        if line != request.line or not self._array.state(line) & DIRTY:
            self._table.wrote(line, request)
        self._array.mark_dirty(line)

    # -- misses that were let through ------------------------------------------------------------

    def _granted(self, request: VirtualRequest) -> None:
        """Answer a miss by the line under its leading name, or by that which is on its way."""
        line = request.leading
        if not self._array.missing(line, self._whole):
            self._finish(request, self._latency)
        elif line in self._fetching:
            request.follow(self._fetching[line][0], self.env._now)
            self._fetching[line].append(request)
        elif line in self._leaving:
            self._leaving[line].append(request)
        else:
            self._fetching[line] = [request]
            self._unsent.append(request)

    def _fetch(self) -> None:
        """Send the fetches for which DRAM has room."""
        while self._unsent:
            request = self._unsent[0]
            channel = self._channel(request.address)
            if channel.full:
                channel.when_free(self.process.wake)
                return
            request.path.append(self.fills)
            channel.send(self._unsent.popleft())

    def _fill(self, filled: MemoryRequest) -> None:
        assert isinstance(filled, VirtualRequest)
        self.counters[filled.app].fills += 1
        line = filled.leading
        state = self._whole if filled.cached_writable else self._whole | READ_ONLY
        victim = self._array.fill(line, state)
        for request in self._fetching.pop(line):
            self._finish(request, 0, fetched=request is filled)
        if victim is not None:
            self._leave(victim[0], victim[1], filled.app)

    def _finish(self, request: VirtualRequest, delay: int, *, fetched: bool = False) -> None:
        """Answer a miss, whose line is there under its leading name, and all merged with it."""
        if not fetched:
            self.own_counters[request.app].replays += 1
        for waiter in self._mshrs.release(request.line):
            assert isinstance(waiter, VirtualRequest)
            waiter.leading = request.leading
            waiter.writable = request.writable
            if waiter.stores:
                self._store(waiter)
            self._answer(waiter, delay)
        if self._no_mshr:
            self._stall.active = self._no_mshr = False
        self._table.finished(request, fetched)

    # -- lines that leave ------------------------------------------------------------------------

    def _leave(self, line: int, state: int, app: int) -> None:
        """Tell the table of a line that is gone, which finds its frame and writes it back."""
        dirty = bool(state & DIRTY)
        if dirty:
            self.counters[app].writebacks += 1
            self._leaving[line] = []
        self._table.evicted(line, dirty, app, self)

    def written_back(self, line: int) -> None:
        """DRAM has taken a dirty line."""
        for request in self._leaving.pop(line):
            self.grants.send(request)
        self.process.wake.now()

    def invalidate(self, lines: Sequence[int], page: int, purge: object, trip: int) -> None:
        """Take out some lines, or all of a page (-1: none), `trip` cycles from now."""
        self.invalidations.send(Invalidation(lines, page, purge), trip)

    def _invalidate(self, message: Invalidation) -> None:
        """Invalidate lines; the answer takes a cycle a lookup."""
        lines, lookups = message.lines, len(message.lines)
        if message.page >= 0:
            lines = [line for line in self._array.lines() if self._page(line) == message.page]
            lookups = self._sets
        for line in lines:
            state = self._array.remove(line)
            if state:
                app = line >> ASID_SHIFT
                self.own_counters[app].invalidated += 1
                self._leave(line, state, app)
        self._table.done(message.purge, lookups)

    def _page(self, line: int) -> int:
        return page_of_line(line, self._lines_shift)

    def watch(self, watched: Callable[[CacheArray], CacheArray]) -> None:
        super().watch(watched)
        self._array = next(iter(self._arrays.values()))

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        return super().in_flight() + len(self._leaving) + len(self.grants)

    def waiting(self) -> Iterator[str]:
        if self.requests:
            yield f"{self.name}: {len(self.requests)} replays queue"
        if self._mshrs:
            yield (
                f"{self.name}: {len(self._mshrs)} of {self._mshrs.capacity} MSHRs wait for their "
                f"translation or for DRAM, {len(self._unsent)} of them for room in its queue"
            )
        if self._leaving:
            yield f"{self.name}: {len(self._leaving)} write-backs wait for the table or for DRAM"

    def app_counters(self, app: int) -> Iterable[object]:
        return (*super().app_counters(app), self.own_counters[app])
