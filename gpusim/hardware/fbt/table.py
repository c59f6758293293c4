"""The forward–backward table: which pages are in virtual caches, and under which name (VC §4.1).

The backward table (BT) finds a page by its frame, the forward table (FT) by its *leading* page
number: the one that touched the frame first, under which alone its lines are cached.  Both have
the same number of entries and ways, and an entry of one points at an entry of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gpusim.config.schema import GpuConfig
from gpusim.config.translation import SUB_PAGE, FbtConfig
from gpusim.core.request import page_of_line
from gpusim.core.structures import Dimensions, Storage, bits_for

COUNTER_BITS: Final = 15
"""Bits of a number of lines, up to the 16384 of a page of 2 MiB (VC §4.3)."""


class Page:
    """A frame of which lines are cached.

    Attributes:
        frame: its number.
        leading: the page, tagged with its address space, under which its lines are cached.
        writable: permission of that page.
        written: whether a store has been performed since the entry was allocated.
        lines: bit vector of the lines in the L2 cache; a number of lines if the page is too large
            for one.
        locked: it is being invalidated, and no access may begin to use it.
        users: accesses that were let through and have not ended.
        leaving: dirty lines that have left the L2 cache and have not reached DRAM.
    """

    __slots__ = ("frame", "leading", "leaving", "lines", "locked", "users", "writable", "written")

    def __init__(self, frame: int, leading: int, writable: bool) -> None:
        self.frame = frame
        self.leading = leading
        self.writable = writable
        self.written = False
        self.lines = 0
        self.locked = False
        self.users = 0
        self.leaving = 0


class ForwardBackwardTable:
    """Pages by frame and by leading page number, in sets of `ways`, replaced LRU.

    Args:
        entries, ways: shape of each of the two tables.
        vector: lines of a page whose presence is kept in a bit vector; 0: they are only counted.
        sub_shift: entries to a page of memory, as a power of two.
    """

    def __init__(self, entries: int, ways: int, vector: int, sub_shift: int = 0) -> None:
        self.ways = ways
        self._sub_shift = sub_shift
        self._by_page: dict[int, list[Page]] = {}
        """By tagged page of memory, the entries that are cached under its name."""
        self.vector = vector
        self._mask = entries // ways - 1
        self._backward: list[dict[int, Page]] = [{} for _ in range(entries // ways)]
        self._forward: list[dict[int, Page]] = [{} for _ in range(entries // ways)]

    def __len__(self) -> int:
        return sum(map(len, self._backward))

    def pages(self) -> Iterator[Page]:
        """All pages, set by set, the least recently used first."""
        for pages in self._backward:
            yield from pages.values()

    def backward(self, frame: int) -> Page | None:
        """The page in a frame, if any of it may be cached; that counts as a use."""
        pages = self._backward[frame & self._mask]
        page = pages.pop(frame, None)
        if page is not None:
            pages[frame] = page
            forward = self._forward[page.leading & self._mask]
            forward[page.leading] = forward.pop(page.leading)
        return page

    def forward(self, tag: int) -> Page | None:
        """The page that is cached under this name, if any."""
        return self._forward[tag & self._mask].get(tag)

    def any_in(self, tag: int) -> bool:
        """Whether an entry that is not locked is cached under the name of a page of memory."""
        return any(not one.locked for one in self._by_page.get(tag, ()))

    def in_the_way(self, frame: int, leading: int) -> Page | None:
        """The page that has to go before a new one fits in; None if it fits.

        A page that is on its way out anyhow is preferred; then one without lines in the L2 cache,
        as only L1 caches can have lines of it [our choice]; then the least recently used.
        """
        forward = self._forward[leading & self._mask]
        if leading in forward:
            return forward[leading]
        for pages in (self._backward[frame & self._mask], forward):
            if len(pages) >= self.ways:
                return min(
                    pages.values(),
                    key=lambda page: (not page.locked, page.users > 0 or page.lines > 0),
                )
        return None

    def insert(self, frame: int, leading: int, writable: bool) -> Page:
        """Begin to keep a page that fits in; it has no lines yet."""
        page = Page(frame, leading, writable)
        self._backward[frame & self._mask][frame] = page
        self._forward[leading & self._mask][leading] = page
        self._by_page.setdefault(page_of_line(leading, self._sub_shift), []).append(page)
        return page

    def remove(self, page: Page) -> None:
        """Forget a page."""
        del self._backward[page.frame & self._mask][page.frame]
        del self._forward[page.leading & self._mask][page.leading]
        whole = page_of_line(page.leading, self._sub_shift)
        self._by_page[whole].remove(page)
        if not self._by_page[whole]:
            del self._by_page[whole]

    def line_filled(self, page: Page, line: int) -> None:
        """Line number `line` of a page is in the L2 cache."""
        page.lines = page.lines | 1 << line if self.vector else page.lines + 1

    def line_evicted(self, page: Page, line: int) -> None:
        """Line number `line` of a page is no longer in the L2 cache."""
        page.lines = page.lines & ~(1 << line) if self.vector else page.lines - 1

    def may_hold(self, page: Page, line: int) -> bool:
        """Whether line number `line` may be in the L2 cache: surely not, if it says no."""
        return bool(page.lines >> line & 1) if self.vector else page.lines > 0

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """What both tables keep in hardware.

        Frame numbers are as wide as page numbers [our choice: with 36 bits of both, 16K entries
        in 8 ways have the 190 KB and 80 KB of VC §4.3].
        """
        sets = self._mask + 1
        tag = dimensions.page_bits - bits_for(sets)
        lines = {"lines": self.vector} if self.vector else {"number of lines": COUNTER_BITS}
        entries = sets * self.ways
        return [
            Storage(
                "backward table",
                entries,
                {
                    "frame": tag,
                    "leading page": dimensions.page_bits,
                    **lines,
                    "permission": 1,
                    "written": 1,
                },
            ),
            Storage(
                "forward table", entries, {"page": tag, "index": bits_for(entries), "valid": 1}
            ),
        ]


def page_lines_shift(fbt: FbtConfig, page: int, line: int) -> int:
    """Lines of what an entry maps, as a power of two: those of a page, or of 4 KiB of it."""
    return bits_for((page if fbt.large_pages == "counter" else SUB_PAGE) // line)


def make_table(fbt: FbtConfig, config: GpuConfig) -> ForwardBackwardTable:
    """The table of a machine; pages above 4 KiB have no bit vectors."""
    lines = 1 << page_lines_shift(fbt, config.memory.page, config.l2.line)
    vector = lines if lines * config.l2.line <= SUB_PAGE else 0
    parts = bits_for(config.memory.page // config.l2.line // lines)
    return ForwardBackwardTable(fbt.entries, fbt.ways, vector, parts)
