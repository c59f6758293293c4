"""Elastic cuckoo page tables: hash tables of several ways that grow bit by bit.

Skarlatos et al., *Elastic Cuckoo Page Tables: Rethinking Virtual Memory Translation for
Parallelism*, ASPLOS 2020: a walk reads all ways at once, whatever else has to be found out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError, at_least, one_of
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.registry import Slot, register_policy
from gpusim.hardware.walk.hashed_table import CLUSTER
from gpusim.hardware.walk.table_layout import LINE_BYTES, Step, TableLayout, TableSite, mixed

_MOST_MOVES: Final = 32
"""Entries that one insertion may move from way to way before the ways grow at once (§4.1)."""
_GROWTH: Final = 2
"""By which a way becomes larger (§5)."""


class _Table:
    """One way in one size: the keys of its slots in use.

    Attributes:
        count: slots.
        base: physical address of the first one.
        keys: by slot.
    """

    def __init__(self, count: int, base: int) -> None:
        self.count = count
        self.base = base
        self.keys: dict[int, int] = {}


class _Way:
    """A way, which may be growing: entries of slots below `moved` are in the larger table.

    Attributes:
        number: among the ways, by which its hash differs.
        table: its slots.
        larger: those that it is growing into; None: it is not.
        moved: slots that have been emptied for that.
    """

    def __init__(self, number: int, table: _Table) -> None:
        self.number = number
        self.table = table
        self.larger: _Table | None = None
        self.moved = 0

    def home(self, key: int) -> tuple[_Table, int]:
        """The table and slot in which a key may be."""
        hashed = mixed(key, self.number)
        place = hashed % self.table.count
        if self.larger is not None and place < self.moved:
            return self.larger, hashed % self.larger.count
        return self.table, place

    def address(self, key: int) -> int:
        """Where a walk reads for a key."""
        table, place = self.home(key)
        return table.base + place * LINE_BYTES

    def has(self, key: int) -> bool:
        """Whether the key is in this way."""
        table, place = self.home(key)
        return table.keys.get(place) == key


class Cuckoo:
    """An elastic cuckoo hash table: the eight pages of a key in one slot.

    Args:
        ways: hash functions.
        slots: of each way at first, a power of two.
        threshold: share of slots in use at which it begins to grow.
        reserve: takes memory, by its bytes; returns its first address.

    Attributes:
        used: slots in use.
        moves: entries that insertions moved from one way to another.
        growths: how often it began to grow.
    """

    def __init__(
        self, ways: int, slots: int, threshold: float, reserve: Callable[[int], int]
    ) -> None:
        self._reserve = reserve
        self._threshold = threshold
        self._ways = [_Way(number, self._new(slots)) for number in range(ways)]
        self._pages: dict[int, int] = {}
        self.used = self.moves = self.growths = 0

    def addresses(self, key: int) -> list[int]:
        """Where a walk reads, one address a way; the slot that has the key first."""
        ways = sorted(self._ways, key=lambda way: not way.has(key))
        return [way.address(key) for way in ways]

    def insert(self, key: int) -> None:
        """A page of a key is mapped."""
        self._pages[key] = self._pages.get(key, 0) + 1
        if self._pages[key] > 1:
            return
        self.used += 1
        if not self._growing and self.used > self._threshold * self._capacity():
            self._begin_to_grow()
        homeless = self._place(key, 0)
        if homeless is not None:
            self._grow_at_once(homeless)
        elif self._growing:
            self._move_on()

    def remove(self, key: int) -> None:
        """A page of a key is unmapped; the slot of the last one is free again."""
        self._pages[key] -= 1
        if self._pages[key]:
            return
        del self._pages[key]
        self.used -= 1
        way = next(way for way in self._ways if way.has(key))
        table, place = way.home(key)
        del table.keys[place]

    def keys(self) -> Iterator[int]:
        """All keys, in no order of meaning."""
        for way in self._ways:
            yield from way.table.keys.values()
            if way.larger is not None:
                yield from way.larger.keys.values()

    @property
    def _growing(self) -> bool:
        return any(way.larger is not None for way in self._ways)

    def _capacity(self) -> int:
        return sum(way.table.count for way in self._ways)

    def _new(self, slots: int) -> _Table:
        return _Table(slots, self._reserve(slots * LINE_BYTES))

    def _place(self, key: int, first: int) -> int | None:
        """Put a key into a way from number `first` on; returns one that found no place, or None."""
        number = (mixed(key) + first) % len(self._ways)
        homeless: int | None = key
        for _ in range(_MOST_MOVES):
            assert homeless is not None
            free = next((way for way in self._ways if _is_free(way, homeless)), None)
            way = self._ways[number] if free is None else free
            table, place = way.home(homeless)
            there = table.keys.get(place)
            table.keys[place] = homeless
            homeless = there
            if homeless is None:
                return None
            self.moves += 1
            number = (way.number + 1) % len(self._ways)
        return homeless

    def _begin_to_grow(self) -> None:
        self.growths += 1
        for way in self._ways:
            way.larger, way.moved = self._new(way.table.count * _GROWTH), 0

    def _move_on(self) -> None:
        """Empty one slot of each way that grows, into its larger table."""
        for way in self._ways:
            larger = way.larger
            if larger is None:
                continue
            key = way.table.keys.pop(way.moved, None)
            way.moved += 1
            if key is not None:
                place = mixed(key, way.number) % larger.count
                there = larger.keys.get(place)
                larger.keys[place] = key
                lost = None if there is None else self._place(there, 1)
                if lost is not None:
                    self._grow_at_once(lost)
                    return
            if way.moved == way.table.count:
                way.table, way.larger = larger, None

    def _grow_at_once(self, homeless: int) -> None:
        """All ways become so large that each key has a place, also one that has lost its own."""
        keys = [*self.keys(), homeless]
        count = max(way.table.count for way in self._ways)
        placed = False
        while not placed:
            count *= _GROWTH
            self.growths += 1
            for way in self._ways:
                way.table, way.larger, way.moved = self._new(count), None, 0
            placed = [self._place(key, 0) for key in keys] == [None] * len(keys)


def _is_free(way: _Way, key: int) -> bool:
    table, place = way.home(key)
    return place not in table.keys


@mypyc_attr(allow_interpreted_subclasses=True)
class ElasticCuckooTable(TableLayout):
    """An elastic cuckoo table for each address space and size of pages.

    A walk reads a slot of each way at once, and goes on when the one with the page has come.  The
    sizes of which an address space has pages are read at once, too: ``sizes = "all"``, as if the
    cuckoo walk caches of the paper always missed; ``"known"``, as if they always knew the size.
    The memory of a table that has grown is not used again [our choice].

    Args:
        site: what it is made with.
        ways: hash functions (§5: three).
        slots: of each way at first, of eight pages each, a power of two.
        threshold: share of the slots in use at which ways grow to twice their size.
        sizes: of which tables are read for a page, ``"all"`` or ``"known"``.

    Raises:
        OptionError: an option cannot be.
    """

    moves = True

    def __init__(
        self,
        site: TableSite,
        *,
        ways: int = 3,
        slots: int = 1024,
        threshold: float = 0.6,
        sizes: str = "all",
    ) -> None:
        at_least(2, ways=ways)
        at_least(1, slots=slots)
        one_of(("all", "known"), sizes=sizes)
        if slots & (slots - 1):
            raise OptionError("slots", "must be a power of two")
        if not 0 < threshold < 1:
            raise OptionError("threshold", "must be above 0 and below 1")
        super().__init__(site)
        self._number_of_ways = ways
        self._slots = slots
        self._threshold = threshold
        self._knows_size = sizes == "known"
        self._tables: dict[int, dict[int, Cuckoo]] = {}
        """By address space and size of pages, as a power of two."""

    def steps(self, tag: int, mapping: Mapping | None) -> Sequence[Step]:
        asid = tag >> ASID_SHIFT
        own = 0 if mapping is None else mapping.pages.bit_length() - 1
        addresses = self._table(asid, own).addresses(_key(tag, own))
        if mapping is None or not self._knows_size:
            for size, table in self._tables[asid].items():
                if size != own and table.used:
                    addresses += table.addresses(_key(tag, size))
        return (Step(addresses[0], tuple(addresses[1:])),)

    def mapped(self, mapping: Mapping) -> None:
        size = mapping.pages.bit_length() - 1
        self._table(mapping.asid, size).insert(_key(mapping.tag, size))

    def unmapped(self, mapping: Mapping) -> None:
        size = mapping.pages.bit_length() - 1
        self._table(mapping.asid, size).remove(_key(mapping.tag, size))

    def _table(self, asid: int, size: int) -> Cuckoo:
        tables = self._tables.setdefault(asid, {})
        table = tables.get(size)
        if table is None:
            site = self.site
            table = tables[size] = Cuckoo(
                self._number_of_ways,
                self._slots,
                self._threshold,
                lambda bytes_: site.reserve(asid, bytes_),
            )
        return table


def _key(tag: int, size: int) -> int:
    """What a slot is found by: the eight pages of a size around a page."""
    return (tag >> size) // CLUSTER


register_policy(Slot.PAGE_TABLE, "elastic-cuckoo", ElasticCuckooTable)
