"""The page-table walkers: a queue, walk threads, a page-walk cache, and the cost of a walk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.config.translation import WalkCacheConfig, WalkConfig
from gpusim.core.engine import NEVER, EventLoop, Port, Probe, Sink, Turning, TurnTaker
from gpusim.core.errors import UserError
from gpusim.core.interfaces import Behind
from gpusim.core.law import Law, laws_of
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping
from gpusim.core.mshr import MERGED, Mshrs
from gpusim.core.registry import Slot, make_policy
from gpusim.core.request import Kind, MemoryRequest, Purpose, Requester, Translation
from gpusim.core.signals import Signals
from gpusim.core.stage import Stage
from gpusim.core.states import State
from gpusim.core.unboxed import IntDict
from gpusim.files.units import Hertz
from gpusim.hardware.walk.counters import PrefetchWalkCounters, WalkCounters, WalkersCounters
from gpusim.hardware.walk.level_reads import LevelRead, LevelReads
from gpusim.hardware.walk.order import WalkOrder
from gpusim.hardware.walk.page_table import PageTable
from gpusim.hardware.walk.walk import Walk
from gpusim.hardware.walk.walk_cache import (
    LevelWalkCache,
    LineWalkCache,
    PathWalkCache,
    SplitWalkCache,
)

_WALK_READ: Final = int(Kind.WALK)
_WALKER: Final = int(State.WALKER)
_WALK: Final = int(State.WALK)
_PREFETCH: Final = int(Purpose.PREFETCH)

_SKIPPING: Final[dict[str, Callable[[WalkCacheConfig], LevelWalkCache]]] = {
    "levels": LevelWalkCache,
    "split": SplitWalkCache,
    "paths": PathWalkCache,
}
"""Page-walk caches that spare a walk its upper levels, by their kind."""


@frozen(eq=False, repr=False)
class WalkersSite:
    """Where the walkers of a domain stand in a machine.

    Attributes:
        env: the environment.
        config: what they are like.
        clock: of the core.
        table: the page table that they walk.
        apps: applications that share the machine.
        name: for reports.
        index: number of their domain.
    """

    env: EventLoop
    config: WalkConfig
    clock: Hertz
    table: PageTable
    apps: int
    name: str = "walkers"
    index: int = 0


@mypyc_attr(allow_interpreted_subclasses=True)
class Walkers(Stage, Turning):
    """The last stage: `config.walkers` walks at a time, begun as the walk order says.

    A walk takes

    * ``fixed``: `latency` cycles;
    * ``per-level``: `latency` for each level that the page-walk cache does not cover;
    * ``memory``: one read a level through `memory`, the next when the one before is answered; where
      a layout of the page table says so, several reads at once.

    A cache of upper levels is probed once at the start of a walk, a ``"lines"`` cache at each
    level; a probe takes the cache's latency.

    Args:
        site: where they stand.
        memory: where a read of a ``memory`` walk goes, to an L2 bank or a DRAM channel; asked once
            for each.
    """

    laws: Sequence[Law] = laws_of([WalkCounters], Law("requests", "walks + merged"))

    def __init__(self, site: WalkersSite, memory: Callable[[MemoryRequest], Sink]) -> None:
        env, config, clock, name = site.env, site.config, site.clock, site.name
        requests: Port[Translation] = Port(
            env, f"{name}.requests", config.trip.cycles(clock), depth=config.queue
        )
        super().__init__(name, "walk", site.index, requests)
        self.env = env
        self.table = site.table
        self.counters = [WalkCounters() for _ in range(site.apps)]
        self.prefetches = [PrefetchWalkCounters() for _ in range(site.apps)]
        self.order: WalkOrder = make_policy(Slot.WALK_ORDER, config.order)
        self.whole = WalkersCounters()
        self.on_walk: Probe[[Walk, int]] = Probe()
        """A walk that has ended, and the cycle."""
        self.on_level_read: Probe[[int, int, int, int, int]] = Probe()
        """asid, vpn, depth (1 is the root), cycles in which a read of an entry began and ended."""
        self.on_admit: Probe[[int, int, int]] = Probe()
        """Application, tag and cycle of a walk that waits for a walker from now on."""
        self.warm_behind: Behind | None = None
        """Where page-table reads go that take no time; None: walks read no cache."""
        self._config = config
        self._latency = config.latency.cycles(clock)
        self._free = config.walkers
        self._mshrs: Mshrs[Translation] = Mshrs(NEVER, NEVER)
        self._queue: list[Walk] = []
        self._walks: IntDict[Walk] = IntDict()
        """By tag: those that wait or are under way."""
        self._steps: Port[Walk] = Port(env, f"{name}.steps")
        self._reads = LevelReads(env, name, site.table, memory)
        self._levels: LevelWalkCache | None = None
        self._lines: LineWalkCache | None = None
        self._probe_latency = 0
        if config.cache is not None:
            self._probe_latency = config.cache.latency.cycles(clock)
            if config.cache.kind in _SKIPPING:
                self._levels = _SKIPPING[config.cache.kind](config.cache)
            else:
                self._lines = LineWalkCache(config.cache)
        self.process = TurnTaker(env, self)
        for port in (self.requests, self._steps, self._reads.answers):
            port.connect(self.process)

    def turn(self, now: int) -> int:
        reads, steps, requests = self._reads.answers, self._steps, self.requests
        while reads.ready <= now and (read := reads.take()) is not None:
            self._level_done(read)
        while steps.ready <= now and (walk := steps.take()) is not None:
            self._step(walk)
        if self._reads.unsent:
            self._reads.send_again(self.process.wake)
        while requests.ready <= now and (translation := requests.take()) is not None:
            self._admit(translation)
        while self._free and self._queue:
            self._start(self._queue.pop(self._choose()))
        upcoming = min(reads.ready, steps.ready)
        return min(upcoming, requests.ready)

    def attach(self, signals: Signals) -> None:
        self.order.attach(signals)
        if (cache := self._levels or self._lines) is not None:
            cache.replacement.attach(signals)

    def shoot_down(self, tag: int | None) -> None:
        """Forget the entry of a page (None: all) in the walk cache, and in walks that have read it.

        Those walk again at their end, in the same walker; walks that have not come to it go on.
        """
        if tag is None:
            for walk in self._walks.values():
                walk.shoot_down()
        elif tag in self._walks:
            self._walks[tag].shoot_down()
        if self._lines is None:
            return
        if tag is None:
            self._lines.clear()
        elif self.table.find(tag) is not None:
            asid, vpn = tag >> ASID_SHIFT, tag & VPN_MASK
            self._lines.forget(self.table.walk(asid, vpn).entries[-1])

    def received(self, paths: Sequence[str]) -> str:
        return " + ".join(f"{path}.requests" for path in paths)

    def _choose(self) -> int:
        """Index of the walk that begins."""
        index = self.order.choose(self._queue, self.env._now)
        if type(index) is not int or not 0 <= index < len(self._queue):
            raise UserError(
                f"walk.order: {type(self.order).__qualname__} chose walk {index} of the "
                f"{len(self._queue)} that wait; allowed: 0 to {len(self._queue) - 1}"
            )
        return index

    def _counters(self, translation: Translation) -> PrefetchWalkCounters:
        """Where a walk is counted that a translation asked for."""
        counters: PrefetchWalkCounters = self.counters[translation.app]
        if translation.kind == _PREFETCH:
            counters = self.prefetches[translation.app]
        return counters

    def _admit(self, translation: Translation) -> None:
        counters = self._counters(translation)
        counters.requests += 1
        now = self.env._now
        if self._mshrs.admit(translation.tag, translation) == MERGED:
            counters.merged += 1
            translation.follow(self._mshrs.first(translation.tag), now)
            self.order.merged(self._walks[translation.tag], translation.access, now)
            return
        translation.trail.append(_WALKER)
        translation.trail.append(now)
        if self.on_admit.listeners:
            self.on_admit(translation.app, translation.tag, now)
        path = self.table.look(translation.asid, translation.vpn)
        walk = self._walks[translation.tag] = Walk(translation, path, now)
        self._queue.append(walk)
        self.order.arrived(walk, now)

    def _start(self, walk: Walk) -> None:
        self._free -= 1
        under_way = self._config.walkers - self._free
        if under_way > self.whole.most_walks:
            self.whole.most_walks = under_way
        counters = self._counters(walk.translation)
        counters.queue_cycles += self.env._now - walk.requested
        self._begin(walk)

    def _begin(self, walk: Walk) -> None:
        """A walk that has a walker begins at the root, or where the walk cache says."""
        now = self.env._now
        if walk.moved or self.table.moves:
            self._look_anew(walk)
        walk.started = now
        translation = walk.translation
        translation.trail.append(_WALK)
        translation.trail.append(now)
        counters = self._counters(translation)
        delay = 0
        if self._levels is not None:
            counters.cache_lookups += 1
            walk.level = self._levels.covered(translation.asid, walk.path.prefixes)
            counters.cache_hits += walk.level > 0
            delay = self._probe_latency
        if self._config.cost == "memory":
            self._steps.send(walk, delay)
            return
        if self._config.cost == "fixed":
            delay += self._latency
            walk.read = len(walk.path.entries) - walk.level
        else:
            delay += self._timed_levels(walk, counters)
        walk.level = len(walk.path.entries)
        self._steps.send(walk, delay)

    def _look_anew(self, walk: Walk) -> None:
        translation = walk.translation
        if self.table.is_gone(translation.tag):
            walk.moved, walk.overtaken = False, True
            return
        walk.go_on(self.table.look(translation.asid, translation.vpn))

    def _timed_levels(self, walk: Walk, counters: PrefetchWalkCounters) -> int:
        """Cycles of a ``per-level`` walk from its current level to the leaf."""
        delay = 0
        for level in range(walk.level, len(walk.path.entries)):
            if self._lines is not None:
                counters.cache_lookups += 1
                delay += self._probe_latency
                if self._lines.probe(walk.path.entries[level]):
                    counters.cache_hits += 1
                    continue
            walk.read += 1
            delay += self._latency
            self._keep(walk, level)
        return delay

    def _step(self, walk: Walk) -> None:
        """Go on with the walk at its current level: from the cache, from memory, or be done."""
        if walk.moved:
            self._look_anew(walk)
        if walk.overtaken or walk.level == len(walk.path.entries):
            self._finish(walk)
            return
        walk.arrived = self.env._now
        delay = 0
        if self._lines is not None:
            counters = self._counters(walk.translation)
            counters.cache_lookups += 1
            delay = self._probe_latency
            if self._lines.probe(walk.path.entries[walk.level]):
                counters.cache_hits += 1
                walk.level += 1
                self._steps.send(walk, delay)
                return
        beside = self._reads.send(walk, self._sender(walk), delay, self.process.wake)
        if beside:
            self._counters(walk.translation).beside += beside

    def _sender(self, walk: Walk) -> int:
        """The SM that sends the reads of a walk; -1: the walkers do."""
        return walk.translation.sm if self._config.sent_by == "sms" else -1

    def _level_done(self, read: LevelRead) -> None:
        walk = read.walk
        if self._reads.too_late(read):
            self._counters(walk.translation).level_accesses += 1
            return
        walk.read += 1
        if not self._reads.goes_on(read):
            return
        self._counters(walk.translation).add_read(read, walk.arrived, self.env._now)
        self._keep(walk, walk.level)
        walk.level += 1
        if self.on_level_read.listeners:
            translation = walk.translation
            self.on_level_read(
                translation.asid, translation.vpn, walk.level, walk.arrived, self.env._now
            )
        self._step(walk)

    def _keep(self, walk: Walk, level: int) -> None:
        """Put the entry that was read at `level` into the page-walk cache."""
        if self._levels is not None:
            self._levels.insert(walk.translation.asid, level, walk.path.prefixes)
        elif self._lines is not None:
            self._lines.insert(walk.path.entries[level])

    def _finish(self, walk: Walk) -> None:
        now = self.env._now
        translation = walk.translation
        counters = self._counters(translation)
        counters.walk_cycles += now - walk.started
        counters.level_accesses += walk.read
        if self.on_walk.listeners:
            self.on_walk(walk, now)
        gone = walk.overtaken and self.table.is_gone(translation.tag)
        if walk.overtaken and self.table.walks_again and not gone:
            counters.again += 1
            walk.return_to_root()
            self._begin(walk)
            return
        self._free += 1
        counters.walks += 1
        del self._walks[translation.tag]
        self.order.finished(walk, now)
        mapping: Mapping | None = walk.path.mapping
        if self.table.on_demand or gone:  # it may have come, or gone, meanwhile
            mapping = self.table.find(translation.tag)
        for waiter in self._mshrs.release(translation.tag):
            waiter.mapping = mapping
            waiter.read_at = now
            waiter.answer()

    def warm(self, tag: int, requester: Requester) -> Mapping:
        path = self.table.walk(tag >> ASID_SHIFT, tag & VPN_MASK)
        levels, lines, behind = self._levels, self._lines, self.warm_behind
        asid, entries, prefixes = tag >> ASID_SHIFT, path.entries, path.prefixes
        first = 0 if levels is None else levels.covered(asid, prefixes)
        for level in range(first, len(entries)):
            address = entries[level]
            if lines is not None and lines.probe(address):
                continue
            if behind is not None:
                behind.warm(address, 1, _WALK_READ, requester.app)
                for beside in path.beside[level] if path.beside else ():
                    behind.warm(beside, 1, _WALK_READ, requester.app)
            if levels is not None:
                levels.insert(asid, level, prefixes)
            elif lines is not None:
                lines.insert(address)
        return path.mapping

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Translations that wait here."""
        return len(self._mshrs) + len(self.requests) + self._reads.late

    def waiting(self) -> Iterator[str]:
        """Lines for the watchdog: which requests wait, and for what."""
        if self._queue:
            walkers = self._config.walkers
            yield f"{self.name}: {len(self._queue)} walks wait for one of {walkers} walkers"
        reads = self._reads
        if reads.answers or reads.unsent or len(self._mshrs) > len(self._queue):
            under_way = len(self._mshrs) - len(self._queue)
            yield (
                f"{self.name}: {under_way} walks under way, "
                f"{len(reads.unsent)} reads wait for memory"
            )

    def policies(self) -> Iterator[tuple[str, object]]:
        yield "walk.order", self.order
        if (cache := self._levels or self._lines) is not None:
            yield "walk.cache.replacement", cache.replacement

    def recordable(self) -> Iterable[tuple[str, Any]]:
        return (("walks", self.on_walk), ("walk_reads", self.on_level_read))

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)

    def shared_counters(self) -> Iterable[object]:
        return (self.whole,)
