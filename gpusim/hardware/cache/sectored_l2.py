"""A bank of an L2 cache whose lines are fetched and written back sector by sector.

A load, an atomic or a page-table read fetches the sectors that it misses.  A store fetches
nothing: it takes its sectors at once, and those of which it writes only some bytes can be written
again, but not read, until somebody who wants to read them fetches them: the "lazy fetch on read" of
Accel-Sim's L2 caches (M. Khairy et al., "Accel-Sim: An Extensible Simulation Framework for
Validated GPU Modeling", ISCA 2020).  A sector that two stores write in halves counts as written
in part, unless byte masks are kept (`gpusim.hardware.cache.written_bytes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.engine import Port, Sink
from gpusim.core.law import Law, laws_of
from gpusim.core.mshr import FULL
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.core.warp_program import COVERED_SHIFT, SECTOR_BYTES, SECTORS
from gpusim.hardware.cache.dram_misses import DramMisses
from gpusim.hardware.cache.l2 import LOOKUPS, WRITEBACK_BUFFER, L2Bank, L2Counters

_LOAD: Final = int(Kind.LOAD)
_STORE: Final = int(Kind.STORE)
_WALK: Final = int(Kind.WALK)
_WRITEBACK: Final = int(Kind.WRITEBACK)
_L2: Final = int(State.L2)

SECTOR_SHIFT: Final = SECTOR_BYTES.bit_length() - 1
DIRTY_SHIFT: Final = 8
"""Dirty sectors of a line stand this far above its readable ones; one may be either, or both."""


@attr.s(auto_attribs=True)
class SectorCounters:
    """What only a bank with sectors counts, for one application."""

    claimed: int = count("stores that did not find all their sectors, and took them unfetched")
    sectors_fetched: int = count("32-byte sectors asked of DRAM")
    sectors_written_back: int = count("32-byte sectors sent to DRAM")


class SectoredMisses(DramMisses):
    """Fetches sectors, of one line as many at once as one request misses; MSHRs are of lines.

    Args:
        sector: bytes of a sector.
    """

    laws: Sequence[Law] = laws_of(
        [L2Counters, SectorCounters],
        LOOKUPS,
        Law("fills", "misses - merged - claimed", other="misses that fetched something"),
    )

    def __init__(
        self, bank: L2Bank, channel: Callable[[int], Port[MemoryRequest]], sector: int
    ) -> None:
        super().__init__(bank, channel)
        self.sectors = [SectorCounters() for _ in bank.counters]
        self._line_mask = (1 << bank.shift) - 1
        group = (1 << sector // SECTOR_BYTES) - 1
        groups = [group << first for first in range(0, COVERED_SHIFT, group.bit_length())]
        masks = range(SECTORS + 1)
        self._touched = [sum(one for one in groups if one & mask) for mask in masks]
        self._covered = [sum(one for one in groups if not one & ~mask) for mask in masks]
        self._fetches: dict[int, list[MemoryRequest]] = {}
        """By line: what is on its way from DRAM."""
        self._needs: dict[int, list[int]] = {}
        """By line: the sectors that those in its MSHR still wait for, in their order."""

    def wanted(self, request: MemoryRequest) -> int:
        """The sectors of the bank's line that a request touches, in whole sectors of the bank."""
        place = (request.address & self._line_mask) >> SECTOR_SHIFT
        return self._touched[(request.sectors & SECTORS) << place]

    def lacks(self, request: MemoryRequest, line: int, wanted: int) -> bool:
        """Whether a store does not find all its sectors; they may be such as cannot be read."""
        state = self.bank.arrays[request.app].state(line)
        return bool(wanted & ~(state | state >> DIRTY_SHIFT))

    def store(self, request: MemoryRequest, line: int, wanted: int) -> None:
        """Perform a store, whatever is there."""
        place = (request.address & self._line_mask) >> SECTOR_SHIFT
        covered = self._covered[(request.sectors >> COVERED_SHIFT & SECTORS) << place]
        self._keep(line, covered | wanted << DIRTY_SHIFT, request.app)

    def modify(self, request: MemoryRequest, line: int, wanted: int) -> None:
        """Perform an atomic, whose sectors are there."""
        self._keep(line, wanted | wanted << DIRTY_SHIFT, request.app)

    def unfetched(self, line: int, missing: int) -> int:
        """Those of some missing sectors of a line that are not on their way."""
        for fetch in self._fetches.get(line, ()):
            missing &= ~fetch.sectors
        return missing

    def fetch(self, request: MemoryRequest, line: int, sectors: int, way: Sink) -> None:
        """Ask DRAM for sectors of a line; its lookup takes the bank's latency."""
        bank = self.bank
        fetch = MemoryRequest(
            request.kind,
            request.app,
            request.asid,
            request.sm,
            request.tag,
            line << bank.shift,
            -1,
            sectors,
            request.depth,
            request.access,
            [_L2, bank.env._now],
        )
        self._fetches.setdefault(line, []).append(fetch)
        self.send(fetch, way)

    def send(self, request: MemoryRequest, way: Sink) -> None:
        self.sectors[request.app].sectors_fetched += request.sectors.bit_count()
        super().send(request, way)

    def wait(self, request: MemoryRequest, line: int, missing: int) -> None:
        """A request, which has its place in the MSHR of a line, waits for missing sectors."""
        self._needs.setdefault(line, []).append(missing)
        last = [fetch for fetch in self._fetches[line] if fetch.sectors & missing][-1]
        request.follow(last, self.bank.env._now)

    def fill(self, filled: MemoryRequest) -> None:
        bank, came = self.bank, filled.sectors
        line = filled.address >> bank.shift
        self._fetches[line].remove(filled)
        self._keep(line, came, filled.app)
        waiters, needs = bank.release(line), self._needs.pop(line)
        still: list[MemoryRequest] = []
        for waiter, need in zip(waiters, needs, strict=True):
            if need & ~came:
                still.append(waiter)
                self._needs.setdefault(line, []).append(need & ~came)
                continue
            if waiter.kind != _LOAD and waiter.kind != _WALK:
                self.modify(waiter, line, self.wanted(waiter))
            bank.answer(waiter, 0)
        if still:
            bank.mshrs.keep(line, still)
        else:
            del self._fetches[line]

    def warm(self, address: int, sectors: int, kind: int, app: int) -> None:
        """An access without a clock, as `L2Bank.warm`."""
        bank = self.bank
        line, place = address >> bank.shift, (address & self._line_mask) >> SECTOR_SHIFT
        wanted = self._touched[(sectors & SECTORS) << place]
        array = bank.arrays[app]
        if kind == _STORE:
            covered = self._covered[(sectors >> COVERED_SHIFT & SECTORS) << place]
            array.fill(line, covered | wanted << DIRTY_SHIFT)
            return
        if missing := array.missing(line, wanted):
            array.fill(line, missing)
        if kind != _LOAD and kind != _WALK:
            array.fill(line, wanted | wanted << DIRTY_SHIFT)

    def _keep(self, line: int, state: int, app: int) -> None:
        """Take sectors in; a dirty victim is written back."""
        victim = self.bank.arrays[app].fill(line, state)
        if victim is not None and (dirty := victim[1] >> DIRTY_SHIFT & SECTORS):
            self._evicted(victim[0], dirty, victim[1], app)

    def _evicted(self, line: int, dirty: int, state: int, app: int) -> None:
        """A line that was in this state has made room for another; it has dirty sectors."""
        self._write_back(line, dirty, app)

    def _write_back(self, line: int, dirty: int, app: int) -> None:
        """Send dirty sectors to DRAM; they count for the application that evicted them."""
        bank = self.bank
        bank.counters[app].writebacks += 1
        self.sectors[app].sectors_written_back += (dirty & SECTORS).bit_count()
        trail = [_L2, bank.env._now]
        address = line << bank.shift
        self.unsent.append(
            MemoryRequest(_WRITEBACK, app, 0, -1, 0, address, -1, dirty, 0, None, trail)
        )
        self.send_unsent()

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.sectors[app],)


@mypyc_attr(allow_interpreted_subclasses=True)
class SectoredL2Bank(L2Bank):
    """Looks up sectors; its misses are `SectoredMisses`."""

    def _serve(self, request: MemoryRequest) -> bool:
        misses = self.misses
        assert isinstance(misses, SectoredMisses)
        line = request.address >> self.shift
        wanted = misses.wanted(request)
        counters = self.counters[request.app]
        if request.kind == _STORE:
            hit = not misses.lacks(request, line, wanted)
            if not hit and len(misses.leaving) >= WRITEBACK_BUFFER:
                return False  # the bank is woken when DRAM has room
            misses.store(request, line, wanted)
            self.answer(request, self.latency)
            misses.sectors[request.app].claimed += not hit
        else:
            missing = self.arrays[request.app].missing(line, wanted)
            hit = not missing
            if hit:
                if request.kind != _LOAD and request.kind != _WALK:
                    misses.modify(request, line, wanted)
                self.answer(request, self.latency)
            elif not self._miss(misses, request, line, missing):
                return False
        counters.hits += hit
        counters.misses += not hit
        self._count_lookup(request, counters, hit)
        return True

    def warm(self, address: int, sectors: int, kind: int, app: int) -> None:
        assert isinstance(self.misses, SectoredMisses)
        self.misses.warm(address, sectors, kind, app)

    def _miss(
        self, misses: SectoredMisses, request: MemoryRequest, line: int, missing: int
    ) -> bool:
        """Wait for missing sectors, and fetch those that nobody has; False: not yet."""
        counters = self.counters[request.app]
        fetch = misses.unfetched(line, missing)
        way = misses.way(request)
        if fetch and way.full:
            return self._needs_way(counters, way)
        if self.mshrs.admit(line, request) == FULL:
            return self._needs_fill(counters)
        if fetch:
            misses.fetch(request, line, fetch, way)
        else:
            counters.merged += 1
        misses.wait(request, line, missing)
        return True
