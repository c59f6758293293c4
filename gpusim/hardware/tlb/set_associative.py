"""TLBs made of sets; the plain one is indexed by the low bits of the page number."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve
from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.errors import OptionError
from gpusim.core.mapping import Mapping
from gpusim.core.registry import Slot, make_policy, register_policy
from gpusim.core.replacement import is_plain_lru
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.core.unboxed import MYPYC
from gpusim.hardware.tlb.array import ArrayTraits, TlbArray, state_cycles
from gpusim.hardware.tlb.sets import Entry, PlainSet, PlainSets, SetKind, stages_of

if MYPYC:
    from gpusim.core.compiled_only.lru_sets import FEW_WAYS
    from gpusim.core.compiled_only.mapping_sets import MappingSets

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
        self._replacement = self._kind.replacement
        self._plain = [one.entries for one in self._sets if isinstance(one, PlainSet)]
        """Entries of the sets, which have these numbers for the replacement policy, too."""
        self._large: list[int] = []
        """Sizes of larger pages that have come, as powers of two."""
        self._flat: MappingSets | None = None
        """What its sets hold where gpusim is compiled and they are plain and small; else None."""
        plain = type(self._kind) is PlainSets and is_plain_lru(self._replacement)
        if MYPYC and plain and config.ways <= FEW_WAYS:
            self._flat = MappingSets(len(self._sets), config.ways)

    def traits(self) -> ArrayTraits:
        stated = super().traits()
        if self._of_ranges:
            return evolve(stated, hashable=True)
        if not self._plain:
            return stated
        return evolve(stated, large_pages="whole", hashable=True, spills=True)

    def reach(self) -> int | None:
        return self._entries if self._plain and not self._large else None

    def flush(self) -> None:
        super().flush()
        if self._flat is not None:
            self._flat.clear()

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        index = tag & self._mask
        if self._flat is not None:
            return self._in_flat(self._flat, tag, used=True)
        if not self._plain:
            entry = self._sets[index].find(tag)
            return None if entry is None else entry.mapping
        entry = self._plain[index].get(tag)
        if entry is not None:
            self._replacement.touch(index, tag)
            return entry.mapping
        for size in self._large:
            entry = self._sets[tag >> size & self._mask].find(_key(tag, size))
            if entry is not None:
                return entry.mapping
        return None

    def _in_flat(self, flat: MappingSets, tag: int, *, used: bool) -> Mapping | None:
        """What covers a page, where sets are side by side."""
        number = flat.find(tag & self._mask, tag)
        if number < 0:
            for size in self._large:
                number = flat.find(tag >> size & self._mask, _key(tag, size))
                if number >= 0:
                    break
            else:
                return None
        if used:
            flat.touch(number)
        return flat.mappings[number]

    def peek(self, tag: int, slot: int) -> Mapping | None:
        if self._flat is not None:
            return self._in_flat(self._flat, tag, used=False)
        if not self._plain:
            return super().peek(tag, slot)
        entry = self._plain[tag & self._mask].get(tag)
        if entry is not None:
            return entry.mapping
        for size in self._large:
            entry = self._plain[tag >> size & self._mask].get(_key(tag, size))
            if entry is not None:
                return entry.mapping
        return None

    def next_victim(self, tag: int) -> int | None:
        flat = self._flat
        if flat is not None:
            gone = flat.next_victim(tag & self._mask)
            return None if gone is None else gone.tag
        one = self._sets[tag & self._mask]
        if not isinstance(one, PlainSet):
            return super().next_victim(tag)
        return one.victim().mapping.tag if one.full else None

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        if self.spilled is not None:
            return self._insert_and_spill(tag, mapping, self.spilled)
        flat = self._flat
        if flat is not None and mapping.pages == 1:
            return flat.insert(tag & self._mask, tag, mapping)
        if mapping.pages == 1 or not self._plain:
            return self._sets[tag & self._mask].insert(Entry(tag, mapping))
        size = mapping.pages.bit_length() - 1
        if size not in self._large:
            self._large.append(size)
        if flat is not None:
            return flat.insert(tag >> size & self._mask, _key(tag, size), mapping)
        return self._sets[tag >> size & self._mask].insert(Entry(_key(tag, size), mapping))

    def _insert_and_spill(
        self, tag: int, mapping: Mapping, spilled: list[dict[int, Mapping]]
    ) -> int:
        """Insert as `insert` does, and note what goes in `spilled`, by its first page."""
        size = mapping.pages.bit_length() - 1
        key = _key(tag, size) if size else tag
        if size and size not in self._large:
            self._large.append(size)
        flat = self._flat
        if flat is not None:
            return flat.insert(tag >> size & self._mask, key, mapping, spilled)
        one = self._sets[tag >> size & self._mask]
        assert isinstance(one, PlainSet)
        evicted = 0
        if one.full and key not in one.entries:
            gone = one.victim()
            one.take(gone.tag)
            name = gone.tag if gone.mapping.pages == 1 else gone.mapping.tag
            spilled.append({name: gone.mapping})
            evicted = 1
        one.insert(Entry(key, mapping))
        return evicted

    def invalidate(self, tag: int) -> bool:
        flat = self._flat
        if flat is not None:
            gone = flat.remove(tag & self._mask, tag)
            for size in self._large:
                gone |= flat.remove(tag >> size & self._mask, _key(tag, size))
            return gone
        found = self._sets[tag & self._mask].remove(tag)
        for size in self._large:
            found |= self._sets[tag >> size & self._mask].remove(_key(tag, size))
        return found

    def beside(self, tag: int, pages: int = 1) -> tuple[int, ...] | None:
        """First pages of what is in the set to which a page of `pages` small ones would go.

        None: its sets are not plain.
        """
        index = tag >> pages.bit_length() - 1 & self._mask
        if self._flat is not None:
            return tuple(self._flat.first_pages(index))
        one = self._sets[index]
        if not isinstance(one, PlainSet):
            return None
        return tuple(key if key >= 0 else kept.mapping.tag for key, kept in one.entries.items())


register_policy(Slot.TLB_ARRAY, "set-associative", SetAssociativeArray)


def _key(tag: int, size: int) -> int:
    """The name of the page of ``1 << size`` small ones around a page: no tag of a small one."""
    return -(tag >> size << 8 | size)
