"""Radix page tables that lie in simulated physical memory."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from gpusim.core.errors import UserError
from gpusim.hardware.walk.memory import Memory

ENTRY_BYTES = 8
_INDEX_BITS = 9
"""A table is a 4 KiB page of 512 entries."""


@frozen
class PagePath:
    """What a walk of one page reads.

    Attributes:
        entries: physical address of the entry read at each level, root first.
        prefixes: for each of these entries the part of the page number that selects it and all
            above it: what a walk cache is keyed by.
        pfn: the frame found in the last one.
    """

    entries: tuple[int, ...]
    prefixes: tuple[int, ...]
    pfn: int


class PageTable:
    """One radix tree an address space; pages are mapped when they are first asked for.

    A virtual page number is cut, from its low bits up, into 9-bit indices (5 bits for the leaf
    level of 64 KiB pages, which then uses every 16th entry of its table, as the hardware that
    marks 16 neighbouring 4 KiB entries).

    Args:
        page_bytes: 4 KiB, 64 KiB or 2 MiB.
        levels: of 4 KiB pages; 2 MiB pages take one less.
        memories: by address space, where its pages and tables lie.
    """

    def __init__(self, page_bytes: int, levels: int, memories: Sequence[Memory]) -> None:
        shift = page_bytes.bit_length() - 1
        self.page_shift = shift
        huge = shift >= 21
        self.levels = levels - 1 if huge else levels
        leaf_bits = 9 if huge else 21 - shift
        self._shifts = tuple(
            0 if level == self.levels - 1 else leaf_bits + _INDEX_BITS * (self.levels - 2 - level)
            for level in range(self.levels)
        )
        self._reach_bits = self._shifts[0] + _INDEX_BITS if self.levels > 1 else leaf_bits
        self._leaf_stride = 1 << (_INDEX_BITS - leaf_bits)
        self._leaf_mask = (1 << leaf_bits) - 1
        self._memories = memories
        self._tables: dict[tuple[int, int, int], int] = {}
        self._paths: dict[tuple[int, int], PagePath] = {}
        self._read_only: set[tuple[int, int]] = set()
        self.mapped_pages = 0

    def walk(self, asid: int, vpn: int) -> PagePath:
        """What the walk of a page reads, from the root down; maps the page if need be."""
        path = self._paths.get((asid, vpn))
        if path is None:
            path = self._map(asid, vpn)
            self._paths[asid, vpn] = path
        return path

    def translate(self, asid: int, vpn: int) -> int:
        """The frame of a page."""
        return self.walk(asid, vpn).pfn

    def known(self, asid: int, vpn: int) -> int | None:
        """The frame of a page if it has one by now."""
        path = self._paths.get((asid, vpn))
        return None if path is None else path.pfn

    def remap(self, asid: int, vpn: int, pfn: int | None = None) -> int:
        """Map a page to another frame, a fresh one by default; returns it.

        Whoever keeps translations has to be told.
        """
        path = self.walk(asid, vpn)
        moved = evolve(path, pfn=self._memories[asid].new_frame() if pfn is None else pfn)
        self._paths[asid, vpn] = moved
        return moved.pfn

    def protect(self, asid: int, vpn: int, *, writable: bool) -> None:
        """Set the permission of a page; all pages may be written at first."""
        if writable:
            self._read_only.discard((asid, vpn))
        else:
            self._read_only.add((asid, vpn))

    def writable(self, asid: int, vpn: int) -> bool:
        """Whether stores to a page are allowed."""
        return (asid, vpn) not in self._read_only

    def _map(self, asid: int, vpn: int) -> PagePath:
        if vpn >> self._reach_bits:
            raise UserError(
                f"page {vpn:#x} lies beyond the {self._reach_bits} bits of page number that "
                f"{self.levels} levels of page table reach; raise memory.levels"
            )
        entries = []
        prefixes = []
        for level, shift in enumerate(self._shifts):
            prefix = vpn >> shift
            leaf = level == self.levels - 1
            bits = self._leaf_mask.bit_length() if leaf else _INDEX_BITS
            # The root is one table, however many bits are left for it.
            table = self._table(asid, level, prefix >> bits if level else 0)
            index = prefix & ((1 << bits) - 1)
            if leaf:
                index *= self._leaf_stride
            entries.append(table + index * ENTRY_BYTES)
            prefixes.append(prefix)
        self.mapped_pages += 1
        return PagePath(tuple(entries), tuple(prefixes), self._memories[asid].new_frame())

    def _table(self, asid: int, level: int, prefix: int) -> int:
        """Physical address of the table of `level` that `prefix` leads to."""
        key = (asid, level, prefix)
        address = self._tables.get(key)
        if address is None:
            address = self._memories[asid].new_table()
            self._tables[key] = address
        return address
