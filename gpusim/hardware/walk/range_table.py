"""Range tables: a tree of runs of pages that lie side by side, whatever their number.

Karakostas et al., *Redundant Memory Mappings for Fast Access to Large Memories*, ISCA 2015: ranges
in a B-tree, which a walker searches in the place of the page table.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.core.errors import at_least
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.registry import Slot, register_policy
from gpusim.hardware.walk.memory import TABLE_BYTES
from gpusim.hardware.walk.table_layout import LINE_BYTES, Step, TableLayout, TableSite


@frozen(eq=False, repr=False)
class Range:
    """Neighbouring pages in neighbouring frames, with one permission.

    Attributes:
        first, end: tags, `end` is the one behind the last page.
        delta: what has to be added to a page number to have the frame's.
        writable: whether stores are allowed.
    """

    first: int
    end: int
    delta: int
    writable: bool


class _Ranges:
    """The ranges of one address space, in order."""

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.ranges: list[Range] = []

    def index(self, tag: int) -> int:
        """Number of the last range that begins at a page or before it; -1: none does."""
        return bisect_right(self.firsts, tag) - 1

    def add(self, mapping: Mapping) -> None:
        """A page is mapped: it makes the ranges beside it longer, or one."""
        new = Range(mapping.tag, mapping.tag + mapping.pages, mapping.delta, mapping.writable)
        place = self.index(new.first) + 1
        if place < len(self.ranges) and _continues(new, behind := self.ranges[place]):
            new = Range(new.first, behind.end, new.delta, new.writable)
            self._replace(place, place + 1, [])
        if place and _continues(before := self.ranges[place - 1], new):
            new = Range(before.first, new.end, new.delta, new.writable)
            place -= 1
            self._replace(place, place + 1, [])
        self._replace(place, place, [new])

    def remove(self, mapping: Mapping) -> None:
        """A page is unmapped: its range ends before it, and another one begins behind it."""
        place = self.index(mapping.tag)
        old, end = self.ranges[place], mapping.tag + mapping.pages
        parts = [
            Range(old.first, mapping.tag, old.delta, old.writable),
            Range(end, old.end, old.delta, old.writable),
        ]
        self._replace(place, place + 1, [one for one in parts if one.first < one.end])

    def _replace(self, first: int, end: int, ranges: list[Range]) -> None:
        self.ranges[first:end] = ranges
        self.firsts[first:end] = [one.first for one in ranges]


def _continues(before: Range, behind: Range) -> bool:
    """Whether two ranges are one."""
    return (
        before.end == behind.first
        and before.delta == behind.delta
        and before.writable == behind.writable
    )


@mypyc_attr(allow_interpreted_subclasses=True)
class RangeTable(TableLayout):
    """A balanced tree of an address space's ranges; a walk reads one node a level.

    The tree is full, its nodes in the order of the ranges [our choice: as one that was built at
    once; a B-tree that grew has up to twice the nodes].  Few ranges are one node, and one read.
    Every TLB entry still maps a page; a TLB of ranges is `docs/examples/range_tlb.py`.

    Args:
        site: what it is made with.
        fanout: ranges or children of a node.
    """

    moves = True

    def __init__(self, site: TableSite, *, fanout: int = 8) -> None:
        at_least(2, fanout=fanout)
        super().__init__(site)
        self.levels = 4
        self._fanout = fanout
        self._node_bytes = -(-fanout * 24 // LINE_BYTES) * LINE_BYTES
        """Of 24 bytes a range: two page numbers and a difference (RMM §4.2)."""
        self._spaces: dict[int, _Ranges] = {}
        self._tables: dict[tuple[int, int, int], int] = {}

    def ranges(self, asid: int) -> Sequence[Range]:
        """The ranges of an address space, in order."""
        return tuple(self._space(asid).ranges)

    def steps(self, tag: int, mapping: Mapping | None) -> Sequence[Step]:
        asid = tag >> ASID_SHIFT
        space = self._space(asid)
        index, count = max(space.index(tag), 0), max(len(space.ranges), 1)
        path: list[int] = []
        level = 0
        while not path or count > 1:
            index //= self._fanout
            count = -(-count // self._fanout)
            path.append(self._node(asid, level, index))
            level += 1
        return [Step(address) for address in reversed(path)]

    def mapped(self, mapping: Mapping) -> None:
        self._space(mapping.asid).add(mapping)

    def unmapped(self, mapping: Mapping) -> None:
        self._space(mapping.asid).remove(mapping)

    def _space(self, asid: int) -> _Ranges:
        return self._spaces.setdefault(asid, _Ranges())

    def _node(self, asid: int, level: int, index: int) -> int:
        """Physical address of a node; level 0 has the ranges."""
        in_a_table = max(TABLE_BYTES // self._node_bytes, 1)
        key = (asid, level, index // in_a_table)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = self.site.reserve(asid, in_a_table * self._node_bytes)
        return table + index % in_a_table * self._node_bytes


register_policy(Slot.PAGE_TABLE, "range", RangeTable)
