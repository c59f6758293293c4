"""The L1 data cache of an SM: write-through, no allocation on stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.config.schema import L1Config
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import EventLoop, Probe, Waiters, Wakeable
from gpusim.core.interfaces import FirstCache
from gpusim.core.law import Law, laws_of
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.mshr import FULL, MERGED, Admission, Mshrs
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.signals import Signals
from gpusim.core.warp_program import SECTOR_BYTES
from gpusim.files.units import Hertz
from gpusim.hardware.cache.hashed_array import l1_array
from gpusim.hardware.cache.unified import Splits

_SECTOR_KEY_BITS: Final = 8
_LOAD: Final = int(Kind.LOAD)
_STORE: Final = int(Kind.STORE)


@attr.s(auto_attribs=True)
class FirstCacheCounters:
    """What one cache next to SMs did for one application; hits + misses = lookups."""

    lookups: int = count("loads that looked for their line, each counted once")
    hits: int = count("loads that found all their sectors")
    misses: int = count("loads that did not, merged ones included")
    merged: int = count("misses that waited for one already under way")
    fills: int = count("answers from the L2 cache that were filled in")
    stores: int = count("stores and atomics that passed through")
    stalls: int = count("times that a miss had to wait for an MSHR")


@attr.s(auto_attribs=True)
class L1Counters(FirstCacheCounters):
    """Likewise of an L1 cache."""


declare_metrics(
    L1Counters, Metric("l1_hit_rate", FRACTION, "L1 cache hit rate", Ratio("hits", "lookups"))
)


@mypyc_attr(allow_interpreted_subclasses=True)
class L1Cache(Component, FirstCache):
    """Tags and MSHRs of an L1; the load/store unit asks, and brings the lines that arrive.

    Lines are named physically, or by ``asid | virtual line`` if the cache is `virtual`.
    """

    path = "l1"
    laws: Sequence[Law] = laws_of(
        [FirstCacheCounters],
        Law("lookups", "hits + misses"),
        Law("fills", "misses - merged", other="misses that were not merged"),
    )

    def __init__(
        self, env: EventLoop, index: int, config: L1Config, clock: Hertz, apps: int
    ) -> None:
        self.env = env
        self.name = f"l1[{index}]"
        self.instance = index
        self.latency = config.latency.cycles(clock)
        self.virtual = config.translation.startswith("after")
        self.array = l1_array(config)
        self.counters: list[FirstCacheCounters] = [L1Counters() for _ in range(apps)]
        self.on_evict: Probe[[int, int]] = Probe()
        """Line that a fill replaces, by its name in this cache, and cycle."""
        self._splits = Splits(config) if config.unified is not None else None
        self._shift = config.line.bit_length() - 1
        self._sectored = config.sector < config.line
        self._whole = (1 << (config.line // SECTOR_BYTES)) - 1
        self._group = (1 << (config.sector // SECTOR_BYTES)) - 1
        self._mshrs: Mshrs[MemoryRequest] = Mshrs(config.mshrs, config.mshr_merge)
        self._blocked = Waiters()

    def attach(self, signals: Signals) -> None:
        """Hand its policy the signals of the machine."""
        self.array.replacement.attach(signals)
        if self._splits is not None:
            self._splits.attach(signals)

    def key(self, request: MemoryRequest) -> int:
        """The name of a request's line in this cache."""
        if self.virtual:
            return request.asid << ASID_SHIFT | request.vline
        return request.address >> self._shift

    def drop(self, mapping: Mapping, page_shift: int) -> None:
        """Forget all lines of a page, whose size is `1 << page_shift`, by their names here."""
        shift = page_shift - self._shift
        first = mapping.vpn if self.virtual else mapping.pfn
        space = mapping.asid << ASID_SHIFT if self.virtual else 0
        for line in range(first << shift, (first + mapping.pages) << shift):
            self.array.remove(space | line)

    def lookup(self, line: int, sectors: int, app: int) -> bool:
        """Whether a load finds all its sectors; a hit is counted here, a miss by `admit`."""
        if self.array.missing(line, sectors):
            return False
        counters = self.counters[app]
        counters.lookups += 1
        counters.hits += 1
        return True

    def admit(self, request: MemoryRequest, line: int) -> Admission:
        """Register a load that missed: NEW has to be sent on, MERGED waits, FULL tries again."""
        key, fetch = line, self._whole
        if self._sectored:
            fetch = self._fetched(self.array.missing(line, request.sectors))
            key = self._mshr_key(line, fetch)
        admission = self._mshrs.admit(key, request)
        counters = self.counters[request.app]
        if admission == FULL:
            counters.stalls += 1
            return admission
        request.sectors = fetch
        counters.lookups += 1
        counters.misses += 1
        now = self.env._now
        if admission == MERGED:
            counters.merged += 1
            request.follow(self._mshrs.first(key), now)
        return admission

    def pass_through(self, request: MemoryRequest, keep: bool) -> None:
        """Note a store (`keep`: a resident copy is updated) or an atomic (a copy is dropped)."""
        self._store(self.key(request), request.sectors, keep)
        self.counters[request.app].stores += 1

    def warm(self, lines: list[int], sectors: list[int], kinds: list[int]) -> None:
        for number, line in enumerate(lines):
            self._warm(line, sectors[number], kinds[number])

    def _warm(self, line: int, sectors: int, kind: int) -> None:
        """An access without a clock."""
        if kind != _LOAD:
            self._store(line, sectors, kind == _STORE)
        elif not self._sectored:
            self.array.use(line, sectors, self._whole)
        elif missing := self.array.missing(line, sectors):
            self.array.fill(line, self._fetched(missing))

    def asks(self, sectors: int) -> int:
        return self._fetched(sectors) if self._sectored else self._whole

    def capacity(self) -> int:
        return self.array.capacity

    def _store(self, line: int, sectors: int, keep: bool) -> None:
        """What a store (`keep`), or an atomic, does to a line that may be here."""
        if keep:
            self.array.missing(line, 0)
        else:
            self.array.remove(line)

    def clear(self) -> None:
        """Forget all lines."""
        self.array.clear()

    def begin_kernel(self, shared_bytes: int) -> None:
        """A kernel begins that has so much shared memory on this SM: divide unified memory."""
        if self._splits is None:
            return
        array = self._splits.choose(shared_bytes)
        if array is not None:
            self.clear()
            self.array.take_over(array)

    def when_free(self, sender: Wakeable) -> None:
        """Wake `sender` when an MSHR becomes free."""
        self._blocked.add(sender)

    def _fetched(self, missing: int) -> int:
        """The sectors that are fetched for `missing` ones: those of whole fetch sectors."""
        fetched = 0
        group = self._group
        step = group.bit_length()
        while group & self._whole:
            if group & missing:
                fetched |= group
            group <<= step
        return fetched

    def _mshr_key(self, line: int, fetch: int) -> int:
        """Misses merge if they fetch the same sectors of a line."""
        return line << _SECTOR_KEY_BITS | fetch if self._sectored else line

    def fill(self, filled: MemoryRequest) -> None:
        """A line arrives: keep it, and answer everyone who waits for it."""
        line = self.key(filled)
        victim = self.array.fill(line, filled.sectors)
        if victim is not None and self.on_evict.listeners:
            self.on_evict(victim[0], self.env._now)
        self._answer(filled, line)

    def _answer(self, filled: MemoryRequest, line: int) -> None:
        """Answer everyone who waits for a line."""
        self.counters[filled.app].fills += 1
        for waiter in self._mshrs.release(self._mshr_key(line, filled.sectors)):
            assert waiter.access is not None
            waiter.access.answered(waiter)
        if self._blocked.waiting:
            self._blocked.wake()

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Lines that are outstanding."""
        return len(self._mshrs)

    def waiting(self) -> Iterator[str]:
        """Who waits for whom, for the watchdog."""
        if self._mshrs:
            yield f"{self.name}: {len(self._mshrs)} of {self._mshrs.capacity} MSHRs wait for lines"

    def policies(self) -> Iterator[tuple[str, object]]:
        yield "l1.replacement", self.array.replacement
        if self._splits is not None:
            for replacement in self._splits.replacements():
                yield "l1.replacement", replacement

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)

    def shared_counters(self) -> Iterable[object]:
        return () if self._splits is None else (self._splits.counters,)
