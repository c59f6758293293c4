"""One bank of the shared L2 cache: write-allocate, atomics performed in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from mypy_extensions import mypyc_attr

from gpusim.config.schema import L2Config
from gpusim.core.blame import Blame
from gpusim.core.component import Component
from gpusim.core.engine import NEVER, Port, Probe, Sink, Stall, Turning, TurnTaker
from gpusim.core.mshr import Mshrs
from gpusim.core.request import Kind, MemoryRequest, VirtualRequest
from gpusim.core.signals import Signals
from gpusim.core.states import State
from gpusim.core.unboxed import IntDict
from gpusim.core.warp_program import BYTES_SHIFT, SECTORS, WHOLE_TURNS
from gpusim.hardware.cache.array import CacheArray
from gpusim.hardware.cache.bank_site import BankSite
from gpusim.hardware.cache.bank_stalls import BankStalls, BankWait
from gpusim.hardware.cache.dram_misses import WRITEBACK_BUFFER
from gpusim.hardware.cache.fresh_stores import FreshStores
from gpusim.hardware.cache.homes import Crossing
from gpusim.hardware.cache.l2_counters import L2Counters
from gpusim.hardware.cache.lines import SECTOR_SHIFT, Lines
from gpusim.hardware.cache.miss_path import MissPath
from gpusim.hardware.cache.sector_places import SectorPlaces
from gpusim.hardware.cache.table_misses import PHYSICAL

_LOAD: Final = int(Kind.LOAD)
_STORE: Final = int(Kind.STORE)
_WALK: Final = int(Kind.WALK)
_ATOMIC: Final = int(Kind.ATOMIC)
_REDUCE: Final = int(Kind.REDUCE)
_L2: Final = int(State.L2)
_INTERCONNECT: Final = int(State.INTERCONNECT)
_MERGE_LIST: Final = int(Blame.MERGE_LIST)
_MSHRS: Final = int(Blame.MSHRS)
_DRAM: Final = int(Blame.DRAM)
_REPLIES: Final = int(Blame.REPLIES)


@mypyc_attr(allow_interpreted_subclasses=True)
class L2Bank(Component, Turning):
    """A bank looks up `ports` requests a cycle; a hit is answered after the latency.

    What does not find its sectors goes to the miss path; an atomic waits for its sectors and is
    merged into them, and so is a store, unless the lines are sectored.

    Args:
        site: where it stands.
        misses: makes the miss path.

    Attributes:
        requests: page-table reads.
        fills: what comes from DRAM, or from another partition.
        lines: the lines that it has.
        misses: the miss path.
        mshrs: misses by the names of their lines.
        places: MSHRs of sectors; None: there is one for each line.
        latency: of a lookup, in cycles.
        through: whether what is written goes to DRAM at once.
        fills_partial: whether sectors written in part are read before they are written back.
    """

    path = "l2"

    def __init__(self, site: BankSite, misses: Callable[[L2Bank], MissPath]) -> None:
        config, env = site.config, site.env
        self.env = env
        self.name = f"l2[{site.index}]"
        self.instance = site.index
        entry = 0 if config.entry is None else config.entry.cycles(site.clock)
        self.requests: Port[MemoryRequest] = Port(
            env, f"{self.name}.requests", entry, depth=config.queue + entry
        )
        self.fills: Port[MemoryRequest] = Port(env, f"{self.name}.fills")
        self.counters = [L2Counters() for _ in site.levels]
        self.on_lookup: Probe[[int, int, bool, int]] = Probe()
        """Depth (0: data), app, whether it hit, cycle."""
        self.latency = config.latency.cycles(site.clock)
        self.lines = Lines(env, config, site.apps, len(site.levels))
        self._on_use = self.lines.signals.use
        self.mshrs: Mshrs[MemoryRequest] = Mshrs(config.mshrs, config.mshr_merge)
        self.places: SectorPlaces | None = None
        self._levels = site.levels
        self._link = site.link
        self._replies = site.replies
        self._ports = config.ports
        self._atomic_interval = float(config.atomic_interval or 0)
        self._atomic_whole = float(config.atomic_whole or config.atomic_interval or 0)
        self._changes_until = 0
        """When an atomic has changed its words, or a line may be loaded, for which the bank looks
        up nothing else."""
        to_load = config.store_to_load
        self._fresh = FreshStores(0 if to_load is None else to_load.cycles(site.clock))
        self._follows_stores = self._fresh.cycles > 0
        self.through = config.writes == "through"
        self.fills_partial = config.partial_writes == "fill"
        self._in_order = config.page_table_reads == "in-order"
        self._cycle = -1
        self._left = 0
        """Ports that are still free in this cycle: a bank may be woken several times in one."""
        self.process = TurnTaker(env, self)
        self._stall = Stall(self.process.wake)
        self._stalls = BankStalls()
        self._wait: BankWait | None = None
        """Of the request that is next on the link, if it has had to wait for the bank."""
        self._waits_for_fill = False
        self.misses = misses(self)
        self._virtual = self.misses.virtual
        self._physical = PHYSICAL if self._virtual else 0
        if config.mshr_grain == "sector":
            self._follow_sectors(config)
        self._shared = self.misses.shared
        self.laws = self.misses.laws
        self.requests.connect(self.process)
        site.link.connect(self.process, self._stalls)
        self.fills.connect(self.process)

    def _follow_sectors(self, config: L2Config) -> None:
        """MSHRs are of sectors; one of a virtual line, which comes as a whole, has room for all."""
        if self._virtual:
            sectors = config.line // (config.sector or config.line)
            self.mshrs = Mshrs(config.mshrs, config.mshr_merge * sectors)
        else:
            self.places = SectorPlaces(config.mshrs, config.mshr_merge)
            self.mshrs = Mshrs(NEVER, NEVER)

    @property
    def arrays(self) -> IntDict[CacheArray]:
        """By application, the lines that it may use."""
        return self.lines.arrays

    def attach(self, signals: Signals) -> None:
        """Hand its policies the signals of the machine."""
        for array in dict.fromkeys(self.arrays.values()):
            array.replacement.attach(signals)

    # -- the process -----------------------------------------------------------------------------

    def turn(self, now: int) -> int:
        replies, fills, misses, stalls = self._replies, self.fills, self.misses, self._stalls
        replays = misses.second_lookups
        answering = not replies.full
        upcoming = NEVER
        if misses.unsent or replays is not None:
            upcoming = misses.advance(answering)
        if not answering:
            replies.when_free(self.process.wake)
            if not stalls.cause:
                stalls.begin(_REPLIES, now)
            return NEVER
        if stalls.cause == _REPLIES:
            stalls.end(now)
        if fills.queue and len(misses.leaving) < WRITEBACK_BUFFER:
            while fills.ready <= now and (filled := fills.take()) is not None:
                self.counters[filled.app].fills += 1
                misses.fill(filled)
            if fills.ready < upcoming:
                upcoming = fills.ready
        if self._cycle != now:
            self._cycle = now
            self._left = self._ports
        if replays is not None:
            upcoming = min(upcoming, self._take_replays(replays))
        if not self._stall.active or self._virtual:
            following = self._look_up(now)
            if following < upcoming:
                upcoming = following
        return upcoming

    def _take_replays(self, replays: Port[Any]) -> int:
        """Start this cycle's second lookups; returns when there may be more."""
        if self._follows_stores and self._changes_until > self.env._now:
            return self._changes_until
        while self._left and (replay := replays.head()) is not None:
            if self._follows_stores and self._behind_store(replay):
                return self._changes_until
            replays.take()
            self.misses.replay(replay)
            self._left -= 1
        return replays.next_cycle() if self._left else self.env._now + 1

    def _look_up(self, now: int) -> int:
        """Start this cycle's lookups; returns when there may be more (`NEVER`: a wake-up comes)."""
        if self._stall.active:
            return self._look_up_tables(now)
        if self._stalls.cause:
            self._stalls.end(now)
        if self._changes_until > now:
            return self._changes_until
        if self._in_order and self.requests.ready <= now:
            upcoming = self._look_up_in_order(now)
        else:
            upcoming = self._look_up_tables_first(now)
        if self._stall.active and self._virtual:
            return self._look_up_tables(now)  # what data waits for may be a walk
        return upcoming

    def _look_up_tables_first(self, now: int) -> int:
        """Start this cycle's lookups, page-table reads before what SMs ask for."""
        walks, link = self.requests, self._link
        while self._left and walks.ready <= now:
            if not self._take_walk():
                return NEVER
        while self._left and link.ready <= now:
            if not self._take_from_link(now):
                return self._changes_until if self._changes_until > now else NEVER
        if not self._left:
            return now + 1
        return min(walks.next_cycle(), link.ready)

    def _look_up_tables(self, now: int) -> int:
        """Start this cycle's lookups of page-table reads, while data waits for a translation."""
        walks = self.requests
        while self._left and walks.ready <= now:
            if not self._take_walk():
                return NEVER
        return now + 1 if walks.ready <= now else walks.next_cycle()

    def _look_up_in_order(self, now: int) -> int:
        """Start this cycle's lookups, of page-table reads and the SMs' requests in their order.

        Returns:
            When there may be more (`NEVER`: a wake-up comes).
        """
        walks, link = self.requests, self._link
        while self._left:
            if walks.ready <= now and walks.ready <= link.ready:
                if not self._take_walk():
                    return NEVER
            elif link.ready > now:
                return min(walks.next_cycle(), link.ready)
            elif not self._take_from_link(now):
                return self._changes_until if self._changes_until > now else NEVER
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
        link, stalls = self._link, self._stalls
        request, wait = link.head(), self._wait
        if wait is None:
            trail = request.trail
            if trail[-2] == _INTERCONNECT and stalls.until > (arrived := link.arrived()):
                wait = self._wait = BankWait(stalls, arrived, now)
                request.refine(wait)
            elif trail[-2] != _L2:
                trail.append(_L2)
                trail.append(now)
        if self._follows_stores and self._behind_store(request):
            return False
        if not self._serve(request):
            if wait is None:
                self._wait = BankWait(stalls, request.trail[-1], request.trail[-1])
                request.refine(self._wait)
            return False
        if wait is not None:
            wait.until = now
            self._wait = None
        link.take()
        self._left -= 1
        return True

    def _serve(self, request: MemoryRequest) -> bool:
        """Look up one request; False if it has to wait (the bank is woken when it may not)."""
        lines, app, kind = self.lines, request.app, request.kind
        if self._virtual and kind != _WALK:
            assert isinstance(request, VirtualRequest)
            name, line = request.name, request.line
            wanted = lines.touched[(request.sectors & SECTORS) << request.place]
        else:
            address = request.address
            name = line = address >> lines.shift | self._physical
            place = (address & lines.offset) >> SECTOR_SHIFT
            wanted = lines.touched[(request.sectors & SECTORS) << place]
        if kind == _STORE and lines.sectored:
            missing = lines.lacks(name, wanted, app)
        else:
            missing = lines.arrays[app].missing(name, wanted)
        if self.through and _writes(kind) and len(self.misses.leaving) >= WRITEBACK_BUFFER:
            self._stalls.begin(_DRAM, self.env._now)
            return False  # the bank is woken when DRAM has room
        counters = self.counters[app]
        if not missing:
            counters.hits += 1
            if kind != _WALK and (self._virtual or kind != _LOAD):
                self.misses.found(request, name, wanted)
            self.answer(request, self.latency)
        elif self.misses.miss(request, line, wanted, missing):
            counters.misses += 1
        else:
            return False
        counters.lookups += 1
        if self._atomic_interval and _is_atomic(kind):
            self._take_turns(request, counters)
        if kind != _LOAD:
            self._count_kind(request, counters, not missing)
        if self.on_lookup.listeners or self._on_use.listeners:
            self._announce(request, name, not missing)
        return True

    def _announce(self, request: MemoryRequest, name: int, hit: bool) -> None:
        """Tell listeners of a lookup."""
        now = self.env._now
        if self.on_lookup.listeners:
            self.on_lookup(request.depth, request.app, hit, now)
        if hit and self._on_use.listeners:
            self._on_use(name, now)

    def _take_turns(self, request: MemoryRequest, counters: L2Counters) -> None:
        """The lanes of an atomic change their words, one lane of a word at a time."""
        turns = request.sectors >> BYTES_SHIFT
        parts, whole = turns & (1 << WHOLE_TURNS) - 1, turns >> WHOLE_TURNS
        busy = round(parts * self._atomic_interval + whole * self._atomic_whole) - 1
        if busy > 0:
            self._left = 1  # of which this lookup takes one
            self._changes_until = self.env._now + 1 + busy
            counters.atomic_cycles += busy

    def _count_kind(self, request: MemoryRequest, counters: L2Counters, hit: bool) -> None:
        """Count a lookup that is not a plain load."""
        if request.kind != _WALK:
            counters.stores += 1
            if self._follows_stores and request.kind == _STORE:
                self._fresh.stored(request.address >> self.lines.shift, self.env._now)
        else:
            counters.translation_lookups += 1
            counters.translation_hits += hit
            level = self._levels[request.app][request.depth - 1]
            level.l2_lookups += 1
            level.l2_hits += hit

    def _behind_store(self, request: MemoryRequest) -> bool:
        """Whether a load has to wait as its line has just been stored to, and the bank with it."""
        if request.kind != _LOAD:
            return False
        until, now = self._fresh.loadable(request.address >> self.lines.shift), self.env._now
        if until <= now:
            return False
        self._changes_until = until
        self.counters[request.app].store_to_load_cycles += until - now
        return True

    def warm(self, address: int, sectors: int, kind: int, app: int) -> int:
        """An access without a clock (`Lines.warm`): returns the sectors that had to be fetched."""
        return self.lines.warm(address, sectors, kind, app)

    # -- what the miss path calls ----------------------------------------------------------------

    def wait_for(self, way: Sink, request: MemoryRequest) -> bool:
        """The way of a miss is full: look up nothing until it has room.  Returns False."""
        counters = self.counters[request.app]
        counters.stalls += 1
        counters.way_full += 1
        self._stalls.begin(_DRAM, self.env._now)
        self._stall.active = True
        way.when_free(self._stall)
        return False

    def wait_for_fill(self, request: MemoryRequest, merges: bool) -> bool:
        """A miss has no place in an MSHR: look up nothing until sectors came.  Returns False.

        Args:
            request: the miss.
            merges: whether what it misses is on its way, and the MSHR of that has no room.
        """
        counters = self.counters[request.app]
        counters.stalls += 1
        if merges:
            counters.merge_list_full += 1
        else:
            counters.mshrs_full += 1
        self._stalls.begin(_MERGE_LIST if merges else _MSHRS, self.env._now)
        self._stall.active = self._waits_for_fill = True
        return False

    def release(self, line: int) -> list[MemoryRequest]:
        """The requests that wait for a line, whose MSHR is free again."""
        if self._waits_for_fill:
            self._stall.active = self._waits_for_fill = False
        return self.mshrs.release(line)

    def answer(self, request: MemoryRequest, delay: int) -> None:
        """Send a request back, `delay` cycles from now."""
        if request.kind == _WALK or (self._shared and _is_asked(request)):
            request.answer(delay)
        else:
            request.trail.append(_INTERCONNECT)
            request.trail.append(self.env._now + delay)
            self._replies.send(request, delay)

    # -- for onlookers --------------------------------------------------------------------------

    def holds(self, line: int) -> bool:
        """Whether a line is here; a look is no use of it."""
        return any(array.state(line) for array in self.arrays.values())

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Requests and write-backs that are not finished."""
        return len(self.mshrs) + len(self.requests) + self.misses.in_flight()

    def waiting(self) -> Iterator[str]:
        """Lines for the watchdog: which requests wait, and for what."""
        if self.requests:
            yield f"{self.name}: {len(self.requests)} requests queue"
        yield from self.misses.waiting()

    def policies(self) -> Iterator[tuple[str, object]]:
        for array in dict.fromkeys(self.arrays.values()):
            yield "l2.replacement", array.replacement

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app], *self.misses.app_counters(app))


def _writes(kind: int) -> bool:
    """Whether requests of this kind change their line."""
    return kind != _LOAD and kind != _WALK


def _is_atomic(kind: int) -> bool:
    """Whether requests of this kind are atomics."""
    return kind == _ATOMIC or kind == _REDUCE


def _is_asked(request: MemoryRequest) -> bool:
    """Whether another bank waits for the answer to a request."""
    return isinstance(request.back, Crossing)
