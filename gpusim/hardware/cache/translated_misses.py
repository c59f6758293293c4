"""The miss path of a virtual L2 bank: misses are translated, and may have lines of other names.

The forward–backward table stands between such a bank and memory (VC §4.1).  A miss waits in its
MSHR under its own name until the table lets it through, with the *leading* name of its line; then
the bank looks whether its sectors are there under that name, and fetches those that are not.
Page-table reads have physical names and need none of this (`gpusim.hardware.cache.table_misses`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from gpusim.core.engine import NEVER, Port
from gpusim.core.interfaces import Route
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.mshr import FULL
from gpusim.core.request import Kind, MemoryRequest, VirtualRequest, page_of_line
from gpusim.core.states import State
from gpusim.core.unboxed import pair
from gpusim.core.warp_program import SECTOR_COUNTS, SECTORS
from gpusim.hardware.cache.array import DIRTY, DIRTY_SHIFT, READ_ONLY
from gpusim.hardware.cache.fetches import Fetches
from gpusim.hardware.cache.lines import SECTOR_SHIFT, Line
from gpusim.hardware.cache.miss_path import MissPath
from gpusim.hardware.cache.table_misses import PHYSICAL, TableMisses
from gpusim.hardware.cache.translator import Invalidation, Translator
from gpusim.hardware.cache.virtual_l2_counters import (
    ClaimCounters,
    VirtualL2Counters,
    virtual_laws,
)

if TYPE_CHECKING:
    from gpusim.hardware.cache.l2 import L2Bank

_STORE: Final = int(Kind.STORE)
_WALK: Final = int(Kind.WALK)
_L2: Final = int(State.L2)


@mypyc_attr(allow_interpreted_subclasses=True)
class TranslatedMisses(MissPath):
    """A miss is translated first; lines are named by address space and virtual line.

    All sectors that the requests in an MSHR want are fetched when the table has let it through; a
    request that wants others has to wait at the bank from then on [our choice].

    Args:
        bank, channel: see `MissPath`.
        table: lets misses through, and writes dirty lines back.
        lines_shift: lines of a page of the table, as a power of two.

    Attributes:
        replays: misses let through whose line is probably here under its leading name.
        grants: other misses let through.
        invalidations: lines that have to go.
    """

    def __init__(self, bank: L2Bank, channel: Route, table: Translator, lines_shift: int) -> None:
        super().__init__(bank, channel)
        self._table = table
        self._entrance = table.entrance
        self._lines_shift = lines_shift
        self.replays: Port[VirtualRequest] = Port(bank.env, f"{bank.name}.replays")
        self.second_lookups = self.replays
        self.virtual = True
        self.laws = virtual_laws(sectored=bank.lines.sectored)
        self.grants: Port[VirtualRequest] = Port(bank.env, f"{bank.name}.grants")
        self.invalidations: Port[Invalidation] = Port(bank.env, f"{bank.name}.invalidations")
        for port in (self.replays, self.grants, self.invalidations):
            port.connect(bank.process)
        self.counters = [VirtualL2Counters() for _ in bank.counters]
        self.claims = [ClaimCounters() for _ in bank.counters]
        self._on_use = bank.lines.signals.use
        self._tables = TableMisses(self)
        self._fetches = Fetches()
        """By leading names: fetches under way; the requests that wait have been let through."""
        self._fetched: dict[int, tuple[int, bool]] = {}
        """By own name of a miss let through: its sectors, and whether it has a fetch of its own."""
        self._leaving: dict[int, list[VirtualRequest]] = {}
        """By the name of a dirty line: misses that have to fetch it again."""
        self._written_back: dict[int, int] = {}
        """By the name of a dirty line: how often it is on its way to DRAM."""
        self.leaving = self._leaving

    def advance(self, answering: bool) -> int:
        """Invalidate lines, and take in misses let through, which may be answered at once."""
        if not answering:
            return NEVER
        grants, invalidations = self.grants, self.invalidations
        while (message := invalidations.take()) is not None:
            self._invalidate(message)
        while (granted := grants.take()) is not None:
            self.replay(granted)
        self.send_unsent()
        return min(grants.next_cycle(), invalidations.next_cycle())

    # -- lookups that had their outcome ----------------------------------------------------------

    def found(self, request: MemoryRequest, name: int, wanted: int) -> None:
        assert isinstance(request, VirtualRequest)
        request.leading = name
        if request.stores:
            writable = not self.bank.lines.arrays[request.app].state(name) & READ_ONLY
            request.writable = request.cached_writable = writable
            self._store(request)

    def miss(self, request: MemoryRequest, line: int, wanted: int, missing: int) -> bool:
        if request.kind == _WALK:
            return self._tables.miss(request, line, missing)
        assert isinstance(request, VirtualRequest)
        bank, app = self.bank, request.app
        if self._claims(request) and bank.lines.arrays[app].state(request.name):
            self.found(request, request.name, wanted)
            bank.answer(request, bank.latency)
            self.claims[app].claimed_in_place += 1
            return True
        mshrs, entrance = bank.mshrs, self._entrance
        merges = mshrs.merges(line)
        if not merges and entrance.full:
            return bank.wait_for(entrance, request)
        if merges and self._comes_late(request, line, wanted):
            return bank.wait_for_fill(request, merges)
        if mshrs.admit(line, request) == FULL:
            return bank.wait_for_fill(request, merges)
        if merges:
            bank.counters[app].merged += 1
            request.follow(mshrs.first(line), bank.env._now)
        else:
            entrance.send(request, bank.latency)
        return True

    def _claims(self, request: VirtualRequest) -> bool:
        """Whether a request is a store that fetches nothing."""
        return request.kind == _STORE and self.bank.lines.sectored

    def _comes_late(self, request: VirtualRequest, line: int, wanted: int) -> bool:
        """Whether a miss wants what the one before it in its MSHR has not fetched."""
        fetched = self._fetched.get(line)
        return fetched is not None and wanted & ~fetched[0] != 0 and not self._claims(request)

    # -- misses that were let through ------------------------------------------------------------

    def replay(self, request: VirtualRequest) -> None:
        """Answer a miss by the line under its leading name, or by what is on its way."""
        bank, name = self.bank, request.leading
        array = bank.lines.arrays[request.app]
        wanted = self._wanted(bank.mshrs.waiting(request.line))
        missing = array.missing(name, wanted)
        if not missing and self._on_use.listeners and array.state(name):
            self._on_use(name, bank.env._now)
        if name in self._leaving and (missing or not array.state(name)):
            self._leaving[name].append(request)
            return
        fetch = self._fetches.lacking(name, missing)
        self._fetched[request.line] = wanted, fetch != 0
        if fetch:
            self._fetch(request, fetch)
        if missing:
            self._fetches.wait(name, missing, request, bank.env._now)
        else:
            self._finish(request, bank.latency)

    def _wanted(self, waiting: list[MemoryRequest]) -> int:
        """The sectors that misses of one line have to have."""
        lines, wanted = self.bank.lines, 0
        for request in waiting:
            if request.kind != _STORE or not lines.sectored:
                assert isinstance(request, VirtualRequest)
                wanted |= lines.touched[(request.sectors & SECTORS) << request.place]
        return wanted

    def _fetch(self, request: VirtualRequest, sectors: int) -> None:
        """Ask DRAM for sectors of a line; where that is all of it, by the request that misses."""
        bank, bringer = self.bank, request
        if bank.lines.sectored:
            bringer = VirtualRequest(
                request.kind,
                request.app,
                request.asid,
                request.sm,
                request.tag,
                request.address,
                request.vline,
                sectors,
                request.depth,
                request.access,
                pair(_L2, bank.env._now),
            )
            bringer.line = request.line
            bringer.leading = request.leading
            bringer.cached_writable = request.cached_writable
            bringer.page = request.page
        self._fetches.begin(request.leading, sectors, bringer)
        self.sectors[request.app].sectors_fetched += SECTOR_COUNTS[sectors]
        bringer.return_to(bank.fills)
        self.unsent.append(bringer)
        self.send_unsent()

    def fill(self, filled: MemoryRequest) -> None:
        if filled.kind == _WALK:
            self._tables.fill(filled)
            return
        assert isinstance(filled, VirtualRequest)
        lines, name, app = self.bank.lines, filled.leading, filled.app
        came, ready, _ = self._fetches.arrive(name, filled)
        if not lines.arrays[app].state(name):
            self._table.filled(filled)
        victim = lines.keep(name, came | _flags(filled), app)
        for request in ready:
            assert isinstance(request, VirtualRequest)
            self._finish(request, 0)
        if victim[1]:
            self.leave(victim, app)

    def _finish(self, request: VirtualRequest, delay: int) -> None:
        """Answer a miss, whose sectors are there under its leading name, and all merged with it."""
        name, array = request.leading, self.bank.lines.arrays[request.app]
        _, fetched = self._fetched.pop(request.line)
        self.counters[request.app].replays += not fetched
        claimed = not array.state(name)
        for waiter in self.bank.release(request.line):
            assert isinstance(waiter, VirtualRequest)
            waiter.name = waiter.line  # what its SM looked for was not there
            waiter.leading = name
            waiter.writable = request.writable
            waiter.cached_writable = request.cached_writable
            if waiter.stores:
                self._store(waiter)
            self.bank.answer(waiter, delay)
        if claimed and array.state(name):
            self._table.filled(request)
        self._table.finished(request)

    def _store(self, request: VirtualRequest) -> None:
        """Perform a store or an atomic, if its page allows it; a claiming store brings its line."""
        name, lines, app = request.leading, self.bank.lines, request.app
        if not request.writable:
            self.counters[app].permission_faults += 1
            return
        array = lines.arrays[app]
        wanted = lines.touched[(request.sectors & SECTORS) << request.place]
        if name != request.line or not array.state(name) & DIRTY:
            self._table.wrote(name, request)
        if not self._claims(request):
            array.mark(name, wanted | wanted << DIRTY_SHIFT)
            return
        self.sectors[app].claimed += lines.lacks(name, wanted, app) != 0
        begin = request.place << SECTOR_SHIFT
        stored = lines.stored(name, begin, request.sectors, app) | _flags(request)
        victim = lines.keep(name, stored, app)
        if victim[1]:
            self.leave(victim, app)

    # -- lines that leave ------------------------------------------------------------------------

    def leave(self, gone: Line, app: int) -> None:
        """Tell the table of a line that is gone, which finds its frame and writes it back."""
        name, dirty = gone[0], self.bank.lines.dirty(gone)
        if name & PHYSICAL:
            return
        if dirty:
            self.bank.counters[app].writebacks += 1
            self.sectors[app].sectors_written_back += SECTOR_COUNTS[dirty & SECTORS]
            self._leaving.setdefault(name, [])
            self._written_back[name] = self._written_back.get(name, 0) + 1
        self._table.evicted(name, dirty, app, self)

    def written_back(self, line: int) -> None:
        """DRAM has taken a dirty line."""
        self._written_back[line] -= 1
        if not self._written_back[line]:
            del self._written_back[line]
            for request in self._leaving.pop(line):
                self.grants.send(request)
        self.bank.process.wake.now()

    def invalidate(self, lines: Sequence[int], page: int, purge: object, trip: int) -> None:
        """Take out some lines, or all of a page (-1: none), `trip` cycles from now."""
        self.invalidations.send(Invalidation(lines, page, purge), trip)

    def _invalidate(self, message: Invalidation) -> None:
        """Invalidate lines; the answer takes a cycle a lookup."""
        stored, lines, lookups = self.bank.lines, message.lines, len(message.lines)
        if message.page >= 0:
            array = stored.arrays[message.page >> ASID_SHIFT]
            lines = [line for line in array.lines() if self._page(line) == message.page]
            lookups = array.sets
        for line in lines:
            app = line >> ASID_SHIFT
            state = stored.remove(line, app)
            if state:
                self.counters[app].invalidated += 1
                self.leave((line, state), app)
        self._table.done(message.purge, lookups)

    def _page(self, line: int) -> int:
        return page_of_line(line, self._lines_shift)

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        return len(self.replays) + len(self._leaving) + len(self.grants)

    def waiting(self) -> Iterator[str]:
        name, mshrs = self.bank.name, self.bank.mshrs
        if self.replays:
            yield f"{name}: {len(self.replays)} replays queue"
        if mshrs:
            yield (
                f"{name}: {len(mshrs)} of {mshrs.capacity} MSHRs wait for their translation or "
                f"for DRAM, {len(self.unsent)} of them for room in its queue"
            )
        if self._leaving:
            yield f"{name}: {len(self._leaving)} write-backs wait for the table or for DRAM"

    def app_counters(self, app: int) -> Iterable[object]:
        yield self.counters[app]
        if self.bank.lines.sectored:
            yield self.claims[app]
        yield from super().app_counters(app)


def _flags(request: VirtualRequest) -> int:
    """What a line is beside its sectors that comes for a request, or is claimed by it."""
    return 0 if request.cached_writable else READ_ONLY
