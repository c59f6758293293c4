"""One bank of the shared L2 cache: write-back, write-allocate, atomics performed in place."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Protocol

from attrs import define

from gpusim.config.schema import L2Config
from gpusim.config.units import Hertz
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import NEVER, Environment, Port, Probe, Process, Stall
from gpusim.core.errors import OptionError, UserError
from gpusim.core.law import Law, laws_of
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.mshr import FULL, Mshrs
from gpusim.core.request import Kind, MemoryRequest, Sink
from gpusim.core.states import State
from gpusim.core.warp_program import SECTOR_BYTES
from gpusim.hardware.cache.array import DIRTY, CacheArray, split_ways
from gpusim.hardware.cache.page_table_reads import Levels

_LOAD, _WALK, _WRITEBACK = int(Kind.LOAD), int(Kind.WALK), int(Kind.WRITEBACK)
_L2, _INTERCONNECT = int(State.L2), int(State.INTERCONNECT)

WRITEBACK_BUFFER = 8
"""Dirty lines that wait for DRAM before the bank stops taking fills [our choice]."""


@define(slots=True)
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
        "l2_translation_hit_rate", FRACTION, "L2 cache hit rate of page-table reads",
        Ratio("translation_hits", "translation_lookups"),
    ),
    Metric(
        "l2_data_hit_rate", FRACTION, "L2 cache hit rate of data",
        Ratio("hits - translation_hits", "lookups - translation_lookups"),
    ),
)  # fmt: skip


class Inbound(Protocol):
    """Where the requests of the SMs come in (see `gpusim.hardware.crossbar.Link`)."""

    @property
    def ready(self) -> int:
        """When the next request is there."""

    def connect(self, receiver: Process) -> None:
        """Name who is woken when a request arrives."""

    def head(self) -> MemoryRequest:
        """The request that is next, left in place."""

    def take(self) -> MemoryRequest:
        """The request that is next and there, taken out."""


class L2Bank(Component):
    """A bank looks up `ports` requests a cycle; a hit is answered after the latency.

    A miss takes an MSHR and fetches the line from DRAM; stores and atomics to it wait for the line
    and are then merged into it.  A dirty victim is written back.

    Args:
        apps: indices of the applications that share the cache.
        levels: where lookups of page-table reads are counted by level; all banks share it.
        channel: the DRAM channel that an address belongs to.
        link: where the requests of the SMs come in; page-table reads come in on `requests`.
        replies: the way back to the SMs; while it is full, the bank answers nobody.
    """

    path = "l2"
    laws = laws_of(
        [L2Counters],
        Law("lookups", "hits + misses"),
        Law("fills", "misses - merged", other="misses that were not merged"),
    )

    def __init__(
        self, env: Environment, index: int, config: L2Config, clock: Hertz, apps: Sequence[int],
        levels: Levels, channel: Callable[[int], Port[MemoryRequest]], link: Inbound, replies: Sink,
    ) -> None:  # fmt: skip
        self.env = env
        self.name = f"l2[{index}]"
        self.instance = index
        self.requests: Port[MemoryRequest] = Port(env, f"{self.name}.requests", depth=config.queue)
        self.fills: Port[MemoryRequest] = Port(env, f"{self.name}.fills")
        self.counters = [L2Counters() for _ in levels]
        self.on_lookup: Probe[[int, int, bool, int]] = Probe()
        """Depth (0: data), app, whether it hit, cycle."""
        self._latency = config.latency.cycles(clock)
        self._shift = config.line.bit_length() - 1
        self._whole = (1 << (config.line // SECTOR_BYTES)) - 1
        self._arrays = _arrays(config, apps)
        self._levels = levels
        self._mshrs: Mshrs[MemoryRequest] = Mshrs(config.mshrs, config.mshr_merge)
        self._channel = channel
        self._link = link
        self._replies = replies
        self._ports = config.ports
        self._cycle = -1
        self._left = 0
        """Ports that are still free in that cycle: a bank may be woken several times in one."""
        self._writebacks: deque[MemoryRequest] = deque()
        self.process = env.start(self._run())
        self._stall = Stall(self.process.wake)
        self._no_mshr = False
        self.requests.connect(self.process)
        link.connect(self.process)
        self.fills.connect(self.process)

    def _run(self) -> Generator[int | None, None, None]:
        fills, replies, writebacks = self.fills, self._replies, self._writebacks
        while True:
            if writebacks:
                self._write_back()
            if replies.full:
                replies.when_free(self.process.wake)
                yield None
                continue
            upcoming = NEVER
            if fills.queue and len(writebacks) < WRITEBACK_BUFFER:
                while (filled := fills.take()) is not None:
                    self._fill(filled)
                if fills.queue:
                    upcoming = fills.queue[0][0]
            if not self._stall.active:
                upcoming = min(upcoming, self._look_up())
            yield None if upcoming == NEVER else upcoming - self.env._now

    def _look_up(self) -> int:
        """Start this cycle's lookups; returns when there may be more (`NEVER`: it will be told)."""
        walks, link = self.requests, self._link
        now = self.env._now
        if self._cycle != now:
            self._cycle = now
            self._left = self._ports
        while self._left and walks.queue and (walk := walks.head()) is not None:
            if not self._serve(walk):
                return NEVER
            walks.take()
            self._left -= 1
        while self._left and link.ready <= now:
            request = link.head()
            if request.trail[-2] != _L2:
                request.trail += (_L2, now)
            if not self._serve(request):
                return NEVER
            link.take()
            self._left -= 1
        if not self._left:
            return now + 1
        return min(walks.next_cycle(), link.ready) if walks.queue else link.ready

    def _serve(self, request: MemoryRequest) -> bool:
        """Look up one request; False if it has to wait (the bank is woken when it may not)."""
        line = request.address >> self._shift
        counters = self.counters[request.app]
        mshrs = self._mshrs
        array = self._arrays[request.app]
        if not array.missing(line, self._whole):
            counters.hits += 1
            if request.kind != _LOAD and request.kind != _WALK:
                array.mark_dirty(line)
            self._answer(request, self._latency)
        elif line in mshrs.pending:
            if mshrs.admit(line, request) == FULL:
                return self._needs_fill(counters)
            counters.misses += 1
            counters.merged += 1
            request.follow(mshrs.pending[line][0], self.env._now)
        else:
            channel = self._channel(request.address)
            if channel.full:
                counters.stalls += 1
                self._stall.active = True
                channel.when_free(self._stall)
                return False
            if mshrs.admit(line, request) == FULL:
                return self._needs_fill(counters)
            counters.misses += 1
            request.path.append(self.fills)
            channel.send(request, self._latency)
        counters.lookups += 1
        if request.kind != _LOAD:
            self._count_kind(request, counters, line in mshrs.pending)
        if self.on_lookup.listeners:
            hit = line not in mshrs.pending
            self.on_lookup(request.depth, request.app, hit, self.env._now)
        return True

    def _needs_fill(self, counters: L2Counters) -> bool:
        """No MSHR, or no room in the right one: look up nothing until a line has come back."""
        counters.stalls += 1
        self._stall.active = self._no_mshr = True
        return False

    def _count_kind(self, request: MemoryRequest, counters: L2Counters, missed: bool) -> None:
        """Count a lookup that is not a plain load."""
        if request.kind != _WALK:
            counters.stores += 1
        else:
            counters.translation_lookups += 1
            counters.translation_hits += not missed
            level = self._levels[request.app][request.depth - 1]
            level.l2_lookups += 1
            level.l2_hits += not missed

    def _answer(self, request: MemoryRequest, delay: int) -> None:
        if request.kind == _WALK:
            request.path.pop().send(request, delay)
        else:
            request.trail += (_INTERCONNECT, self.env._now + delay)
            self._replies.send(request, delay)

    def _fill(self, filled: MemoryRequest) -> None:
        line = filled.address >> self._shift
        self.counters[filled.app].fills += 1
        waiters = self._mshrs.release(line)
        if self._no_mshr:
            self._stall.active = self._no_mshr = False
        dirty = False
        for waiter in waiters:
            if waiter.kind != _LOAD and waiter.kind != _WALK:
                dirty = True
            self._answer(waiter, 0)
        victim = self._arrays[filled.app].fill(line, self._whole, dirty)
        if victim is not None and victim[1] & DIRTY:
            self._evict(victim[0], filled.app)

    def _evict(self, line: int, app: int) -> None:
        """Send a dirty line to DRAM; it counts for the application whose fill evicted it."""
        self.counters[app].writebacks += 1
        trail = [_L2, self.env._now]
        address = line << self._shift
        request = MemoryRequest(_WRITEBACK, app, 0, -1, 0, address, -1, self._whole, 0, None, trail)
        self._writebacks.append(request)
        self._write_back()

    def _write_back(self) -> None:
        while self._writebacks:
            channel = self._channel(self._writebacks[0].address)
            if channel.full:
                channel.when_free(self.process.wake)
                return
            channel.send(self._writebacks.popleft())

    # -- for those who look on ------------------------------------------------------------------

    def holds(self, line: int) -> bool:
        """Whether a line is here; a look is no use of it."""
        return any(array.state(line) for array in self._arrays.values())

    def watch(self, watched: Callable[[CacheArray], CacheArray]) -> None:
        """Put arrays in the place of this bank's, which see what happens to them."""
        of = {array: watched(array) for array in dict.fromkeys(self._arrays.values())}
        self._arrays = {app: of[array] for app, array in self._arrays.items()}

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Requests and write-backs that are not finished."""
        return len(self._mshrs) + len(self.requests) + len(self._writebacks)

    def waiting(self) -> Iterator[str]:
        """Who waits for whom, for the watchdog."""
        if self.requests:
            yield f"{self.name}: {len(self.requests)} requests queue"
        if self._mshrs:
            yield f"{self.name}: {len(self._mshrs)} of {self._mshrs.capacity} MSHRs wait for DRAM"
        if self._writebacks:
            yield f"{self.name}: {len(self._writebacks)} write-backs wait for DRAM"

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)


def _arrays(config: L2Config, apps: Sequence[int]) -> dict[int, CacheArray]:
    """The array that each application uses: one for all, or each its share of the ways.

    No two applications have a line in common, so a hit is always in an application's own ways.

    Raises:
        UserError: more applications than ways, or replacement that cannot serve such a share.
    """
    if config.partition == "none":
        return dict.fromkeys(apps, _array(config, config.ways))
    if len(apps) > config.ways:
        raise UserError(
            f'l2.partition = "{config.partition}": {len(apps)} applications cannot share '
            f"l2.ways = {config.ways}; allowed: at most one application a way"
        )
    shares = zip(apps, split_ways(config.ways, len(apps)), strict=True)
    try:
        return {app: _array(config, own) for app, own in shares}
    except OptionError as error:
        raise UserError(
            f'l2.{error}; l2.partition = "{config.partition}" gives each of {len(apps)} '
            f"applications its share of l2.ways = {config.ways}"
        ) from error


def _array(config: L2Config, ways: int) -> CacheArray:
    """So many ways of each set of a bank."""
    sets = config.size // config.line // config.banks // config.ways
    return CacheArray(sets * ways, ways, config.banks, config.replacement)
