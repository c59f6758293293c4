"""Flattened page tables: a radix tree of which neighbouring levels are one large table.

Park et al., *Every Walk's a Hit: Making Page Walks Single-Access Cache Hits*, ASPLOS 2022.
"""

from __future__ import annotations

from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError, at_least
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping
from gpusim.core.registry import Slot, register_policy
from gpusim.hardware.walk.memory import TABLE_BYTES
from gpusim.hardware.walk.table_layout import Step, TableLayout, TableSite

_SMALL_SHIFT = 12


@mypyc_attr(allow_interpreted_subclasses=True)
class FlattenedTable(TableLayout):
    """A radix tree, `together` levels of which are one, counted from the leaves.

    With two, the four levels of 4 KiB tables are two of 2 MiB tables, and a walk is two reads.  A
    page of 64 KiB or 2 MiB is found by the first of its entries in the lowest table that still has
    several tables below (in the paper its entries are all the same).

    Args:
        site: what it is made with.
        together: levels that are one; 1: the plain radix tree.

    Raises:
        OptionError: the tree has fewer levels.
    """

    tree = True

    def __init__(self, site: TableSite, *, together: int = 2) -> None:
        at_least(1, together=together)
        if together > site.levels:
            raise OptionError("together", f"must be {site.levels} or less, the levels of the tree")
        super().__init__(site)
        bits = site.table_entries.bit_length() - 1
        whole, rest = divmod(site.levels, together)
        self._unit = site.page_shift - _SMALL_SHIFT
        self._cuts = [bits * rest] * (rest > 0) + [bits * together] * whole
        """Bits of the index of each level, the root first."""
        self._entry_bytes = TABLE_BYTES // site.table_entries
        self._tables: dict[tuple[int, int, int], int] = {}
        self.levels = len(self._depths(self._unit))

    def _depths(self, size: int) -> list[tuple[int, int]]:
        """Index bits, and bits below them, of each level of a page of ``1 << size`` of 4 KiB."""
        below = sum(self._cuts)
        found: list[tuple[int, int]] = []
        for bits in self._cuts:
            below -= bits
            found.append((bits, below))
            if size >= below and below:
                break
        return found

    def steps(self, tag: int, mapping: Mapping | None) -> Sequence[Step]:
        asid, vpn = tag >> ASID_SHIFT, tag & VPN_MASK
        pages = 1 if mapping is None else mapping.pages
        vpn = vpn // pages * pages
        small = vpn << self._unit
        steps = []
        for level, (bits, below) in enumerate(self._depths(pages.bit_length() - 1 + self._unit)):
            prefix = small >> below
            table = self._table(asid, level, prefix >> bits)
            place = (prefix & (1 << bits) - 1) * self._entry_bytes
            steps.append(Step(table + place, prefix=prefix))
        steps[-1] = Step(steps[-1].address, prefix=vpn)
        return steps

    def _table(self, asid: int, level: int, prefix: int) -> int:
        """Physical address of the table of `level` that `prefix` leads to."""
        key = (asid, level, prefix)
        address = self._tables.get(key)
        if address is None:
            size = (1 << self._cuts[level]) * self._entry_bytes
            address = self._tables[key] = self.site.reserve(asid, size)
        return address


register_policy(Slot.PAGE_TABLE, "flattened", FlattenedTable)
