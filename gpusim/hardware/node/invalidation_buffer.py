"""The buffer of invalidations that are merged until walkers have time for them."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.core.structures import Dimensions, Storage


class InvalidationBuffer:
    """Pages whose entries are void but not written, by the table of entries that they lie in.

    A buffer entry has a *base*, the number of a last-level table, and the *offsets* of void entries
    in it.  A page that finds no room makes room: a base whose offsets are full lets all of them go,
    a new base takes the place of the one that took in a page least recently.

    Args:
        bases: entries of the buffer.
        offsets: of one of them.
        table_entries: pages whose entries lie in one table.
    """

    def __init__(self, bases: int, offsets: int, table_entries: int) -> None:
        self._most_bases = bases
        self._most_offsets = offsets
        self._table_entries = table_entries
        self._bases: dict[int, dict[int, None]] = {}
        """Offsets by base, the base first that took in a page least recently."""

    def __len__(self) -> int:
        return sum(map(len, self._bases.values()))

    def holds(self, tag: int) -> bool:
        """Whether the entry of a page is void."""
        base, offset = divmod(tag, self._table_entries)
        return offset in self._bases.get(base, {})

    def merge(self, tag: int) -> list[int]:
        """Take in a page; returns pages that had to leave for it, in the order of their coming."""
        base, offset = divmod(tag, self._table_entries)
        left: list[int] = []
        offsets = self._bases.pop(base, None)
        if offsets is None:
            if len(self._bases) >= self._most_bases:
                left = self.take_oldest()
            offsets = {}
        elif offset not in offsets and len(offsets) >= self._most_offsets:
            left = self._pages(base, offsets)
            offsets = {}
        offsets[offset] = None
        self._bases[base] = offsets
        return left

    def take_oldest(self) -> list[int]:
        """Remove the base that took in a page least recently; returns its pages."""
        if not self._bases:
            return []
        base = next(iter(self._bases))
        return self._pages(base, self._bases.pop(base))

    def remove(self, tag: int) -> None:
        """The entry of a page has been written anew."""
        base, offset = divmod(tag, self._table_entries)
        offsets = self._bases.get(base)
        if offsets is not None and offset in offsets:
            del offsets[offset]
            if not offsets:
                del self._bases[base]

    def _pages(self, base: int, offsets: dict[int, None]) -> list[int]:
        return [base * self._table_entries + offset for offset in offsets]

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """The storage that it needs in hardware."""
        offset = dimensions.index_bits
        fields = {"base": dimensions.page_bits - offset, "offsets": self._most_offsets * offset}
        return (Storage("merged invalidations", self._most_bases, fields),)
