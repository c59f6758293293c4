"""Taking pages out of virtual caches: evictions of the table, shootdowns, probes of CPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any, Protocol

import attr

from gpusim.core.counters import count
from gpusim.core.engine import Port
from gpusim.core.metrics import FRACTION, Metric, Ratio, Total, declare_metrics
from gpusim.core.request import line_in_page
from gpusim.hardware.fbt.site import FbtSite
from gpusim.hardware.fbt.table import ForwardBackwardTable, Page

Done = Callable[[], None]


@attr.s(auto_attribs=True, eq=False, repr=False)
class PurgeCounters:
    """What took pages and lines out of the caches, all applications together."""

    evictions: int = count("pages evicted from the table for others")
    shootdowns: int = count("shootdowns, of a page or of all")
    shootdowns_filtered: int = count("of these, those whose pages the forward table did not have")
    probes: int = count("lines asked for by a CPU")
    probes_filtered: int = count("of these, those that cannot be in the L2 cache")
    purges: int = count("evictions, shootdowns and probes that have ended")
    purge_cycles: int = count("from the first lock to the last answer, summed over them", "cycles")


declare_metrics(
    PurgeCounters,
    Metric("fbt_evictions", "1", "pages evicted from the FBT", Total("evictions")),
    Metric(
        "probes_filtered",
        FRACTION,
        "probes of CPUs that the FBT filtered",
        Ratio("probes_filtered", "probes"),
    ),
)


class Bank(Protocol):
    """Where lines are invalidated (see `gpusim.hardware.cache.TranslatedMisses`)."""

    def invalidate(self, lines: Sequence[int], page: int, purge: object, trip: int) -> None:
        """Take out some lines, or all of a page (-1: none), `trip` cycles from now."""


class L1(Protocol):
    """A cache next to SMs, which messages about pages reach (`gpusim.hardware.cache.L1Cache`)."""

    def invalidate(self, pages: Set[int] | None) -> None:
        """Forget pages (None: all)."""


class Purge:
    """Pages, or one line of a page, that are being taken out.

    Attributes:
        pages: those that it has locked.
        names: tagged pages to invalidate in the L1 caches; None: all.
        line: number of the only line that has to go, of a probe; None: the pages have to go.
        waits: for how many things it waits.
        began: cycle of its begin.
        done: what to do at its end.
        followers: other purges that wait for its end with a page that both want.
    """

    __slots__ = ("began", "done", "followers", "line", "names", "pages", "waits")

    def __init__(self, names: Set[int] | None, line: int | None, began: int, done: Done) -> None:
        self.pages: list[Page] = []
        self.names = names
        self.line = line
        self.waits = 1
        self.began = began
        self.done = done
        self.followers: list[tuple[Purge, Page]] = []


def nothing() -> None:
    """Called at the end of a purge after which nothing has to happen."""


class Purges:
    """All purges under way.

    One goes through these steps:

    1. Its pages are locked: no access to them is let through any more.
    2. Accesses that were let through end.
    3. The L2 banks invalidate the lines that they may have; DRAM takes the dirty ones.
    4. The pages are sent to the L1 caches, and those that may have lines of them are emptied.
    5. The pages leave the table, and misses that waited for that go on.

    A probe takes one line, does nothing to L1 caches (which are not coherent), and unlocks.

    Args:
        site: of the table.
        table: its entries.
        timers: what the process of the table does later: functions and their arguments.
        released: called with each page that is unlocked or gone.
    """

    def __init__(
        self,
        site: FbtSite,
        table: ForwardBackwardTable,
        timers: Port[tuple[Any, ...]],
        released: Callable[[Page], None],
    ) -> None:
        self.counters = PurgeCounters()
        self.banks: Sequence[Bank] = ()
        self.l1s: Sequence[L1] = ()
        self._env = site.env
        self._table = table
        self._lines_shift = site.lines_shift
        self._line_bytes = site.line_bytes
        self._home = site.home
        self._trip = site.trip
        self._l1_trip = site.l1_trip
        self._timers = timers
        self._released = released
        self._by_frame: dict[int, Purge] = {}
        self.under_way = 0

    def evict(self, page: Page) -> None:
        """A page has to make room in the table for another one."""
        self.counters.evictions += 1
        self.done_with(self.begin([page], frozenset((page.leading,))))

    def probe(self, address: int, done: Done = nothing) -> None:
        """A CPU takes the line of a physical address away."""
        self.counters.probes += 1
        frame_line = address // self._line_bytes
        number = frame_line & ((1 << self._lines_shift) - 1)
        page = self._table.backward(frame_line >> self._lines_shift)
        if page is None or not (page.users or page.leaving or self._table.may_hold(page, number)):
            self.counters.probes_filtered += 1
            done()
            return
        self.done_with(self.begin([page], frozenset(), done, line=number))

    def begin(
        self,
        pages: Sequence[Page],
        names: Set[int] | None,
        done: Done = nothing,
        line: int | None = None,
    ) -> Purge:
        """Begin a purge; it goes on when everything that it waits for is `done_with`.

        The caller adds to `waits` what else it has to wait for, and calls `done_with` itself.
        """
        purge = Purge(names, line, self._env._now, done)
        self.under_way += 1
        purge.waits += len(pages)
        for page in pages:
            self._lock(purge, page)
        return purge

    def done_with(self, purge: Purge) -> None:
        """One thing that a purge waits for has happened."""
        purge.waits -= 1
        if purge.waits == 0:
            if purge.line is None:
                self._timers.send((self._tell_l1s, purge), self._l1_trip)
            else:
                self._end(purge)

    def quiet(self, page: Page) -> None:
        """The last access to a locked page has ended."""
        purge = self._by_frame[page.frame]
        for bank, lines in self._lines(page, purge.line).items():
            purge.waits += 1
            everything = lines is None
            self.banks[bank].invalidate(
                () if lines is None else lines,
                page.leading if everything else -1,
                purge,
                self._trip,
            )
        self.done_with(purge)

    def line_leaves(self, page: Page) -> None:
        """A dirty line of a page is on its way to DRAM; a purge of the page waits for it."""
        page.leaving += 1
        if page.locked:
            self._by_frame[page.frame].waits += 1

    def line_left(self, page: Page) -> None:
        """DRAM has taken a dirty line of a page."""
        page.leaving -= 1
        if page.locked:
            self.done_with(self._by_frame[page.frame])

    def _lock(self, purge: Purge, page: Page) -> None:
        if self._table.forward(page.leading) is not page:
            self.done_with(purge)  # another purge took it meanwhile
        elif page.locked:
            self._by_frame[page.frame].followers.append((purge, page))
        else:
            page.locked = True
            self._by_frame[page.frame] = purge
            purge.pages.append(page)
            purge.waits += page.leaving
            if not page.users:
                self.quiet(page)

    def _lines(self, page: Page, probed: int | None) -> dict[int, list[int] | None]:
        """Lines to invalidate by bank; None: all of the page, if it only counts them."""
        vector = self._table.vector
        if probed is None and page.lines and not vector:
            return dict.fromkeys(range(len(self.banks)))
        numbers = range(vector) if probed is None else (probed,)
        found: dict[int, list[int] | None] = {}
        for number in numbers:
            if self._table.may_hold(page, number):
                line = line_in_page(page.leading, number, self._lines_shift)
                lines = found.setdefault(self._home(line), [])
                assert lines is not None
                lines.append(line)
        return found

    def _tell_l1s(self, purge: Purge) -> None:
        for l1 in self.l1s:
            l1.invalidate(purge.names)
        self._timers.send((self._end, purge), self._l1_trip)

    def _end(self, purge: Purge) -> None:
        self.under_way -= 1
        self.counters.purges += 1
        self.counters.purge_cycles += self._env._now - purge.began
        for page in purge.pages:
            del self._by_frame[page.frame]
            if purge.line is None:
                self._table.remove(page)
            else:
                page.locked = False
            self._released(page)
        for follower, page in purge.followers:
            self._lock(follower, page)
        purge.done()
