"""Hashed page tables: one table of all pages of a memory, with open addressing.

Yaniv & Tsafrir, *Hash, Don't Cache (the Page Table)*, SIGMETRICS 2016: eight neighbouring pages
share a slot of one line, and what finds its slot taken goes to the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError, UserError
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.registry import Slot, register_policy
from gpusim.hardware.walk.table_layout import LINE_BYTES, Step, TableLayout, TableSite, mixed

CLUSTER: Final = 8
"""Neighbouring pages of a slot."""
_SIZE_SHIFT: Final = 60
_GONE: Final = -1
"""Key of a slot whose pages are all unmapped: a walk goes on behind it."""


class _Slots:
    """An open-addressed table: the key of each slot that is or was in use.

    Args:
        slots: how many, a power of two.
        base: physical address of the first one.
    """

    def __init__(self, slots: int, base: int) -> None:
        self._count = slots
        self._base = base
        self._keys: dict[int, int] = {}
        self._pages: dict[int, int] = {}
        """By key: how many of its pages are mapped."""

    def probes(self, key: int) -> list[int]:
        """Addresses of the slots that are read, up to that of the key, or the first unused one."""
        place = mixed(key) % self._count
        found = [self._base + place * LINE_BYTES]
        while (there := self._keys.get(place)) is not None and there != key:
            place = (place + 1) % self._count
            found.append(self._base + place * LINE_BYTES)
            if len(found) > self._count:
                break
        return found

    def insert(self, key: int) -> bool:
        """A page of a slot is mapped; False: the table is full."""
        if key in self._pages:
            self._pages[key] += 1
            return True
        place = mixed(key) % self._count
        for _ in range(self._count):
            if self._keys.get(place, _GONE) == _GONE:
                self._keys[place] = key
                self._pages[key] = 1
                return True
            place = (place + 1) % self._count
        return False

    def remove(self, key: int) -> None:
        """A page of a slot is unmapped; the slot of the last one is a gap from now on."""
        self._pages[key] -= 1
        if self._pages[key]:
            return
        del self._pages[key]
        place = mixed(key) % self._count
        while self._keys[place] != key:
            place = (place + 1) % self._count
        self._keys[place] = _GONE


@mypyc_attr(allow_interpreted_subclasses=True)
class HashedTable(TableLayout):
    """One hash table for all address spaces of a memory.

    A walk reads slot after slot, from where the hash of its page leads to the one that has it.
    Where pages of several sizes are mapped, each size is looked for at the same time, as the walk
    does not know which one it is [our choice].  Slots of pages that are gone stay in the way until
    another page takes them.

    Args:
        site: what it is made with.
        load: share of the slots in use when all of memory is mapped by the smallest pages.

    Raises:
        OptionError: that is no share.
    """

    moves = True

    def __init__(self, site: TableSite, *, load: float = 0.5) -> None:
        if not 0 < load <= 1:
            raise OptionError("load", "must be above 0, and 1 or less")
        super().__init__(site)
        self.levels = 4
        self._slots = 1
        while self._slots * load * CLUSTER < site.frames:
            self._slots *= 2
        self._tables: dict[int, _Slots] = {}
        self._sizes: dict[int, dict[int, int]] = {}
        """By address space: sizes of its pages, as powers of two, and how many of each."""

    def steps(self, tag: int, mapping: Mapping | None) -> Sequence[Step]:
        asid = tag >> ASID_SHIFT
        table = self._table(asid)
        own = 0 if mapping is None else mapping.pages.bit_length() - 1
        sizes = [own, *(one for one in self._sizes.get(asid, {}) if one != own)]
        chains = [table.probes(_key(tag, size)) for size in sizes]
        length = len(chains[0]) if mapping is not None else max(map(len, chains))
        steps = []
        for number in range(length):
            reads = [chain[number] for chain in chains if number < len(chain)]
            steps.append(Step(reads[0], tuple(reads[1:])))
        return steps

    def mapped(self, mapping: Mapping) -> None:
        size, sizes = mapping.pages.bit_length() - 1, self._sizes.setdefault(mapping.asid, {})
        if not self._table(mapping.asid).insert(_key(mapping.tag, size)):
            raise UserError(
                f"memory.table: all {self._slots} slots of the hash table are in use; "
                "lower memory.table.load"
            )
        sizes[size] = sizes.get(size, 0) + 1

    def unmapped(self, mapping: Mapping) -> None:
        size, sizes = mapping.pages.bit_length() - 1, self._sizes[mapping.asid]
        self._table(mapping.asid).remove(_key(mapping.tag, size))
        sizes[size] -= 1
        if not sizes[size]:
            del sizes[size]

    def _table(self, asid: int) -> _Slots:
        memory = self.site.memory_of(asid)
        table = self._tables.get(memory)
        if table is None:
            base = self.site.reserve(asid, self._slots * LINE_BYTES)
            table = self._tables[memory] = _Slots(self._slots, base)
        return table


def _key(tag: int, size: int) -> int:
    """What a slot is found by: the eight pages of a size around a page."""
    return size << _SIZE_SHIFT | (tag >> size) // CLUSTER


register_policy(Slot.PAGE_TABLE, "hashed", HashedTable)
