"""Invalidation filter of an L1 cache: pages with lines, so tags need not be walked (VC §4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpusim.core.structures import Dimensions, Storage

_TAG_BITS, _COUNT_BITS = 26, 6


class InvalidationFilter:
    """The number of lines of each page in a cache."""

    def __init__(self) -> None:
        self._lines: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def count(self, page: int) -> int:
        """Lines of a page."""
        return self._lines.get(page, 0)

    def add(self, page: int) -> None:
        """One more line of a page."""
        self._lines[page] = self._lines.get(page, 0) + 1

    def drop(self, page: int) -> None:
        """One line of a page less."""
        left = self._lines[page] - 1
        if left:
            self._lines[page] = left
        else:
            del self._lines[page]

    def clear(self) -> None:
        """The cache is empty."""
        self._lines.clear()

    def any_of(self, pages: Iterable[int]) -> bool:
        """Whether one of these pages has lines."""
        return any(page in self._lines for page in pages)

    @staticmethod
    def storage(dimensions: Dimensions, lines: int) -> Sequence[Storage]:
        """What it keeps in hardware: an entry a line of the cache.

        With 32 bits each, those of a cache of 32 KiB have the 1 KB of VC §4.3.  That is too
        little for whole page numbers: the part of one that is kept may flush too much, never too
        little [our choice; simulated is an exact filter].
        """
        return [
            Storage(
                "invalidation filter",
                lines,
                {"page": min(_TAG_BITS, dimensions.page_bits), "lines": _COUNT_BITS},
            )
        ]
