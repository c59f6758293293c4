"""Leading names of the lines of an L1 cache below a virtual L2 cache (VC §4)."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final

import attr

from gpusim.config.translation import RemappingConfig
from gpusim.core.counters import count
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.request import MemoryRequest, VirtualRequest, line_in_page, page_of_line
from gpusim.hardware.cache.invalidation_filter import InvalidationFilter
from gpusim.hardware.cache.overtaken import Overtaken
from gpusim.hardware.cache.remapped_synonyms import RemappedSynonyms

NOT_KEPT: Final = -1
"""An answer serves the loads that wait for it; its line is not kept."""
SENT_AGAIN: Final = -2
"""An answer is of no use to any."""


@attr.s(auto_attribs=True, eq=False, repr=False)
class InvalidationCounters:
    """What invalidations of pages did to one cache next to SMs."""

    invalidations: int = count("messages that pages are invalid")
    flushes: int = count("of these, those that the filter let through: the cache was emptied")
    lines_flushed: int = count("lines that were lost by it")


declare_metrics(
    InvalidationCounters,
    Metric(
        "{}_invalidations_filtered",
        FRACTION,
        "page invalidations that {} caches filtered",
        Ratio("invalidations - flushes", "invalidations"),
    ),
)


class LeadingNames:
    """Names under which lines are kept, and pages that are invalid.

    A line is outstanding under its own name and kept under its leading one only, which the answer
    tells.  A cache has no process, so an invalidation takes effect at once; its message took its
    time.  The lines that are outstanding then still answer the requests that wait for them, but no
    new one, and those of the page are not kept: their data may be older than the invalidation.

    Args:
        lines_shift: L2 lines of a page of the forward–backward table, as a power of two.
        apps: applications that share the cache.
        parts_shift: lines of the cache in a line of the L2 cache, as a power of two.
        remapping: loads of known synonyms are renamed; None: they are not.

    Attributes:
        filter: which pages have lines in the cache.
        synonyms: what renames loads.
    """

    def __init__(
        self,
        lines_shift: int,
        apps: int,
        parts_shift: int = 0,
        remapping: RemappingConfig | None = None,
    ) -> None:
        self.filter = InvalidationFilter()
        self.invalidations = InvalidationCounters()
        self.synonyms = (
            None
            if remapping is None
            else RemappedSynonyms(remapping, lines_shift, apps, parts_shift)
        )
        self._lines_shift = lines_shift + parts_shift
        self._l2_lines_shift = lines_shift
        self._parts_shift = parts_shift
        self._part_mask = (1 << parts_shift) - 1
        self._loads = Overtaken()
        self._stores = Overtaken()
        self._storing: dict[int, int] = {}
        """By own name of a line: stores that are outstanding and may leave something of it."""

    def page(self, line: int) -> int:
        """The tagged page of a line, in pages of the forward–backward table."""
        return page_of_line(line, self._lines_shift)

    def _page_of_l2(self, line: int) -> int:
        """The same of a line of the L2 cache."""
        return page_of_line(line, self._l2_lines_shift)

    def _part(self, request: MemoryRequest, l2_line: int) -> int:
        """The line of this cache that is a request's part of a line of the L2 cache."""
        return line_in_page(l2_line, request.vline & self._part_mask, self._parts_shift)

    def came(self, line: int) -> None:
        """A line that was not there is kept."""
        self.filter.add(self.page(line))

    def went(self, line: int) -> None:
        """A line is there no more."""
        self.filter.drop(self.page(line))

    # -- loads -----------------------------------------------------------------------------------

    def refuses(self, key: int, line: int) -> bool:
        """Whether the outstanding answer `key` is too old for a new load of a line."""
        return len(self._loads) > 0 and self._loads.any_of(key, self.page(line))

    def arrived(self, filled: MemoryRequest, key: int) -> int:
        """The name under which an answer keeps its line, or `NOT_KEPT`, or `SENT_AGAIN`."""
        assert isinstance(filled, VirtualRequest)
        loads, leading = self._loads, self._page_of_l2(filled.leading)
        if self.synonyms is not None:
            page = self._page_of_l2(filled.line)
            overtaken = loads.any_of(key, page, leading)
            if not self.synonyms.answered(filled, page, leading, overtaken):
                loads.forget(key)
                return SENT_AGAIN
        old = loads.any_of(key, leading)
        name = NOT_KEPT if old else self._part(filled, filled.leading)
        loads.forget(key)
        return name

    # -- stores ----------------------------------------------------------------------------------

    def stored(self, line: int) -> None:
        """A store goes out that may leave something of a line when it is acknowledged."""
        self._storing[line] = self._storing.get(line, 0) + 1

    def acknowledged(self, request: MemoryRequest) -> int:
        """The name under which a store leaves something of its line, or `NOT_KEPT`."""
        assert isinstance(request, VirtualRequest)
        line, stores = self._part(request, request.line), self._stores
        old = stores.any_of(line, self._page_of_l2(request.leading))
        self._storing[line] -= 1
        if not self._storing[line]:
            del self._storing[line]
            stores.forget(line)
        if old or not request.writable:
            return NOT_KEPT
        return self._part(request, request.leading)

    # -- pages -----------------------------------------------------------------------------------

    def invalidate(self, pages: Set[int] | None, outstanding: Iterable[int]) -> bool:
        """Note that pages are invalid; whether the cache may have lines of them.

        Args:
            pages: the tagged pages; None: all.
            outstanding: what names the answers to loads that have not come.
        """
        self.invalidations.invalidations += 1
        self._loads.note(outstanding, pages)
        self._stores.note(self._storing, pages)
        if self.synonyms is not None:
            self.synonyms.table.forget(pages)
        return pages is None or self.filter.any_of(pages)

    def flushed(self, lines: Iterable[int]) -> None:
        """All lines are lost, as some of them may be of pages that are invalid."""
        self.invalidations.flushes += 1
        self.invalidations.lines_flushed += sum(1 for _ in lines)

    # -- reports ---------------------------------------------------------------------------------

    def app_counters(self, app: int) -> Iterable[object]:
        """What it counts of one application."""
        return () if self.synonyms is None else (self.synonyms.counters[app],)
