"""An L1 cache whose lines have virtual names, under a virtual L2 cache (VC §4)."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.config.schema import L1Config
from gpusim.core.counters import count
from gpusim.core.engine import EventLoop
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.mshr import FULL, Admission
from gpusim.core.request import MemoryRequest, VirtualRequest, page_of_line
from gpusim.files.units import Hertz
from gpusim.hardware.cache.invalidation_filter import InvalidationFilter
from gpusim.hardware.cache.l1 import L1Cache

_ALL: Final = -1
"""Stands for all pages."""


@attr.s(auto_attribs=True)
class InvalidationCounters:
    """What invalidations of pages did to one L1 cache."""

    invalidations: int = count("messages that pages are invalid")
    flushes: int = count("of these, those that the filter let through: the cache was emptied")
    lines_flushed: int = count("lines that were lost by it")


declare_metrics(
    InvalidationCounters,
    Metric(
        "l1_invalidations_filtered",
        FRACTION,
        "page invalidations that L1 caches filtered",
        Ratio("invalidations - flushes", "invalidations"),
    ),
)


@mypyc_attr(allow_interpreted_subclasses=True)
class VirtualL1Cache(L1Cache):
    """Keeps lines under their leading names only, and can forget pages.

    It has no process, so an invalidation takes effect at once; its message took its time.  The
    lines that are outstanding then still answer the requests that wait for them, but no new
    one, and those of the page are not kept: their data may be older than the invalidation.

    Args:
        lines_shift: lines of a page of the forward–backward table, as a power of two.
    """

    def __init__(
        self,
        env: EventLoop,
        index: int,
        config: L1Config,
        clock: Hertz,
        apps: int,
        lines_shift: int,
    ) -> None:
        super().__init__(env, index, config, clock, apps)
        self.filter = InvalidationFilter()
        self.invalidations = InvalidationCounters()
        self._lines_shift = lines_shift
        self._invalid: dict[int, set[int]] = {}
        """By outstanding line: pages that were invalidated since it was asked for."""

    def admit(self, request: MemoryRequest, line: int) -> Admission:
        if self._invalid and self._invalidated(line, self._page(line)):
            self.counters[request.app].stalls += 1
            return FULL
        return super().admit(request, line)

    def pass_through(self, request: MemoryRequest, keep: bool) -> None:
        line = self.key(request)
        if not keep and self.array.state(line):
            self.filter.drop(self._page(line))
        super().pass_through(request, keep)

    def fill(self, filled: MemoryRequest) -> None:
        assert isinstance(filled, VirtualRequest)
        page = self._page(filled.leading)
        if not self._invalidated(filled.line, page):
            self._keep(filled.leading, page, filled.sectors)
        self._invalid.pop(filled.line, None)
        self._answer(filled, filled.line)

    def _keep(self, line: int, page: int, sectors: int) -> None:
        if not self.array.state(line):
            self.filter.add(page)
        victim = self.array.fill(line, sectors)
        if victim is not None:
            self.filter.drop(self._page(victim[0]))
            if self.on_evict.listeners:
                self.on_evict(victim[0], self.env._now)

    def clear(self) -> None:
        super().clear()
        self.filter.clear()

    def invalidate(self, pages: Set[int] | None) -> None:
        """Forget the lines of pages (None: of all): if there may be any, all lines."""
        self.invalidations.invalidations += 1
        for line in self._mshrs.outstanding():
            self._invalid.setdefault(line, set()).update((_ALL,) if pages is None else pages)
        if pages is None or self.filter.any_of(pages):
            self.invalidations.flushes += 1
            self.invalidations.lines_flushed += sum(1 for _ in self.array.lines())
            self.clear()

    def _invalidated(self, outstanding: int, *pages: int) -> bool:
        """Whether one of these pages was invalidated since a line was asked for."""
        invalid = self._invalid.get(outstanding)
        return invalid is not None and (_ALL in invalid or not invalid.isdisjoint(pages))

    def _page(self, line: int) -> int:
        return page_of_line(line, self._lines_shift)

    def shared_counters(self) -> Iterable[object]:
        """Invalidations belong to no application."""
        return (*super().shared_counters(), self.invalidations)
