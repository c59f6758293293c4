"""TLBs made of sets; the plain one is indexed by the low bits of the page number."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve
from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.errors import OptionError
from gpusim.core.mapping import Mapping
from gpusim.core.mapping_sets import MappingSets
from gpusim.core.registry import Slot, make_policy, register_policy
from gpusim.core.replacement import is_plain_lru
from gpusim.core.replacement.recency_sets import RecencyMappings
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.core.unboxed import MYPYC
from gpusim.hardware.tlb.array import ArrayTraits, TlbArray, state_cycles
from gpusim.hardware.tlb.plain_sets import KindMappingSets, PlainMappingSets
from gpusim.hardware.tlb.sets import PlainSet, PlainSets, SetKind, spills_of, stages_of

if MYPYC:
    from gpusim.core.compiled_only.lru_mapping_sets import LruMappingSets
    from gpusim.core.compiled_only.lru_sets import FEW_WAYS

_METHODS = ("find", "ways_for", "insert", "remove", "clear")
"""Methods of a set."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ArrayOfSets(TlbArray):
    """What arrays of sets share, whatever chooses among the sets and whatever a set holds.

    Args:
        config: its shape and kind of sets; an entry maps one page, or a `Range` of them.
        indexed: whether low bits of the page number choose the set.
    """

    replaces = True

    def __init__(self, config: TlbConfig, *, indexed: bool) -> None:
        count = config.entries // config.ways
        kind: SetKind = make_policy(Slot.TLB_SET, config.sets, config)
        self._kind = kind
        self._index_bits = bits_for(count) if indexed else 0
        self._sets = [kind.make(self._index_bits) for _ in range(count)]
        lacking = [name for name in _METHODS if not hasattr(self._sets[0], name)]
        if lacking:
            made = type(self._sets[0]).__name__
            raise OptionError("sets", f"makes sets of type {made}, which lack {', '.join(lacking)}")
        state_cycles(self, stages_of(kind))

    def attach(self, signals: Signals) -> None:
        self._kind.attach(signals)

    def traits(self) -> ArrayTraits:
        return evolve(super().traits(), spills=spills_of(self._kind))

    def spill_into(self, spilled: list[dict[int, Mapping]]) -> None:
        super().spill_into(spilled)
        self._kind.gone = []

    def flush(self) -> None:
        for one in self._sets:
            one.clear()

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        page_bits = dimensions.page_bits - self._index_bits
        of_a_set = self._kind.storage(page_bits, dimensions.frame_bits)
        return None if of_a_set is None else [one.times(len(self._sets)) for one in of_a_set]

    def policies(self) -> Sequence[tuple[str, object]]:
        return (("sets", self._kind),)

    def counters(self) -> tuple[object, ...]:
        return self._kind.counters()


@mypyc_attr(allow_interpreted_subclasses=True)
class SetAssociativeArray(ArrayOfSets):
    """`entries` in sets of `ways`; ways = entries is fully associative.

    An entry of plain sets maps a page of any size; the sets of all sizes that have come so far are
    looked up at once [our choice].  Sets of another kind keep the small page that was asked for.
    """

    def __init__(self, config: TlbConfig) -> None:
        super().__init__(config, indexed=True)
        self._mask = len(self._sets) - 1
        self._entries = config.entries
        self._of_ranges = config.sub_entries > 1
        """A range knows its frames by itself, whatever its name in here is."""
        self._large: list[int] = []
        """Sizes of larger pages that have come, as powers of two."""
        plain = [one for one in self._sets if isinstance(one, PlainSet)]
        self._plain = bool(plain)
        self._mappings: MappingSets = KindMappingSets(self._sets, self._kind)
        if plain:
            self._mappings = PlainMappingSets(plain, self._kind.replacement)
        if type(self._kind) is PlainSets and is_plain_lru(self._kind.replacement):
            self._mappings = _lru_mappings(len(self._sets), config.ways)

    def traits(self) -> ArrayTraits:
        stated = super().traits()
        if self._plain and not self._of_ranges:
            return evolve(stated, large_pages="whole", hashable=True)
        return evolve(stated, hashable=self._of_ranges, spills_entries=False)

    def reach(self) -> int | None:
        return self._entries if self._plain and not self._large else None

    def flush(self) -> None:
        self._mappings.clear()

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        mappings = self._mappings
        found = mappings.find(tag & self._mask, tag)
        if found is None:
            for size in self._large:
                found = mappings.find(tag >> size & self._mask, _key(tag, size))
                if found is not None:
                    break
        return found

    def peek(self, tag: int, slot: int) -> Mapping | None:
        if not self._plain:
            return super().peek(tag, slot)
        mappings = self._mappings
        found = mappings.look(tag & self._mask, tag)
        if found is None:
            for size in self._large:
                found = mappings.look(tag >> size & self._mask, _key(tag, size))
                if found is not None:
                    break
        return found

    def next_victim(self, tag: int) -> int | None:
        if not self._plain:
            return super().next_victim(tag)
        gone = self._mappings.next_victim(tag & self._mask)
        return None if gone is None else gone.tag

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        if mapping.pages == 1 or not self._plain:
            return self._mappings.insert(tag & self._mask, tag, mapping, self.spilled)
        size = mapping.pages.bit_length() - 1
        if size not in self._large:
            self._large.append(size)
        index = tag >> size & self._mask
        return self._mappings.insert(index, _key(tag, size), mapping, self.spilled)

    def invalidate(self, tag: int) -> bool:
        found = self._mappings.remove(tag & self._mask, tag)
        for size in self._large:
            found |= self._mappings.remove(tag >> size & self._mask, _key(tag, size))
        return found

    def beside(self, tag: int, pages: int = 1) -> tuple[int, ...] | None:
        """First pages of what is in the set to which a page of `pages` small ones would go.

        None: its sets are not plain.
        """
        if not self._plain:
            return None
        index = tag >> pages.bit_length() - 1 & self._mask
        return tuple(self._mappings.first_pages(index))


register_policy(Slot.TLB_ARRAY, "set-associative", SetAssociativeArray)


def _lru_mappings(sets: int, ways: int) -> MappingSets:
    """Empty sets for plain LRU."""
    if MYPYC and ways <= FEW_WAYS:
        return LruMappingSets(sets, ways)
    return RecencyMappings(sets, ways)


def _key(tag: int, size: int) -> int:
    """The name of the page of ``1 << size`` small ones around a page: no tag of a small one."""
    return -(tag >> size << 8 | size)
