"""The miss path of a physical L2 bank: sectors come from DRAM or from a line's home.

Dirty sectors go back to DRAM, when their line leaves or at once.  One MSHR of a line follows all
its sectors; a miss fetches those that are not on their way for another one.  Where lines are
fetched whole, the request that misses first is itself what DRAM is asked for; a part of a line is
asked for by a request of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from gpusim.core.engine import NEVER, Sink
from gpusim.core.interfaces import Route
from gpusim.core.law import Law, laws_of
from gpusim.core.mshr import FULL
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.core.unboxed import pair
from gpusim.core.warp_program import COVERED_SHIFT, SECTOR_COUNTS, SECTORS
from gpusim.hardware.cache.array import DIRTY, DIRTY_SHIFT
from gpusim.hardware.cache.fetches import Fetches
from gpusim.hardware.cache.homes import Homes
from gpusim.hardware.cache.l2_counters import (
    LOOKUPS,
    L2Counters,
    PartialCounters,
    SectorCounters,
)
from gpusim.hardware.cache.lines import Line
from gpusim.hardware.cache.miss_path import MissPath
from gpusim.hardware.cache.sector_places import MERGE_LIST, ROOM

if TYPE_CHECKING:
    from gpusim.hardware.cache.l2 import L2Bank

_LOAD: Final = int(Kind.LOAD)
_STORE: Final = int(Kind.STORE)
_WALK: Final = int(Kind.WALK)
_WRITEBACK: Final = int(Kind.WRITEBACK)
_L2: Final = int(State.L2)

WRITEBACK_BUFFER: Final = 8
"""Dirty lines that wait for DRAM before a bank stops taking fills [our choice]."""


@mypyc_attr(allow_interpreted_subclasses=True)
class DramMisses(MissPath):
    """A miss fetches its sectors; dirty sectors of a victim are written back.

    Args:
        bank, channel: see `MissPath`.
        homes: makes what knows where lines are at home.
    """

    def __init__(
        self, bank: L2Bank, channel: Route, homes: Callable[[L2Bank, Route], Homes] = Homes
    ) -> None:
        super().__init__(bank, channel)
        self.homes = homes(bank, channel)
        self.second_lookups = self.homes.asked
        self.shared = self.homes.asked is not None
        self.leaving = self.unsent  # fetches always find room
        self._fills_partial = bank.fills_partial
        self.laws = _laws(self.homes, sectored=bank.lines.sectored, partial=bank.fills_partial)
        self._fetches = Fetches()
        self._partial = [PartialCounters() for _ in bank.counters]
        self._filled_first: dict[MemoryRequest, int] = {}
        """By the read of what stores have not written of a line that leaves: its dirty sectors."""
        self._through = bank.through

    def advance(self, answering: bool) -> int:
        """Write back lines for which there was no room, which needs no answer."""
        self.send_unsent()
        return NEVER

    # -- lookups that had their outcome ----------------------------------------------------------

    def found(self, request: MemoryRequest, name: int, wanted: int) -> None:
        lines, app = self.bank.lines, request.app
        if request.kind == _STORE and lines.sectored:
            self._store(request, name)
            return
        if self._through:
            self._write((name, wanted | wanted << DIRTY_SHIFT), app)
        else:
            lines.arrays[app].mark(name, wanted << DIRTY_SHIFT)
        self.homes.changed(name, app)

    def miss(self, request: MemoryRequest, line: int, wanted: int, missing: int) -> bool:
        bank = self.bank
        if request.kind == _STORE and bank.lines.sectored:
            if len(self.leaving) >= WRITEBACK_BUFFER:
                return False  # the bank is woken when DRAM has room
            self._store(request, line)
            bank.answer(request, bank.latency)
            self.sectors[request.app].claimed += 1
            return True
        fetch = self._fetches.lacking(line, missing)
        way: Sink | None = None
        if fetch:
            way = self.homes.way(request) if self.shared else self.channel.port(request.address)
        if way is not None and way.full:
            return bank.wait_for(way, request)
        places = bank.places
        if places is not None and (full := places.full(line, missing)) != ROOM:
            return bank.wait_for_fill(request, full == MERGE_LIST)
        if bank.mshrs.admit(line, request) == FULL:
            return bank.wait_for_fill(request, bank.mshrs.holds(line))
        if places is not None:
            places.take(line, missing)
        if way is not None:
            self._fetch(request, line, fetch, way)
        else:
            bank.counters[request.app].merged += 1
        self._fetches.wait(line, missing, request, bank.env._now)
        return True

    def replay(self, request: MemoryRequest) -> None:
        """Look up what another partition or GPU asks for; it is fetched if it is not here."""
        bank, app, now = self.bank, request.app, self.bank.env._now
        lines = bank.lines
        line = request.address >> lines.shift
        request.trail.append(_L2)
        request.trail.append(now)
        wanted = lines.wanted(request.address, request.sectors)
        missing = lines.arrays[app].missing(line, wanted)
        fetch = self._fetches.lacking(line, missing)
        self.homes.looked_up(app, missing != 0, missing != 0 and not fetch)
        if not missing:
            if lines.signals.use.listeners:
                lines.signals.use(line, now)
            bank.answer(request, bank.latency)
            return
        bank.mshrs.join(line, request)
        if bank.places is not None:
            bank.places.take(line, missing)
        if fetch:
            self._fetch(request, line, fetch, self.channel.port(request.address))
        self._fetches.wait(line, missing, request, now)

    # -- what comes ------------------------------------------------------------------------------

    def _fetch(self, request: MemoryRequest, line: int, sectors: int, way: Sink) -> None:
        """Ask for sectors of a line; the lookup of the request takes the bank's latency."""
        bank = self.bank
        bringer = request
        if bank.lines.sectored:
            bringer = MemoryRequest(
                request.kind,
                request.app,
                request.asid,
                request.sm,
                request.tag,
                line << bank.lines.shift,
                -1,
                sectors,
                request.depth,
                request.access,
                pair(_L2, bank.env._now),
            )
        self._fetches.begin(line, sectors, bringer)
        back = self.homes.back(way) if self.shared else bank.fills
        if back is bank.fills:
            self.sectors[request.app].sectors_fetched += SECTOR_COUNTS[sectors]
        bringer.return_to(back)
        way.send(bringer, bank.latency)

    def fill(self, filled: MemoryRequest) -> None:
        bank, lines = self.bank, self.bank.lines
        if self._fills_partial and (dirty := self._filled_first.pop(filled, 0)):
            self._write_back(filled.address, dirty, filled.app)
            return
        line = filled.address >> lines.shift
        came, ready, still = self._fetches.arrive(line, filled)
        state = came
        for request in ready:
            if request.kind != _LOAD and request.kind != _WALK:
                wanted = lines.wanted(request.address, request.sectors)
                state |= wanted | wanted << DIRTY_SHIFT
        if self.shared:
            self.homes.came(filled)
        self._keep(line, state, filled.app)
        bank.release(line)
        if bank.places is not None:
            bank.places.give_back(line, came)
        if still:
            bank.mshrs.keep(line, still)
        for request in ready:
            bank.answer(request, 0)

    # -- what is changed, and what leaves --------------------------------------------------------

    def _store(self, request: MemoryRequest, line: int) -> None:
        """Perform a store that fetches nothing, whatever is there."""
        app = request.app
        state = self.bank.lines.stored(line, request.address, request.sectors, app)
        self._keep(line, state, app)

    def _keep(self, line: int, state: int, app: int) -> None:
        """Add to the state of a line; copies of one that is changed are gone."""
        changed = state & DIRTY
        if changed and self._through:
            self._write((line, state), app)
            state &= ~DIRTY
        if state:
            victim = self.bank.lines.keep(line, state, app)
            if victim[1] & DIRTY:
                self._write(victim, app)
        if changed:
            self.homes.changed(line, app)

    def _write(self, written: Line, app: int) -> None:
        """Write what is dirty of a line to DRAM.

        If it has made room for another one, that one's application counts it.
        """
        bank = self.bank
        dirty = bank.lines.dirty(written)
        address = written[0] << bank.lines.shift
        partial = dirty >> COVERED_SHIFT & SECTORS if self._fills_partial else 0
        if not partial:
            self._write_back(address, dirty, app)
            return
        trail = pair(_L2, bank.env._now)
        read = MemoryRequest(_LOAD, app, 0, -1, 0, address, -1, partial, 0, None, trail)
        read.return_to(bank.fills)
        self._filled_first[read] = dirty & SECTORS
        self._partial[app].partial_lines += 1
        self._partial[app].partial_sectors += SECTOR_COUNTS[partial]
        self.sectors[app].sectors_fetched += SECTOR_COUNTS[partial]
        self.unsent.append(read)
        self.send_unsent()

    def _write_back(self, address: int, dirty: int, app: int) -> None:
        """Write sectors of a line to DRAM."""
        bank = self.bank
        bank.counters[app].writebacks += 1
        self.sectors[app].sectors_written_back += SECTOR_COUNTS[dirty & SECTORS]
        trail = pair(_L2, bank.env._now)
        self.unsent.append(
            MemoryRequest(_WRITEBACK, app, 0, -1, 0, address, -1, dirty, 0, None, trail)
        )
        self.send_unsent()

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        asked = self.homes.asked
        asked_now = 0 if asked is None else len(asked)
        return len(self.unsent) + len(self._filled_first) + asked_now

    def waiting(self) -> Iterator[str]:
        name, mshrs = self.bank.name, self.bank.mshrs
        if mshrs and self.bank.places is None:
            yield f"{name}: {len(mshrs)} of {mshrs.capacity} MSHRs wait for DRAM"
        elif mshrs:
            yield f"{name}: {self.bank.places} wait for DRAM"
        if self.unsent:
            yield f"{name}: {len(self.unsent)} write-backs wait for DRAM"
        if self._filled_first:
            yield f"{name}: {len(self._filled_first)} lines wait for DRAM before they are written"

    def app_counters(self, app: int) -> Iterable[object]:
        yield from super().app_counters(app)
        if self._fills_partial:
            yield self._partial[app]
        yield from self.homes.app_counters(app)


def _laws(homes: Homes, *, sectored: bool, partial: bool) -> tuple[Law, ...]:
    """Between the counters of a bank: what it fetches, and what has come."""
    counted: list[type] = [L2Counters, *homes.counted]
    if not sectored and not homes.fetches:
        fills = Law("fills", "misses - merged", other="misses that were not merged")
        return laws_of(counted, LOOKUPS, fills)
    claimed = ""
    if sectored:
        counted.append(SectorCounters)
        claimed = " - claimed"
    if partial:
        counted.append(PartialCounters)
        claimed += " + partial_lines"
    asked = ", of its own and asked by others" if homes.fetches else ""
    fills = Law(
        "fills",
        f"misses - merged{claimed}{homes.fetches}",
        other=f"misses that fetched something{asked}",
    )
    return laws_of(counted, LOOKUPS, fills)
