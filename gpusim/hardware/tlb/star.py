"""A TLB of sub-entries in which several base addresses may share an entry (STAR §V)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attr
from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.counters import count
from gpusim.core.errors import OptionError, at_least, one_of
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.registry import Slot, register_policy
from gpusim.core.replacement import Replacement, make_replacement, victim_of
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.tlb.array import TlbArray
from gpusim.hardware.tlb.star_entry import Base, Layout, LazyEntry, SharedEntry
from gpusim.hardware.tlb.utilisation import EvictedEntries


@attr.s(auto_attribs=True, repr=False)
class StarCounters:
    """What a TLB with shared entries did."""

    sequential_shares: int = count("bases that joined an entry in sequential layout")
    stride_shares: int = count("bases that joined an entry in stride layout")
    promotions: int = count("entries that went from two bases to more by that")
    conversion_losses: int = count("pages lost to aliases when an entry was laid out anew")
    conflicts: int = count("pages replaced by another one that needs their sub-entry")
    reverts: int = count("entries given to one base alone because its sub-entries were full")
    demotions: int = count("entries given to two bases of more because those of one were full")
    dropped_bases: int = count("bases that lost their place by reverts and demotions")
    dropped_pages: int = count("pages of these")


class _Set:
    """Entries of one set by their numbers, and where their bases are."""

    __slots__ = ("bases", "entries", "index", "last", "replacement")

    def __init__(self, replacement: Replacement, ways: int) -> None:
        self.bases: dict[int, Base] = {}
        self.entries: dict[int, SharedEntry] = {}
        self.last = 0
        """Highest number of a base: a lookup that matches none compares up to it."""
        self.replacement = replacement
        self.index = replacement.adopt(self.entries, ways)

    def use(self, entry: SharedEntry) -> None:
        """`entry` has been used."""
        self.replacement.touch(self.index, entry.number)

    def add(self, entry: SharedEntry) -> None:
        """A new entry."""
        self.entries[entry.number] = entry
        self.replacement.insert(self.index, entry.number)

    def remove(self, entry: SharedEntry) -> None:
        """An entry goes; its bases are to be forgotten."""
        del self.entries[entry.number]
        self.replacement.forget(self.index, entry.number)

    def forget(self, bases: Iterable[Base]) -> None:
        """Some bases are gone, or have other numbers."""
        for base in bases:
            del self.bases[base.vpb]
        if self.last:
            self.last = max((base.number for base in self.bases.values()), default=0)


@mypyc_attr(allow_interpreted_subclasses=True)
class StarArray(TlbArray):
    """Sub-entries of a full set are shared before one of its entries is evicted.

    A base that comes to a full set joins an entry with one base and less than half of its
    sub-entries in use: one of the same process if there is any, else the one with the fewest in
    use, and of these the first in the order of the replacement policy: with LRU the least recently
    used [our choice].  Each base then has half of the
    sub-entries; one that needs more gets the entry for itself (a revert).  A page larger than a
    sub-entry fills the one sub-entry that was asked for.

    Args:
        config: the TLB; `sub_entries` at least `bases`.
        bases: base addresses that may share an entry: 1 (a plain `SubEntryArray`), 2 or 4 (STAR
            §VI-B).
        layouts: layouts of a shared entry; ``"both"``: sequential if its pages have no gaps, else
            stride (STAR Fig. 12).
        single: layout of an entry with a single page, where `layouts` is ``"both"`` [our choice:
            ``"stride"``, as its other slots are empty, §V-B; ``"sequential"``: it has no gap].
        stride: distance in the stride layout, in sub-entries: a power of two (STAR Fig. 16).
        relocate: pages move to where a shared entry keeps them when it becomes shared [our choice:
            ``"eager"``, as the lookup of Algorithm 1 finds them there only], or when their place is
            needed (``"lazy"``, Algorithm 2); a lookup then looks at both.
        compare_cycles: cycles of each comparison with further bases after the first (STAR §V-B).
        hold_port: a lookup that compares further bases holds the port until it ends [our choice:
            the paper adds to the latency only].
    """

    replaces = True
    hashable = True
    spills = True
    spills_entries = False

    def __init__(
        self,
        config: TlbConfig,
        *,
        bases: int = 2,
        layouts: str = "both",
        single: str = "stride",
        stride: int = 1,
        relocate: str = "eager",
        compare_cycles: int = 10,
        hold_port: bool = False,
    ) -> None:
        one_of(("both", "sequential", "stride"), layouts=layouts)
        one_of(("stride", "sequential"), single=single)
        one_of(("eager", "lazy"), relocate=relocate)
        at_least(0, compare_cycles=compare_cycles)
        _check_sharing(config, bases, stride, relocate)
        sets = config.entries // config.ways
        self._config = config
        self._ways = config.ways
        self._mask = sets - 1
        self._shift = bits_for(config.sub_entries)
        self._process_shift = ASID_SHIFT - self._shift
        self._bases = bases
        self._kinds = layouts
        self._single_is_sequential = single == "sequential"
        self._lazy = relocate == "lazy"
        self._entry = LazyEntry if self._lazy else SharedEntry
        self._make_layouts(config.sub_entries, bits_for(stride))
        self._compare_cycles = [compare_cycles * number for number in range(bases)]
        self._pipelined_cycles = [0] * bases if hold_port else self._compare_cycles
        self._replacement = make_replacement(config.replacement, config.ways)
        self._sets = [_Set(self._replacement, config.ways) for _ in range(sets)]
        self._numbered = 0
        self._gone: dict[int, Mapping] = {}
        """Pages that have left the array for the one that is inserted."""
        self.star = StarCounters()
        self.evicted = EvictedEntries(config.sub_entries)

    def attach(self, signals: Signals) -> None:
        self._replacement.attach(signals)

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        vpb = tag >> self._shift
        one = self._sets[vpb & self._mask]
        base = one.bases.get(vpb)
        compared = one.last if base is None else base.number
        self.extra_cycles = self._compare_cycles[compared]
        self.pipelined_cycles = self._pipelined_cycles[compared]
        if base is None:
            return None
        mapping = base.pages.pop(tag, None)
        if mapping is not None:
            base.pages[tag] = mapping
            one.use(base.entry)
        return mapping

    def peek(self, tag: int, slot: int) -> Mapping | None:
        vpb = tag >> self._shift
        base = self._sets[vpb & self._mask].bases.get(vpb)
        return None if base is None else base.pages.get(tag)

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        vpb = tag >> self._shift
        one = self._sets[vpb & self._mask]
        base = one.bases.get(vpb)
        evicted = 0
        added = None
        self._gone.clear()
        if base is None:
            full = len(one.entries) >= self._ways
            entry = self._partner(one, vpb) if full else None
            if entry is None:
                if full:
                    self._evict(one)
                    evicted = 1
                self._numbered += 1
                entry = self._entry(self._private, self._numbered)
                one.add(entry)
                added = entry
            base = self._join(one, entry, vpb)
        elif len(base.pages) >= base.entry.layout.quota and tag not in base.pages:
            self._favour(one, base)
        self.star.conflicts += base.entry.place(base, tag, mapping, self._gone)
        if base.entry is not added:
            one.use(base.entry)
        if self.spilled is not None and self._gone:
            self.spilled.append(dict(self._gone))
        return evicted

    def invalidate(self, tag: int) -> bool:
        one = self._sets[tag >> self._shift & self._mask]
        base = one.bases.get(tag >> self._shift)
        if base is None or not base.entry.remove(base, tag):
            return False
        if not base.pages:
            entry = base.entry
            entry.bases.remove(base)
            if entry.bases:
                self._lay_out(entry, len(entry.bases))
            else:
                one.remove(entry)
            one.forget([base])
        return True

    def flush(self) -> None:
        for one in self._sets:
            for entry in list(one.entries.values()):
                one.remove(entry)
                one.forget(entry.bases)

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        base = dimensions.page_bits - self._shift - bits_for(len(self._sets))
        more = self._bases - 1
        shared = {
            "layout": self._bases.bit_length() if more else 0,
            "address identify bits": bits_for(self._bases) << self._shift,
            "further bases": more * base,
            "valid and dirty bits of them": 2 * more,
            "owners of sub-entries": 1 << self._shift if self._lazy and more else 0,
        }
        fields = {
            "valid and dirty bits": 2,
            "base of pages": base,
            "frames": dimensions.frame_bits << self._shift,
            **{name: bits for name, bits in shared.items() if bits},
        }
        return [Storage("entries", self._config.entries, fields)]

    def acted(self) -> int | None:
        """How often bases began to share an entry; with one base an entry there is no sharing."""
        return None if self._bases == 1 else self.star.sequential_shares + self.star.stride_shares

    def counters(self) -> tuple[object, ...]:
        return (self.star,)

    def counters_of(self, asid: int) -> tuple[object, ...]:
        return (self.evicted.counters_of(asid),)

    # -- sharing ---------------------------------------------------------------------------------

    def _make_layouts(self, sub_entries: int, stride_bit: int) -> None:
        """The layouts of an entry, by the number of its bases."""
        self._private = Layout(1, 0, sub_entries)
        self._sequential, self._stride = {1: self._private}, {1: self._private}
        for bases in (2, 4)[: self._bases // 2]:
            top = bits_for(sub_entries) - bits_for(bases)
            self._sequential[bases] = Layout(bases, top, sub_entries // bases)
            self._stride[bases] = Layout(bases, stride_bit, sub_entries // bases)
        if self._bases == 4:
            self._sequential[3], self._stride[3] = self._sequential[4], self._stride[4]

    def _partner(self, one: _Set, vpb: int) -> SharedEntry | None:
        """The entry that a new base is to join, if one may be shared."""
        if self._bases == 1:
            return None
        few = self._config.sub_entries // 2
        found = [way for way in one.entries.values() if len(way.bases) == 1 and way.used < few]
        if not found and self._bases == 4:
            found = [way for way in one.entries.values() if self._has_room(way)]
        if not found:
            return None
        process = vpb >> self._process_shift
        return min(
            found,
            key=lambda way: (
                all(base.vpb >> self._process_shift != process for base in way.bases),
                way.used,
            ),
        )

    def _has_room(self, entry: SharedEntry) -> bool:
        """Whether a shared entry can take a third or fourth base."""
        if len(entry.bases) == 2:
            few = self._config.sub_entries // 4
            return all(len(base.pages) < few for base in entry.bases)
        return len(entry.bases) == 3

    def _join(self, one: _Set, entry: SharedEntry, vpb: int) -> Base:
        """Take a new base into an entry, which is laid out for it."""
        bases = len(entry.bases) + 1
        if bases > entry.layout.bases:
            self.star.conversion_losses += self._lay_out(entry, bases)
            self.star.promotions += bases == 3
        base = one.bases[vpb] = entry.join(vpb)
        one.last = max(one.last, base.number)
        if bases > 1:
            sequential = entry.layout in self._sequential.values()
            self.star.sequential_shares += sequential
            self.star.stride_shares += not sequential
        return base

    def _lay_out(self, entry: SharedEntry, bases: int) -> int:
        """Give an entry the layout for `bases` bases; returns how many of its pages are lost."""
        layouts = self._sequential if self._is_sequential(entry) else self._stride
        return 0 if layouts[bases] is entry.layout else entry.arrange(layouts[bases], self._gone)

    def _is_sequential(self, entry: SharedEntry) -> bool:
        """The layout of a shared entry, or the one that it will have."""
        if entry.layout is not self._private:
            return entry.layout in self._sequential.values()
        if self._kinds != "both":
            return self._kinds == "sequential"
        pages = entry.bases[0].pages
        if len(pages) == 1:
            return self._single_is_sequential
        return max(pages) - min(pages) < len(pages)

    def _favour(self, one: _Set, base: Base) -> None:
        """A base whose sub-entries are full gets more of its entry; others lose their place.

        Of four bases the one with the most pages stays beside it [our choice].
        """
        entry = base.entry
        kept = {base}
        if entry.layout.bases == 4:
            others = (other for other in entry.bases if other is not base)
            kept.add(max(others, key=lambda other: len(other.pages)))
        dropped = [other for other in entry.bases if other not in kept]
        self.star.reverts += len(kept) == 1
        self.star.demotions += len(kept) == 2
        self.star.dropped_bases += len(dropped)
        for other in dropped:
            self.star.dropped_pages += len(other.pages)
            if self.spilled is not None:
                self._gone.update(other.pages)
        entry.bases = [other for other in entry.bases if other in kept]
        self._lay_out(entry, len(kept))
        one.forget(dropped)

    def _evict(self, one: _Set) -> None:
        """The entry that the replacement policy names goes, with all its bases."""
        entry = one.entries[victim_of(one.replacement, one.index, one.entries)]
        first = entry.bases[0]
        self.evicted.add(first.vpb << self._shift, entry.used)
        if self.spilled is not None:
            for base in entry.bases:
                self._gone.update(base.pages)
        one.remove(entry)
        one.forget(entry.bases)


register_policy(Slot.TLB_ARRAY, "star", StarArray)


def _check_sharing(config: TlbConfig, bases: int, stride: int, relocate: str) -> None:
    """Refuse what an entry cannot be shared by.

    Raises:
        OptionError: the first option or key that is wrong.
    """
    if bases not in (1, 2, 4):
        raise OptionError("bases", "must be 1, 2 or 4")
    if config.sub_entries < bases:
        raise OptionError("sub_entries", f"must be {bases} or more, as bases = {bases}")
    most = max(config.sub_entries // bases, 1)
    if stride not in [1 << bit for bit in range(bits_for(most) + 1)]:
        raise OptionError("stride", f"must be a power of two up to {most}, sub_entries / bases")
    if relocate == "lazy" and bases == 4:
        raise OptionError("relocate", 'must be "eager" with four bases')
