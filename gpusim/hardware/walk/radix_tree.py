"""Where entries of page tables lie that are a radix tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gpusim.core.errors import UserError
from gpusim.hardware.walk.memory import TABLE_BYTES

SMALL_SHIFT: Final = 12
"""The tree is that of 4 KiB pages, whatever sizes are mapped in it."""
_SIZES: Final = (4 << 10, 64 << 10, 2 << 20)
"""Bytes of pages that can be mapped."""


class RadixTree:
    """The tables of all address spaces, which are made when a page below them is first traced.

    Args:
        levels: of 4 KiB pages.
        table_entries: of a table.
        page_shift: bits of an address below the number of the smallest page.
        new_table: physical address of a free page for a table of an address space.

    Attributes:
        levels: of a walk of the smallest pages.
    """

    def __init__(
        self, levels: int, table_entries: int, page_shift: int, new_table: Callable[[int], int]
    ) -> None:
        self._page_shift = page_shift
        self._unit = page_shift - SMALL_SHIFT
        """Bits of the number of a 4 KiB page below those of the smallest page."""
        self._index_bits = table_entries.bit_length() - 1
        self._entry_bytes = TABLE_BYTES // table_entries
        self._depth = levels
        self.levels = levels - self._unit // self._index_bits
        self._new_table = new_table
        self._tables: dict[tuple[int, int, int], int] = {}

    def trace(self, asid: int, vpn: int, pages: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Entries and prefixes of a page of `pages` of the smallest ones."""
        small = vpn << self._unit
        bits = self._index_bits
        entries, prefixes = [], []
        for level in range(self._depth - self._size(pages) // bits):
            prefix = small >> bits * (self._depth - 1 - level)
            table = self._table(asid, level, prefix >> bits)
            entries.append(table + (prefix & (1 << bits) - 1) * self._entry_bytes)
            prefixes.append(prefix)
        prefixes[-1] = vpn
        return tuple(entries), tuple(prefixes)

    def make(self, asid: int, first: int, end: int, pages: int) -> None:
        """Make the tables of neighbouring pages, as if they were traced one after the other."""
        bits = self._index_bits
        reach = 1 << bits * (self._size(pages) // bits + 1) >> self._unit
        for vpn in (first, *range((first // reach + 1) * reach, end, reach)):
            self.trace(asid, vpn, pages)

    def check_size(self, pages: int) -> None:
        """Raise a `UserError` if no page has `pages` of the smallest ones."""
        if pages != 1 and pages << self._page_shift not in _SIZES:
            raise UserError(
                f"memory.frames: a page of {pages} × {1 << self._page_shift >> 10} KiB cannot be; "
                "allowed: 4 KiB, 64 KiB and 2 MiB"
            )

    def _size(self, pages: int) -> int:
        """4 KiB pages of a page, as a power of two."""
        return pages.bit_length() - 1 + self._unit

    def _table(self, asid: int, level: int, prefix: int) -> int:
        """Physical address of the table of `level` that `prefix` leads to."""
        key = (asid, level, prefix)
        address = self._tables.get(key)
        if address is None:
            address = self._new_table(asid)
            self._tables[key] = address
        return address
