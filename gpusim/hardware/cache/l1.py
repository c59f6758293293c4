"""The L1 data cache of an SM, write-through; a side cache is one that sees loads only.

Three choices combine freely: what a store leaves (`store_policies`), when a line takes its place
(`reservations`), and what names it (`naming`; `leading_names` below a virtual L2 cache).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Final

from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.config.schema import L1Config
from gpusim.core.component import Component
from gpusim.core.engine import EventLoop, Waiters, Wakeable
from gpusim.core.interfaces import FirstCache
from gpusim.core.law import Law, laws_of
from gpusim.core.mapping import Mapping
from gpusim.core.mshr import FULL, MERGED, NEW, Admission, Mshrs
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.signals import Signals
from gpusim.core.warp_program import SECTOR_BYTES
from gpusim.files.units import Hertz
from gpusim.hardware.cache.first_cache_counters import (
    FirstCacheCounters,
    L1Counters,
    SideCounters,
)
from gpusim.hardware.cache.held_lines import HeldLines
from gpusim.hardware.cache.leading_names import NOT_KEPT, SENT_AGAIN, LeadingNames
from gpusim.hardware.cache.naming import make_naming
from gpusim.hardware.cache.sector_masks import touched_sectors
from gpusim.hardware.cache.store_policies import LINE_GOES, make_store_policy
from gpusim.hardware.cache.unified import Splits

L1_PATH: Final = "l1"

_SECTOR_KEY_BITS: Final = 8
_LOAD: Final = int(Kind.LOAD)
_STORE: Final = int(Kind.STORE)


@frozen(eq=False, repr=False)
class CacheSite:
    """Where a cache next to SMs stands in a machine.

    Attributes:
        env: the environment.
        path: of its counters: `L1_PATH`, or the name of the table of a side cache.
        index: which of the caches with that path it is, over the whole GPU.
        clock: of the core.
        apps: applications that share the machine.
    """

    env: EventLoop
    path: str
    index: int
    clock: Hertz
    apps: int


@mypyc_attr(allow_interpreted_subclasses=True)
class L1Cache(Component, FirstCache):
    """Tags and MSHRs; the load/store unit asks, and brings the lines that arrive.

    Where a miss reserves a place, one to a set of which all places are reserved waits until one of
    their lines has arrived.

    Args:
        site: where it stands.
        config: what it is like.
        leading: what it knows of leading names; None: the L2 cache is physical.

    Attributes:
        held: its lines.
        signals: what becomes of them.
        naming: what names them.
        stores: what stores do to them.
        reserved: places that missed lines have taken; None: a line takes its place on arrival.
    """

    path = L1_PATH
    laws: Sequence[Law] = laws_of(
        [FirstCacheCounters],
        Law("lookups", "hits + misses"),
        Law("fills", "misses - merged", other="misses that were not merged"),
    )

    def __init__(
        self, site: CacheSite, config: L1Config, leading: LeadingNames | None = None
    ) -> None:
        self.env = site.env
        self.name = f"{site.path}[{site.index}]"
        self.path = site.path
        self.instance = site.index
        self.latency = config.latency.cycles(site.clock)
        self.held = HeldLines(site.env, config, leading)
        self.array = self.held.array
        self.reserved = self.held.reserved
        self.signals = self.held.signals
        self._on_use = self.signals.use
        kind = L1Counters if site.path == L1_PATH else SideCounters
        self.counters: list[FirstCacheCounters] = [kind() for _ in range(site.apps)]
        self.naming = make_naming(config)
        self.leading = leading
        self.stores = make_store_policy(config, site.apps)
        self._plain = leading is None and self.reserved is None
        self._synonyms = None if leading is None else leading.synonyms
        if self._synonyms is not None:
            self.latency += self._synonyms.latency.cycles(site.clock)
        self._splits = Splits(config) if config.unified is not None else None
        self._sectored = config.sector < config.line
        self._whole = (1 << (config.line // SECTOR_BYTES)) - 1
        self._fetched = touched_sectors(config.sector, config.line)
        self._mshrs: Mshrs[MemoryRequest] = Mshrs(config.mshrs, config.mshr_merge)
        self._blocked = Waiters()
        self._send_again: Callable[[MemoryRequest], None] | None = None

    def attach(self, signals: Signals) -> None:
        """Hand its policy the signals of the machine."""
        self.array.replacement.attach(signals)
        if self._splits is not None:
            self._splits.attach(signals)

    def connect(self, send_again: Callable[[MemoryRequest], None]) -> None:
        """Name what sends a request out once more, whose answer was of no use."""
        self._send_again = send_again

    # -- loads -----------------------------------------------------------------------------------

    def lookup(self, line: int, sectors: int, app: int) -> bool:
        """Whether a load finds all its sectors; a hit is counted here, a miss by `admit`."""
        if self._synonyms is not None:
            line = self._synonyms.look(line, sectors, self.array, app)
        if self.array.missing(line, sectors):
            return False
        if self._on_use.listeners:
            self._on_use(line, self.env._now)
        counters = self.counters[app]
        counters.lookups += 1
        counters.hits += 1
        return True

    def admit(self, request: MemoryRequest, line: int) -> Admission:
        """Register a load that missed: NEW has to be sent on, MERGED waits, FULL tries again."""
        key, fetch = line, self._whole
        if self._sectored:
            name = line if self._synonyms is None else self._synonyms.name(line)
            fetch = self._fetched[self.array.missing(name, request.sectors)]
            key = line << _SECTOR_KEY_BITS | fetch
        counters = self.counters[request.app]
        lacks_place = self.reserved is not None and self.reserved.lacks(self.array, line)
        if not self._plain and self._has_to_wait(key, line, lacks_place):
            counters.stalls += 1
            return FULL
        admission = self._mshrs.admit(key, request)
        if admission == FULL:
            counters.stalls += 1
            return admission
        request.sectors = fetch
        counters.lookups += 1
        counters.misses += 1
        if admission == MERGED:
            counters.merged += 1
            request.follow(self._mshrs.first(key), self.env._now)
        elif lacks_place:
            self.held.reserve(line)
        if self._synonyms is not None:
            self._synonyms.missed(request, sent=admission == NEW)
        return admission

    def _has_to_wait(self, key: int, line: int, lacks_place: bool) -> bool:
        """Whether no place can be had for a line, or its answer under way is out of date."""
        reserved, leading = self.reserved, self.leading
        if lacks_place and reserved is not None and reserved.all_reserved(self.array, line):
            return True
        return leading is not None and leading.refuses(key, line)

    def asks(self, sectors: int) -> int:
        return self._fetched[sectors] if self._sectored else self._whole

    def fill(self, filled: MemoryRequest) -> None:
        """A line arrives: keep it, and answer all that wait for it."""
        line = name = self.naming.name(filled)
        key = line << _SECTOR_KEY_BITS | filled.sectors if self._sectored else line
        if self.leading is not None:
            name = self.leading.arrived(filled, key)
            if name == SENT_AGAIN:
                assert self._send_again is not None
                self._send_again(filled)
                return
        if self._plain or self.held.arrives(line, name):
            self.held.keep(name, filled.sectors)
        self.counters[filled.app].fills += 1
        for waiter in self._mshrs.release(key):
            assert waiter.access is not None
            waiter.access.answered(waiter)
        if self._blocked.waiting:
            self._blocked.wake_after(filled)

    def when_free(self, sender: Wakeable) -> None:
        """Wake `sender` when an MSHR becomes free."""
        self._blocked.add(sender)

    # -- stores and atomics ----------------------------------------------------------------------

    def pass_through(self, request: MemoryRequest, keep: bool) -> None:
        """Note a store (`keep`: what it leaves is up to the policy), or an atomic."""
        line = self.naming.name(request)
        self.counters[request.app].stores += 1
        left = self.stores.left(request.sectors) if keep else LINE_GOES
        if left == LINE_GOES:
            self.held.remove(line)
            return
        self.array.missing(line, 0)  # a use of the line
        if self._on_use.listeners and self.array.state(line):
            self._on_use(line, self.env._now)
        if not left:
            return
        if self.leading is None:
            self._leave(line, left, request.app)
        else:
            self.leading.stored(line)

    def pass_by(self, request: MemoryRequest) -> None:
        """Note a load that the L2 cache answers, whatever is here; it leaves nothing."""
        self.counters[request.app].coherent_loads += 1

    def acknowledged(self, request: MemoryRequest) -> None:
        """A store comes back; below a virtual L2 cache it has the leading name of its line."""
        if self.leading is not None and (left := self.stores.left(request.sectors)) > 0:
            name = self.leading.acknowledged(request)
            if name != NOT_KEPT:
                self._leave(name, left, request.app)

    def _leave(self, line: int, left: int, app: int) -> None:
        """A store leaves sectors of a line; if all places wait for others, it cannot."""
        if left & ~self.array.state(line) and self.held.keep(line, left):
            self.stores.allocated(app)

    # -- lines -----------------------------------------------------------------------------------

    def drop(self, mapping: Mapping, page_shift: int) -> None:
        """Forget all lines of a page, whose size is `1 << page_shift`, by their names here."""
        for line in self.naming.lines(mapping, page_shift):
            self.held.remove(line)

    def clear(self) -> None:
        """Forget all lines."""
        self.held.clear()

    def invalidate(self, pages: Set[int] | None) -> None:
        """Forget the lines of pages (None: of all): if there may be any, all lines."""
        assert self.leading is not None
        if self.leading.invalidate(pages, self._mshrs.outstanding()):
            self.leading.flushed(self.array.lines())
            self.clear()

    def capacity(self) -> int:
        return self.array.capacity

    def begin_kernel(self, shared_bytes: int) -> None:
        """A kernel begins that has so much shared memory on this SM: divide unified memory."""
        array = None if self._splits is None else self._splits.choose(shared_bytes)
        if array is not None:
            self.clear()
            self.array.take_over(array)

    def warm(self, lines: list[int], sectors: list[int], kinds: list[int]) -> list[bool]:
        return [
            self._warm(line, sectors[number], kinds[number]) for number, line in enumerate(lines)
        ]

    def _warm(self, line: int, sectors: int, kind: int) -> bool:
        """An untimed access, which is not announced to listeners; whether it goes on."""
        array = self.array
        if kind == _LOAD:
            if not self._sectored:
                return array.use(line, sectors, self._whole) != 0
            missing = array.missing(line, sectors)
            if missing:
                array.fill(line, self._fetched[missing])
            return missing != 0
        left = self.stores.left(sectors) if kind == _STORE else LINE_GOES
        if left == LINE_GOES:
            array.remove(line)
            return True
        array.missing(line, 0)
        if left & ~array.state(line):
            array.fill(line, left)
        return True

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Lines that are outstanding."""
        return len(self._mshrs)

    def waiting(self) -> Iterator[str]:
        """Lines for the watchdog: which requests wait, and for what."""
        if self._mshrs:
            yield f"{self.name}: {len(self._mshrs)} of {self._mshrs.capacity} MSHRs wait for lines"

    def policies(self) -> Iterator[tuple[str, object]]:
        key = f"{self.path}.replacement"
        yield key, self.array.replacement
        if self._splits is not None:
            for replacement in self._splits.replacements():
                yield key, replacement

    def app_counters(self, app: int) -> Iterable[object]:
        remapped = () if self.leading is None else self.leading.app_counters(app)
        return (self.counters[app], *self.stores.app_counters(app), *remapped)

    def shared_counters(self) -> Iterable[object]:
        splits = () if self._splits is None else (self._splits.counters,)
        return splits if self.leading is None else (*splits, self.leading.invalidations)
