"""The miss path of a virtual L2 bank: misses are translated, and may have lines of other names.

The forward–backward table stands between such a bank and memory (VC §4.1).  A miss waits in its
MSHR under its own name until the table lets it through, with the *leading* name of its line; then
the bank looks whether the line is there under that name, and fetches it if not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import attr
from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.engine import NEVER, Port, Sink
from gpusim.core.law import Law, laws_of
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.request import MemoryRequest, VirtualRequest, page_of_line
from gpusim.hardware.cache.array import DIRTY, READ_ONLY
from gpusim.hardware.cache.l2 import LOOKUPS, L2Bank, L2Counters, MissPath


@attr.s(auto_attribs=True)
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
    purge: Any


class Translator(Protocol):
    """The forward–backward table (see `gpusim.hardware.fbt.Fbt`).

    A miss that is sent to its entrance comes back, as soon as it may be let through, to the
    `grants` or the `replays` of its bank.
    """

    @property
    def entrance(self) -> Sink:
        """Where misses are sent."""

    def finished(self, request: VirtualRequest, fetched: bool) -> None:
        """A miss that was let through is answered, by a line that it fetched or that was there."""

    def evicted(self, line: int, dirty: bool, app: int, bank: TranslatedMisses) -> None:
        """A line is gone; if it is dirty, `bank` is told when it has been written back."""

    def wrote(self, line: int, request: VirtualRequest) -> None:
        """A store of `request` made a line dirty that is cached under the name `line`."""

    def done(self, purge: object, delay: int) -> None:
        """The bank has done what a message of the table asked for."""


@mypyc_attr(allow_interpreted_subclasses=True)
class TranslatedMisses(MissPath):
    """A miss is translated first; lines are named by address space and virtual line.

    Args:
        bank: whose misses they are; all its applications share one array.
        channel: see `MissPath`.
        table: lets misses through, and writes dirty lines back.
        lines_shift: lines of a page of the table, as a power of two.

    Attributes:
        replays: misses let through whose line is probably here under its leading name.
        grants: other misses let through.
        invalidations: lines that have to go.
    """

    laws: Sequence[Law] = laws_of(
        [L2Counters, VirtualL2Counters],
        LOOKUPS,
        Law("fills", "misses - merged - replays", other="misses neither merged nor replayed"),
    )

    def __init__(
        self,
        bank: L2Bank,
        channel: Callable[[int], Port[MemoryRequest]],
        table: Translator,
        lines_shift: int,
    ) -> None:
        super().__init__(bank, channel)
        self._table = table
        self._entrance = table.entrance
        self._lines_shift = lines_shift
        self.replays: Port[VirtualRequest] = Port(bank.env, f"{bank.name}.replays")
        self.second_lookups = self.replays
        self.virtual = True
        self.grants: Port[VirtualRequest] = Port(bank.env, f"{bank.name}.grants")
        self.invalidations: Port[Invalidation] = Port(bank.env, f"{bank.name}.invalidations")
        for port in (self.replays, self.grants, self.invalidations):
            port.connect(bank.process)
        self.counters = [VirtualL2Counters() for _ in bank.counters]
        self._fetching: dict[int, list[VirtualRequest]] = {}
        """By leading name: who waits for a line that comes from DRAM; the first one fetches it."""
        self._leaving: dict[int, list[VirtualRequest]] = {}
        """By the name of a dirty line: who waits to fetch it again."""
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

    def way(self, request: MemoryRequest) -> Sink:
        return self._entrance

    def send(self, request: MemoryRequest, way: Sink) -> None:
        way.send(request, self.bank.latency)

    def found(self, request: MemoryRequest, name: int) -> None:
        assert isinstance(request, VirtualRequest)
        request.leading = name
        if request.stores:
            request.writable = not self.bank.arrays[request.app].state(name) & READ_ONLY
            self._store(request)

    def _store(self, request: VirtualRequest) -> None:
        """Perform a store or an atomic on a line that is there, if its page allows it."""
        line, array = request.leading, self.bank.arrays[request.app]
        if not request.writable:
            self.counters[request.app].permission_faults += 1
            return
        if line != request.line or not array.state(line) & DIRTY:
            self._table.wrote(line, request)
        array.mark_dirty(line)

    # -- misses that were let through ------------------------------------------------------------

    def replay(self, request: VirtualRequest) -> None:
        """Answer a miss by the line under its leading name, or by that which is on its way."""
        bank, line = self.bank, request.leading
        if not bank.arrays[request.app].missing(line, bank.whole):
            self._finish(request, bank.latency)
        elif line in self._fetching:
            request.follow(self._fetching[line][0], bank.env._now)
            self._fetching[line].append(request)
        elif line in self._leaving:
            self._leaving[line].append(request)
        else:
            self._fetching[line] = [request]
            request.path.append(bank.fills)
            self.unsent.append(request)

    def fill(self, filled: MemoryRequest) -> None:
        assert isinstance(filled, VirtualRequest)
        bank, line = self.bank, filled.leading
        state = bank.whole if filled.cached_writable else bank.whole | READ_ONLY
        victim = bank.arrays[filled.app].fill(line, state)
        for request in self._fetching.pop(line):
            self._finish(request, 0, fetched=request is filled)
        if victim is not None:
            self._leave(victim[0], victim[1], filled.app)

    def _finish(self, request: VirtualRequest, delay: int, *, fetched: bool = False) -> None:
        """Answer a miss, whose line is there under its leading name, and all merged with it."""
        if not fetched:
            self.counters[request.app].replays += 1
        for waiter in self.bank.release(request.line):
            assert isinstance(waiter, VirtualRequest)
            waiter.name = waiter.line  # what its SM looked for was not there
            waiter.leading = request.leading
            waiter.writable = request.writable
            if waiter.stores:
                self._store(waiter)
            self.bank.answer(waiter, delay)
        self._table.finished(request, fetched)

    # -- lines that leave ------------------------------------------------------------------------

    def _leave(self, line: int, state: int, app: int) -> None:
        """Tell the table of a line that is gone, which finds its frame and writes it back."""
        dirty = bool(state & DIRTY)
        if dirty:
            self.bank.counters[app].writebacks += 1
            self._leaving[line] = []
        self._table.evicted(line, dirty, app, self)

    def written_back(self, line: int) -> None:
        """DRAM has taken a dirty line."""
        for request in self._leaving.pop(line):
            self.grants.send(request)
        self.bank.process.wake.now()

    def invalidate(self, lines: Sequence[int], page: int, purge: object, trip: int) -> None:
        """Take out some lines, or all of a page (-1: none), `trip` cycles from now."""
        self.invalidations.send(Invalidation(lines, page, purge), trip)

    def _invalidate(self, message: Invalidation) -> None:
        """Invalidate lines; the answer takes a cycle a lookup."""
        array = next(iter(self.bank.arrays.values()))
        lines, lookups = message.lines, len(message.lines)
        if message.page >= 0:
            lines = [line for line in array.lines() if self._page(line) == message.page]
            lookups = array.sets
        for line in lines:
            state = array.remove(line)
            if state:
                app = line >> ASID_SHIFT
                self.counters[app].invalidated += 1
                self._leave(line, state, app)
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
        return (self.counters[app],)
