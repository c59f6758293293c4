"""Dynamic synonym remapping: loads of known synonyms look under their leading names (VC §4.3)."""

from __future__ import annotations

import attr

from gpusim.config.translation import RemappingConfig
from gpusim.core.counters import count
from gpusim.core.request import MemoryRequest, VirtualRequest, line_in_page, page_of_line
from gpusim.hardware.cache.array import CacheArray
from gpusim.hardware.cache.synonym_table import SynonymTable


@attr.s(auto_attribs=True, eq=False, repr=False)
class RemappingCounters:
    """What remapping did in one L1 cache for one application."""

    renamed: int = count("loads that looked for their line under its leading name")
    renamed_hits: int = count("of these, those that found it in this cache")
    renamed_l2_hits: int = count("of these, those that found it in the L2 cache")
    sent_again: int = count("of the latter, those overtaken by an invalidation, and sent again")


class RemappedSynonyms:
    """The leading names that an L1 cache knows, which its loads look for.

    An answer tells the leading name of its line, from which the table learns.  A renamed load that
    misses takes its MSHR under its own name and carries both: the L2 cache looks under the leading
    one, and what misses there, too, is translated under its own, as ever.  So the table need only
    tell where a line may be; it decides no translation.

    Entries go when either of their pages is invalidated.  A load that was renamed by such an entry
    and found its line in the L2 cache may have found what is no longer its own: its answer is
    dropped, and it is sent again under its own name.  Stores keep their own names, so that the
    forward–backward table meets them and reports read-write synonyms.

    All this is our choice: VC has one sentence about remapping.

    Args:
        config: the table.
        lines_shift: L2 lines of a page of the forward–backward table, as a power of two.
        apps: applications that share the cache.
        parts_shift: lines of the cache in a line of the L2 cache, as a power of two.

    Attributes:
        table: the synonyms that are known.
        counters: by application.
        latency: of a lookup in the table, which every access to the cache meets first.
    """

    def __init__(
        self, config: RemappingConfig, lines_shift: int, apps: int, parts_shift: int = 0
    ) -> None:
        self.latency = config.latency
        self.table = SynonymTable(config.entries)
        self.counters = [RemappingCounters() for _ in range(apps)]
        self._lines_shift = lines_shift + parts_shift
        self._l2_lines_shift = lines_shift

    def name(self, line: int) -> int:
        """The name under which a line is cached, as far as is known."""
        return self._name(line, self._lines_shift)

    def _name(self, line: int, lines_shift: int) -> int:
        """The same of a line of either cache, by how many of them a page has."""
        page = page_of_line(line, lines_shift)
        leading = self.table.leading(page)
        if leading == page:
            return line
        return line_in_page(leading, line & (1 << lines_shift) - 1, lines_shift)

    def look(self, line: int, sectors: int, array: CacheArray, app: int) -> int:
        """The name under which a load looks for its sectors of a line; counted if it hits."""
        name = self.name(line)
        if name != line and not sectors & ~array.state(name):
            self.counters[app].renamed += 1
            self.counters[app].renamed_hits += 1
        return name

    def missed(self, request: MemoryRequest, *, sent: bool) -> None:
        """A load has missed; if it is sent to the L2 cache, it looks there for the same name."""
        assert isinstance(request, VirtualRequest)
        name = self._name(request.line, self._l2_lines_shift)
        self.counters[request.app].renamed += name != request.line
        if sent:
            request.name = name

    def answered(self, filled: VirtualRequest, page: int, leading: int, overtaken: bool) -> bool:
        """Learn from an answer, or reset it; whether it can be used.

        Args:
            filled: the answer.
            page: of its own line.
            leading: the page under whose name that is cached.
            overtaken: one of the two was invalidated while the answer was outstanding.
        """
        counters = self.counters[filled.app]
        renamed = filled.name != filled.line
        counters.renamed_l2_hits += renamed
        if not overtaken:
            if leading != page:
                self.table.learn(page, leading)
        elif renamed:
            counters.sent_again += 1
            filled.name, filled.leading = filled.line, -1
            return False
        return True
