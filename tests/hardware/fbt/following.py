"""Follows data values through a machine with virtual caches, and checks all that is read.

The simulator carries no data, so each store makes a new version of its physical sectors here.  A
version lives in memory, in the L2 cache, on its way back to memory, and in L1 caches, wherever the
machine says that the sector is.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from gpusim.core.engine import Port
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK
from gpusim.core.request import VirtualRequest, line_in_page, page_of_line
from gpusim.core.warp_program import SECTOR_BYTES, SECTORS
from gpusim.hardware.cache import L1Cache, L2Bank
from gpusim.hardware.cache.table_misses import PHYSICAL
from gpusim.hardware.fbt import Fbt
from gpusim.hardware.sm.warp import WarpAccess
from gpusim.machine import Machine
from tests.hardware.fbt.following_bank import follow_bank

Copy = tuple[int, dict[int, int]]
"""Physical line, and the versions of its sectors that are there."""


class History:
    """What a page was, and until when an access may still have seen it so."""

    def __init__(self, value: Any) -> None:
        self.states: list[list[Any]] = [[value, 1 << 62]]

    def change(self, value: Any) -> Any:
        """From now on it is `value`; returns whom to tell when the old state is gone."""
        before = self.states[-1]
        self.states.append([value, 1 << 62])

        def gone(now: int) -> None:
            before[1] = min(before[1], now)

        return gone

    def since(self, issued: int) -> list[Any]:
        """What an access that was issued in this cycle may see."""
        return [value for value, until in self.states if until > issued]


def _issued(request: VirtualRequest) -> int:
    access = request.access
    assert isinstance(access, WarpAccess)
    return access.issued


class Follower:
    """Listens to a machine from its begin, changes its page table, and checks.

    Attributes:
        reads, writes: how many were checked.
        renamed: how many of the reads were answered by the L2 cache under another name.
        unanswered: shootdowns that have not ended.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.fbt: Fbt = machine.fbts[0]
        self.line_shift = machine.config.l2.line.bit_length() - 1
        self.page_shift = machine.config.memory.page.bit_length() - 1 - self.line_shift
        self.parts_shift = self.line_shift - (machine.config.l1.line.bit_length() - 1)
        self.grain = self.fbt.lines_shift
        self.sectors = range(machine.config.l2.line // SECTOR_BYTES)
        self.memory: dict[tuple[int, int], int] = {}
        self.latest: dict[tuple[int, int], int] = {}
        self.l2: dict[int, Copy] = {}
        self.leaving: dict[int, list[Copy]] = {}
        self.answers: dict[int, tuple[VirtualRequest, Copy]] = {}
        self.frames: dict[int, History] = {}
        self.writable: dict[int, History] = {}
        self.version = 0
        self.reads = self.writes = self.renamed = self.unanswered = 0
        for bank in machine.systems[0].banks:
            follow_bank(self, bank)
            self._follow_lookups(bank)
        for l1 in machine.l1s:
            self._follow_l1(l1)
        for sm in machine.sms:
            self._note_issue(sm.lsu)

    # -- what the operating system does ----------------------------------------------------------

    def remap(self, tag: int, pfn: int | None = None) -> None:
        """Map a page elsewhere, and shoot it down."""
        history = self._frames(tag)
        gone = history.change(self.machine.page_table.remap(*self._split(tag), pfn))
        self._shoot_down(tag, gone)

    def protect(self, tag: int, writable: bool) -> None:
        """Change a permission, and shoot the page down."""
        gone = self.writable_of(tag).change(writable)
        self.machine.page_table.protect(*self._split(tag), writable=writable)
        self._shoot_down(tag, gone)

    def shoot_down_all(self) -> None:
        """Forget everything."""
        self._shoot_down(None, lambda _now: None)

    def probe(self, tag: int, number: int) -> None:
        """A CPU takes a line, changes it and gives it back."""
        frame = self.machine.page_table.translate(*self._split(tag))
        line = frame << self.page_shift | number

        def taken() -> None:
            now_cached = [name for name, (where, _) in self.l2.items() if where == line]
            assert not now_cached, "the CPU has a line that is still in the L2 cache"
            assert line not in self.leaving_lines()
            self.version += 1
            for sector in self.sectors:
                place = line, sector
                assert self.memory.get(place, 0) == self.latest.get(place, 0)
                self.memory[place] = self.latest[place] = self.version

        # Between the answer and the CPU's store the GPU may fetch the line again, which a real
        # directory orders; here the CPU stores at once.
        self.fbt.purges.probe(line << self.line_shift, taken)

    def _shoot_down(self, tag: int | None, gone: Any) -> None:
        self.unanswered += 1

        def done() -> None:
            self.unanswered -= 1
            gone(self.machine.env.now)

        self.fbt.shootdowns.begin(tag, done)

    def _split(self, tag: int) -> tuple[int, int]:
        return tag >> ASID_SHIFT, tag & VPN_MASK

    def _frames(self, tag: int) -> History:
        if tag not in self.frames:
            self.frames[tag] = History(self.machine.page_table.translate(*self._split(tag)))
        return self.frames[tag]

    def writable_of(self, tag: int) -> History:
        return self.writable.setdefault(tag, History(True))

    # -- what the machine does -------------------------------------------------------------------

    def those(self, mask: int) -> list[int]:
        """The sectors in a mask."""
        return [sector for sector in self.sectors if mask >> sector & 1]

    def left(self) -> Iterator[Copy]:
        """What is on its way back to memory."""
        for copies in self.leaving.values():
            yield from copies

    def leaving_lines(self) -> list[int]:
        """Physical lines that are."""
        return [where for where, _ in self.left()]

    def _follow_lookups(self, bank: L2Bank) -> None:
        serve, take_replays = bank._serve, bank._take_replays
        ports = self.machine.config.l2.ports
        served = [-1, 0]  # cycle, how many in it

        def note_served(went: int) -> None:
            if served[0] != self.machine.env.now:
                served[:] = self.machine.env.now, 0
            served[1] += went
            assert served[1] <= ports, "more lookups and replays in a cycle than ports"

        def follow_serve(request: VirtualRequest) -> bool:
            went = serve(request)
            note_served(went)
            return went

        def follow_replays(replays: Port[VirtualRequest]) -> int:
            before = len(replays)
            upcoming = take_replays(replays)
            note_served(before - len(replays))
            return upcoming

        bank._serve, bank._take_replays = follow_serve, follow_replays  # type: ignore[assignment,method-assign]

    def _follow_l1(self, l1: L1Cache) -> None:
        copies: dict[int, Copy] = {}
        fill = l1.fill

        def follow_fill(filled: VirtualRequest) -> None:
            _, copy = self.answers.pop(id(filled))
            renamed = filled.name != filled.line
            waiting = {key: l1._mshrs.waiting(key) for key in l1._mshrs.outstanding()}
            fill(filled)
            for key in waiting.keys() - set(l1._mshrs.outstanding()):
                for waiter in waiting[key]:
                    self.check_frame(waiter, copy[0], _issued(waiter))
            if renamed and filled.leading >= 0:
                self.renamed += 1
                self.check_frame(filled, copy[0], self.machine.env.now)
            if l1.array.state(self.part(filled)):
                copies[self.part(filled)] = copy

        acknowledged = l1.acknowledged

        def follow_acknowledged(stored: VirtualRequest) -> None:
            _, copy = self.answers.pop(id(stored))
            acknowledged(stored)
            if l1.array.state(self.part(stored)):
                copies[self.part(stored)] = copy

        l1.fill = follow_fill  # type: ignore[assignment,method-assign]
        l1.acknowledged = follow_acknowledged  # type: ignore[assignment,method-assign]
        l1.copies = copies  # type: ignore[attr-defined]

    def part(self, request: VirtualRequest) -> int:
        """The line of an L1 cache under which a request's part of its leading line is kept."""
        own = request.vline & (1 << self.parts_shift) - 1
        return line_in_page(request.leading, own, self.parts_shift)

    def _note_issue(self, lsu: Any) -> None:
        lookup = lsu.l1.lookup
        synonyms = lsu.l1.leading.synonyms

        def follow_lookup(line: int, sectors: int, app: int) -> bool:
            hit = bool(lookup(line, sectors, app))
            if hit:
                self.reads += 1
                name = line if synonyms is None else synonyms.name(line)
                where, _ = lsu.l1.copies[name]
                page = page_of_line(line, self.page_shift + self.parts_shift)
                allowed = self._frames(page).since(lsu._accesses[0].issued)  # it starts that one
                assert where >> self.page_shift in allowed, "an L1 cache hits a stale line"
            return hit

        lsu.l1.lookup = follow_lookup

    def check_frame(self, request: VirtualRequest, line: int, since: int) -> None:
        """A line is in a frame that the page of a request had in the cycle `since` or later."""
        allowed = self._frames(request.tag).since(since)
        assert line >> self.page_shift in allowed, "a stale translation"
        mask = (1 << self.page_shift) - 1
        assert line & mask == request.vline >> self.parts_shift & mask

    # -- what must hold in every cycle -----------------------------------------------------------

    def watch(self, every: int) -> Generator[int, None, None]:
        """Check the invariants every `every` cycles, as a process."""
        while self.machine.in_flight():
            self.check()
            yield every

    def check(self) -> None:
        """The invariants of tables, caches and filters."""
        table = self.fbt.table
        pages = list(table.pages())
        assert len({page.leading for page in pages}) == len(pages)
        assert sum(map(len, table._forward)) == len(pages)
        for page in pages:
            assert table.forward(page.leading) is page
        lines = [where for where, _ in self.l2.values()]
        assert len(set(lines)) == len(lines), "a line under two names"
        states = {
            line: array.state(line)
            for bank in self.machine.systems[0].banks
            for array in dict.fromkeys(bank.arrays.values())
            for line in array.lines()
            if not line & PHYSICAL
        }
        assert states.keys() == self.l2.keys()
        for name, state in states.items():
            assert self.l2[name][1].keys() >= set(self.those(state & SECTORS))
        mask = (1 << self.grain) - 1
        for name, (line, _) in self.l2.items():
            found = table.forward(page_of_line(name, self.grain))
            assert found is not None, "a line without its page"
            assert found.frame == line >> self.grain
            assert found.users or table.may_hold(found, name & mask)
        for l1 in self.machine.l1s:
            counts: dict[int, int] = {}
            assert l1.leading is not None
            for line in l1.array.lines():
                name = page_of_line(line, self.grain + self.parts_shift)
                counts[name] = counts.get(name, 0) + 1
                assert table.forward(name) is not None, "an L1 line without its page"
            assert counts == l1.leading.filter._lines

    def check_end(self) -> None:
        """What must hold when everything has drained."""
        self.check()
        assert not self.unanswered
        assert not self.leaving
        assert not self.fbt._waiting
        assert not self.fbt.shootdowns.in_flight()
        for page in self.fbt.table.pages():
            assert not page.locked
            assert not page.users
            mask = (1 << self.grain) - 1
            here = [n & mask for n in self.l2 if page_of_line(n, self.grain) == page.leading]
            if self.fbt.table.vector:
                assert sum(1 << number for number in here) == page.lines
            else:
                assert len(here) == page.lines
