"""A virtual L1 cache that knows synonyms by their leading names: dynamic synonym remapping."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

import attr
from mypy_extensions import mypyc_attr

from gpusim.config.schema import L1Config, RemappingConfig
from gpusim.core.counters import count
from gpusim.core.engine import EventLoop
from gpusim.core.mshr import FULL, NEW, Admission
from gpusim.core.request import MemoryRequest, VirtualRequest, line_in_page
from gpusim.files.units import Hertz
from gpusim.hardware.cache.synonym_table import SynonymTable
from gpusim.hardware.cache.virtual_l1 import VirtualL1Cache


@attr.s(auto_attribs=True)
class RemappingCounters:
    """What remapping did in one L1 cache for one application."""

    renamed: int = count("loads that looked for their line under its leading name")
    renamed_hits: int = count("of these, those that found it in this cache")
    renamed_l2_hits: int = count("of these, those that found it in the L2 cache")
    sent_again: int = count("of the latter, those overtaken by an invalidation, and sent again")


@mypyc_attr(allow_interpreted_subclasses=True)
class RemappingL1Cache(VirtualL1Cache):
    """Loads of pages that are known to be synonyms look under the leading names (VC §4.3).

    An answer tells the leading name of its line, from which the table learns.  A renamed load that
    misses takes its MSHR under its own name and carries both: the L2 cache looks under the leading
    one, and what misses there, too, is translated under its own, as ever.  So the table need only
    tell where a line may be; it decides no translation.

    Entries go when either of their pages is invalidated.  A load that was renamed by such an entry
    and found its line in the L2 cache may have found what is no longer its own: its answer is
    dropped, and it is sent again under its own name.  Stores keep their own names, so that the
    table meets them and reports read-write synonyms.

    All this is our choice: VC has one sentence about remapping.
    """

    def __init__(
        self,
        env: EventLoop,
        index: int,
        config: L1Config,
        clock: Hertz,
        apps: int,
        lines_shift: int,
        remapping: RemappingConfig,
    ) -> None:
        super().__init__(env, index, config, clock, apps, lines_shift)
        self.latency += remapping.latency.cycles(clock)
        self.synonyms = SynonymTable(remapping.entries)
        self.renaming = [RemappingCounters() for _ in range(apps)]
        self._line_mask = (1 << lines_shift) - 1
        self._send_again: Callable[[MemoryRequest], None]

    def connect(self, send_again: Callable[[MemoryRequest], None]) -> None:
        """Name who sends a request out once more."""
        self._send_again = send_again

    def leading_name(self, line: int) -> int:
        """The name under which a line is cached, as far as is known."""
        page = self._page(line)
        leading = self.synonyms.leading(page)
        if leading == page:
            return line
        return line_in_page(leading, line & self._line_mask, self._lines_shift)

    def lookup(self, line: int, sectors: int, app: int) -> bool:
        name = self.leading_name(line)
        if not super().lookup(name, sectors, app):
            return False
        if name != line:
            self.renaming[app].renamed += 1
            self.renaming[app].renamed_hits += 1
        return True

    def admit(self, request: MemoryRequest, line: int) -> Admission:
        admission = super().admit(request, line)
        if admission != FULL:
            name = self.leading_name(line)
            self.renaming[request.app].renamed += name != line
            if admission == NEW:
                assert isinstance(request, VirtualRequest)
                request.name = name
        return admission

    def fill(self, filled: MemoryRequest) -> None:
        assert isinstance(filled, VirtualRequest)
        page, leading = self._page(filled.line), self._page(filled.leading)
        renamed = filled.name != filled.line
        self.renaming[filled.app].renamed_l2_hits += renamed
        if not self._invalidated(filled.line, page, leading):
            if leading != page:
                self.synonyms.learn(page, leading)
        elif renamed:
            del self._invalid[filled.line]
            self.renaming[filled.app].sent_again += 1
            filled.name, filled.leading = filled.line, -1
            self._send_again(filled)
            return
        super().fill(filled)

    def invalidate(self, pages: Set[int] | None) -> None:
        super().invalidate(pages)
        self.synonyms.forget(pages)

    def app_counters(self, app: int) -> Iterable[object]:
        return (*super().app_counters(app), self.renaming[app])
