"""The process in the IOMMU through which all misses of virtual L2 caches go (VC §4.1)."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

from mypy_extensions import mypyc_attr

from gpusim.core.component import Component
from gpusim.core.engine import NEVER, Port, Probe
from gpusim.core.interfaces import Route
from gpusim.core.law import Law, laws_of
from gpusim.core.mapping import VPN_MASK, Mapping
from gpusim.core.request import (
    Translation,
    VirtualRequest,
    line_in_page,
    page_of_line,
)
from gpusim.hardware.fbt.entrance import Entrance
from gpusim.hardware.fbt.inputs import FbtCounters, Holder, Miss, Permissions, VirtualBank
from gpusim.hardware.fbt.purge import L1, Purges
from gpusim.hardware.fbt.shootdowns import Shootdowns
from gpusim.hardware.fbt.site import FbtSite
from gpusim.hardware.fbt.table import ForwardBackwardTable, Page
from gpusim.hardware.fbt.write_backs import WriteBacks, WrittenLine


@mypyc_attr(allow_interpreted_subclasses=True)
class Fbt(Component):
    """Lets misses through, under the leading names of their lines.

    A miss goes from its L2 bank to the TLBs and, translated, looks for its frame here: if the
    frame is unknown its page becomes the leading one; if that is another page, the miss is a
    synonym.  What a lookup decides takes effect `latency` cycles later.  No miss is let through to
    a page that is being purged, and a translation that a shootdown overtook is asked for again.

    Args:
        site: where it stands.
        table: its entries.
        permissions: the page table.
        channel: DRAM channel of an address, for write-backs.
    """

    name = "fbt"
    path = "fbt"
    laws: Sequence[Law] = laws_of(
        [FbtCounters],
        Law("lookups", "leading + synonyms + waits", other="misses that were let through + waits"),
    )

    def __init__(
        self,
        site: FbtSite,
        table: ForwardBackwardTable,
        permissions: Permissions,
        channel: Route,
    ) -> None:
        env = self.env = site.env
        self.instance = site.index
        self.latency = site.config.latency.cycles(site.clock)
        self.trip = site.trip
        self.table = table
        self._tlb_state = site.tlb_state
        self.counters = [FbtCounters() for _ in range(site.apps)]
        self.on_fault: Probe[[int, int, int, int]] = Probe()
        """Cycle, application, tagged line of a read-write synonym, its tagged leading line."""
        self.lines_shift = site.lines_shift
        self._line_mask = (1 << site.lines_shift) - 1
        self._sub_shift = site.page_lines_shift - site.lines_shift
        self._line_bytes = site.line_bytes
        self._home = site.home
        self._permissions = permissions
        self._fbt_state = site.fbt_state
        self._banks: Sequence[VirtualBank] = ()
        self._translated: Port[Miss] = Port(env, "fbt.translated")
        self._notices: Port[tuple[Any, ...]] = Port(env, "fbt.notices", self.trip)
        self._timers: Port[tuple[Any, ...]] = Port(env, "fbt.timers")
        self._again: deque[Miss] = deque()
        self._waiting: dict[int, list[Miss]] = {}
        """By frame of the page that has to be unlocked or gone first."""
        self.purges = Purges(site, table, self._timers, self._released)
        self.shootdowns = Shootdowns(self.table, self._sub_shift, self.purges)
        self.entrance = Entrance(env, self.shootdowns, self._translated, site.tlb_state)
        self._write_backs = WriteBacks(env, self.latency, channel, self.purges)
        self.process = env.start(self._run())
        for port in (self._translated, self._notices, self._timers, self._write_backs.port):
            port.connect(self.process)

    def connect(
        self,
        holders: Sequence[Holder],
        first: Port[Translation],
        banks: Sequence[VirtualBank],
        l1s: Sequence[L1],
    ) -> None:
        """Introduce all that hold translations, the port of the first TLB, and the caches."""
        self.shootdowns.holders = holders
        self.entrance.tlb = first
        self._banks = self.purges.banks = banks
        self.purges.l1s = l1s

    # -- what the L2 banks call ------------------------------------------------------------------

    def filled(self, request: VirtualRequest) -> None:
        """Hear, after the trip, that the line of a miss is cached."""
        self._notices.send((self._filled, request))

    def finished(self, request: VirtualRequest) -> None:
        """Hear, after the trip, that a miss is answered."""
        self._notices.send((self._finished, request))

    def evicted(self, line: int, dirty: int, app: int, bank: VirtualBank) -> None:
        """Take the notice, after the trip, that a line has gone, and which sectors were dirty."""
        self._notices.send((self._evicted, line, dirty, app, bank))

    def wrote(self, line: int, request: VirtualRequest) -> None:
        """Take the notice, after the trip, of a store to a clean line, or one with another name."""
        self._notices.send((self._wrote, line, request))

    def done(self, purge: object, delay: int) -> None:
        """Take the notice, after the trip and `delay`, that a bank has done an invalidation."""
        self._notices.send((self.purges.done_with, purge), delay)

    # -- the process -----------------------------------------------------------------------------

    def _run(self) -> Generator[int | None, None, None]:
        notices, timers, translated = self._notices, self._timers, self._translated
        write_backs = self._write_backs
        while True:
            while notices.queue and (notice := notices.take()) is not None:
                notice[0](*notice[1:])
            while timers.queue and (timer := timers.take()) is not None:
                timer[0](*timer[1:])
            while translated.queue and (miss := translated.take()) is not None:
                self._look_up(miss)
            self._ask_again()
            blocking = write_backs.send()
            upcoming = min(notices.next_cycle(), timers.next_cycle(), translated.next_cycle())
            if blocking is None:
                upcoming = min(upcoming, write_backs.port.next_cycle())
            else:
                blocking.when_free(self.process.wake)
            yield None if upcoming == NEVER else upcoming - self.env._now

    def _look_up(self, miss: Miss) -> None:
        """Find the page of a translated miss, or make it the leading one of its frame."""
        miss.trail.append(self._fbt_state)
        miss.trail.append(self.env._now)
        if miss.mapping is None or self.shootdowns.overtook(miss.tag, miss.asked):
            self._again.append(miss)
            return
        counters = self.counters[miss.app]
        counters.lookups += 1
        request = miss.request
        assert request is not None
        name = page_of_line(request.line, self.lines_shift)
        sub_page = name & ((1 << self._sub_shift) - 1)
        frame = miss.mapping.frame(miss.tag) << self._sub_shift | sub_page
        page = self.table.backward(frame)
        writable = self._permissions.writable(request.asid, request.tag & VPN_MASK)
        if page is None:
            page = self.table.in_the_way(frame, name)
            if page is not None:
                if not page.locked:
                    self.purges.evict(page)
                self._wait(miss, page)
                return
            page = self.table.insert(frame, name, writable)
            counters.allocations += 1
        elif page.locked:
            self._wait(miss, page)
            return
        self._let_through(request, page, name, writable)
        miss.request = None  # which links to the miss: no cycle is left behind

    def _wait(self, miss: Miss, page: Page) -> None:
        self.counters[miss.app].waits += 1
        self._waiting.setdefault(page.frame, []).append(miss)

    def _let_through(self, request: VirtualRequest, page: Page, name: int, writable: bool) -> None:
        counters = self.counters[request.app]
        number = request.line & self._line_mask
        page.users += 1
        self.shootdowns.use(request.tag)
        request.page = page
        request.leading = line_in_page(page.leading, number, self.lines_shift)
        request.address = (page.frame << self.lines_shift | number) * self._line_bytes
        request.writable = writable
        request.cached_writable = page.writable
        stores = request.stores and writable
        bank = self._banks[self._home(request.line)]
        if page.leading == name:
            counters.leading += 1
            bank.grants.send(request, self.latency)
        else:
            counters.synonyms += 1
            if stores or page.written:
                self._fault(request)
            if self.table.may_hold(page, number):
                counters.replays += 1
                bank.replays.send(request, self.latency + self.trip)
            else:
                bank.grants.send(request, self.latency)
        page.written |= stores

    def _fault(self, request: VirtualRequest) -> None:
        self.counters[request.app].synonym_faults += 1
        if self.on_fault.listeners:
            self.on_fault(self.env._now, request.app, request.line, request.leading)

    def _ask_again(self) -> None:
        """Send misses whose translation was overtaken back to the first TLB."""
        while self._again:
            if self.entrance.tlb.full:
                self.entrance.tlb.when_free(self.process.wake)
                return
            miss = self._again.popleft()
            self.counters[miss.app].asked_again += 1
            miss.asked = self.shootdowns.number
            miss.mapping = None
            miss.trail.append(self._tlb_state)
            miss.trail.append(self.env._now)
            miss.return_to(self._translated)
            self.entrance.tlb.send(miss)

    # -- what has happened in the caches ---------------------------------------------------------

    def _filled(self, request: VirtualRequest) -> None:
        page = request.page
        assert isinstance(page, Page)
        self.table.line_filled(page, request.line & self._line_mask)

    def _finished(self, request: VirtualRequest) -> None:
        page = request.page
        assert isinstance(page, Page)
        request.page = None
        for purge in self.shootdowns.end_use(request.tag):
            self.purges.done_with(purge)
        page.users -= 1
        if page.locked and not page.users:
            self.purges.quiet(page)

    def _evicted(self, line: int, dirty: int, app: int, bank: VirtualBank) -> None:
        page = self.table.forward(page_of_line(line, self.lines_shift))
        assert page is not None, "a line was cached without its page in the table"
        number = line & self._line_mask
        self.table.line_evicted(page, number)
        if dirty:
            address = (page.frame << self.lines_shift | number) * self._line_bytes
            self._write_backs.begin(WrittenLine(page, address, dirty, line, app, bank))

    def _wrote(self, line: int, request: VirtualRequest) -> None:
        page = self.table.forward(page_of_line(line, self.lines_shift))
        assert page is not None, "a line was written without its page in the table"
        page.written = True
        if line != request.line and request.page is None:  # merged with another miss
            self._fault(request)

    # -- pages that may be used (again) ----------------------------------------------------------

    def cached_under(self, tag: int) -> Mapping | None:
        """What covers a page whose lines are cached under its own name, or None.

        Where entries map sub-pages, which agree in their translation, any of them will do [our
        choice: hardware would find them by the number of the page].
        """
        return self._permissions.find(tag) if self.table.any_in(tag) else None

    def _released(self, page: Page) -> None:
        """Let the misses that waited for a page look it up again."""
        for miss in self._waiting.pop(page.frame, ()):
            self._translated.send(miss)

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Misses, write-backs and purges that are not finished."""
        return (
            self.shootdowns.in_flight()
            + sum(map(len, self._waiting.values()))
            + len(self._again)
            + len(self._translated)
            + len(self._write_backs.port)
            + len(self._notices)
            + self.purges.under_way
        )

    def waiting(self) -> Iterator[str]:
        """Lines for the watchdog: which requests wait, and for what."""
        waiting = sum(map(len, self._waiting.values()))
        if waiting:
            yield f"{self.name}: {waiting} misses wait for {len(self._waiting)} locked pages"
        if self.purges.under_way:
            yield f"{self.name}: {self.purges.under_way} purges are under way"
        if self._write_backs.port:
            yield f"{self.name}: {len(self._write_backs.port)} write-backs wait for DRAM"

    def recordable(self) -> Iterable[tuple[str, Any]]:
        return (("synonym_faults", self.on_fault),)

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)

    def shared_counters(self) -> Iterable[object]:
        """Purges belong to no application."""
        return (self.purges.counters,)
