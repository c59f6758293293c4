"""A TLB with sub-entries whose ways are compared in groups, one after another (STAR §VI-C)."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.errors import OptionError, at_least
from gpusim.core.mapping import Mapping
from gpusim.core.registry import Slot, register_policy
from gpusim.hardware.tlb.sub_entry import SubEntryArray


@mypyc_attr(allow_interpreted_subclasses=True)
class GroupedSubEntryArray(SubEntryArray):
    """A `SubEntryArray` with comparators for one group of ways only.

    A lookup ends at the group that has the base of the page, or at the last one.  A new entry
    takes the first way that is vacant, or that of the entry evicted for it.

    Args:
        config: the TLB.
        groups: equal parts of the ways of a set, compared one after another.
        compare_cycles: cycles of the comparison with each further group [our choice: as for a
            second base in STAR].
        hold_port: a lookup that goes on to further groups holds the port until it ends [our choice:
            as in `StarArray`].
    """

    def __init__(
        self,
        config: TlbConfig,
        *,
        groups: int = 2,
        compare_cycles: int = 10,
        hold_port: bool = False,
    ) -> None:
        at_least(1, groups=groups)
        at_least(0, compare_cycles=compare_cycles)
        if config.ways % groups:
            raise OptionError("ways", f"must be a multiple of groups = {groups}")
        super().__init__(config)
        self._of_a_group = config.ways // groups
        self._compare_cycles = compare_cycles
        self._hold_port = hold_port
        self._places: list[dict[int, int]] = [{} for _ in self._sets]
        """By set and base: the way where an entry is."""

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        base = tag >> self._shift
        way = self._places[base & self._mask].get(base, self._ways - 1)
        self.extra_cycles = way // self._of_a_group * self._compare_cycles
        self.pipelined_cycles = 0 if self._hold_port else self.extra_cycles
        return super().lookup(tag, slot)

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        base = tag >> self._shift
        evicted = super().insert(tag, mapping, slot)
        places = self._places[base & self._mask]
        if base not in places:
            taken = set(places.values())
            places[base] = next(way for way in range(self._ways) if way not in taken)
        return evicted

    def invalidate(self, tag: int) -> bool:
        found = super().invalidate(tag)
        base = tag >> self._shift
        if found and base not in self._sets[base & self._mask]:
            del self._places[base & self._mask][base]
        return found

    def flush(self) -> None:
        super().flush()
        for places in self._places:
            places.clear()

    def _evict(self, index: int, victim: int) -> None:
        super()._evict(index, victim)
        del self._places[index][victim]


register_policy(Slot.TLB_ARRAY, "sub-entry-groups", GroupedSubEntryArray)
