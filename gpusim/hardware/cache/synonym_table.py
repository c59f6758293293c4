"""A table of pages known to be synonyms, with their leading pages (VC §4.3)."""

from __future__ import annotations

from collections.abc import Sequence, Set

from gpusim.core.structures import Dimensions, Storage


class SynonymTable:
    """Maps pages to the leading pages of their frames; fully associative, replaced LRU.

    VC names dynamic synonym remapping and refers to Yoon and Sohi (HPCA 2016) for it; shape and
    replacement are our choice.

    Args:
        entries: how many pages it has room for.
    """

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._leading: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._leading)

    def leading(self, page: int) -> int:
        """The page under which the lines of a page are cached, as far as is known; a use of it."""
        leading = self._leading.pop(page, -1)
        if leading < 0:
            return page
        self._leading[page] = leading
        return leading

    def learn(self, page: int, leading: int) -> None:
        """Keep that a page has another, leading name."""
        self._leading.pop(page, None)
        if len(self._leading) >= self._entries:
            del self._leading[next(iter(self._leading))]
        self._leading[page] = leading

    def forget(self, pages: Set[int] | None) -> None:
        """Drop what is known of pages (None: of all), under either of their names."""
        self._leading = {
            page: leading
            for page, leading in self._leading.items()
            if pages is not None and page not in pages and leading not in pages
        }

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """What it keeps in hardware: two page numbers an entry."""
        bits = dimensions.page_bits
        return [Storage("synonym table", self._entries, {"page": bits, "leading page": bits})]
