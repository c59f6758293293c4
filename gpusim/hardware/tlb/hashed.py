"""Set indices that fold all bits of the page number (TunneLs, CCS 2023, Table 1)."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from gpusim.config.translation import XOR_SLICES, TlbConfig
from gpusim.core.errors import OptionError
from gpusim.core.mapping import VPN_MASK, Mapping
from gpusim.core.structures import bits_for
from gpusim.hardware.tlb.array import TlbArray
from gpusim.hardware.tlb.wrapper import ArrayAround


@mypyc_attr(allow_interpreted_subclasses=True)
class HashedArray(ArrayAround):
    """An array whose sets are chosen by an XOR-fold of the page number.

    Of a page number without its sub-index, groups of as many bits as tell the sets apart are
    XORed: bit *i* of the index is the XOR of bits *i*, *i + n*, *i + 2n* and so on.  Since the
    groups above the lowest one stay in the name of the page, it is enough to give the array inside
    other names: with the lowest group replaced by the fold.  The address space does not matter
    [our choice], as to an array without a hash.  Of pages larger than the smallest, fewer bits
    are mixed [our choice: sizes side by side are looked up by one name].

    With ``"xor-slices"``, there are two slices of half of the sets.  The fold of as many bits
    fewer chooses the set of a slice, and the parity of all bits the slice, as in an A100's L3 TLB.
    Taken by the letter, that parity is the parity of the fold, too: each set is in use in one of
    the slices only.

    Args:
        array: whose sets are the low bits of the page number.
        config: the TLB.

    Raises:
        OptionError: the array chooses its sets in another way, or has one set only; pages larger
            than the smallest are in two slices.
    """

    def __init__(self, array: TlbArray, config: TlbConfig) -> None:
        super().__init__(array)
        if not self.inside.hashable:
            raise OptionError(
                "hash",
                f"of no effect: the array {config.array.policy!r} chooses its sets in its "
                "own way; leave it out",
            )
        if config.entries == config.ways:
            raise OptionError("hash", "of no effect: all entries are one set; leave it out")
        self._shift = bits_for(config.sub_entries)
        self._bits = bits_for(config.entries // config.ways)
        self._mask = (1 << self._bits) - 1
        self._sliced = config.hash == XOR_SLICES
        self._spilled_inside: list[dict[int, Mapping]] = []
        if self._sliced and self.inside.large_pages == "whole":
            raise OptionError(
                "hash", f"must not be {XOR_SLICES!r}: the slices would part a large page"
            )

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        found = self._look_inside(self._renamed(tag), slot)
        if self._spilled_inside:
            self._hand_on()
        return found

    def peek(self, tag: int, slot: int) -> Mapping | None:
        return self.array.peek(self._renamed(tag), slot)

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        evicted = self.array.insert(self._renamed(tag), mapping, slot)
        if self._spilled_inside:
            self._hand_on()
        return evicted

    def invalidate(self, tag: int) -> bool:
        found = self.array.invalidate(self._renamed(tag))
        if self._spilled_inside:
            self._hand_on()
        return found

    def spill_into(self, spilled: list[dict[int, Mapping]]) -> None:
        super().spill_into(spilled)
        self.array.spill_into(self._spilled_inside)

    def _hand_on(self) -> None:
        """What the array inside has evicted, by its own names; those of larger pages are theirs."""
        assert self.spilled is not None
        whole = self.inside.large_pages == "whole"
        for pages in self._spilled_inside:
            named = {
                name if whole and mapping.pages > 1 else self._page_named(name): mapping
                for name, mapping in pages.items()
            }
            self.spilled.append(named)
        self._spilled_inside.clear()

    def _renamed(self, tag: int) -> int:
        """The name of a page inside: the low bits of its base are the index of its set."""
        if self._sliced:
            return self._in_slice(tag)
        above = (tag & VPN_MASK) >> self._shift + self._bits
        fold = 0
        while above:
            fold ^= above
            above >>= self._bits
        return tag ^ (fold & self._mask) << self._shift

    def _in_slice(self, tag: int) -> int:
        """The name of a page inside an array of two slices: slice and set stand below its base."""
        page = tag & VPN_MASK
        base, inside = page >> self._shift, page & (1 << self._shift) - 1
        bits = self._bits - 1
        width = bits or 1  # of a slice of one set, the fold is the parity
        fold, above, parity = 0, base, 0
        while above:
            fold ^= above & (1 << width) - 1
            above >>= width
        rest = fold
        while rest:
            parity ^= rest & 1
            rest >>= 1
        index = parity << bits | fold & (1 << bits) - 1
        return tag & ~VPN_MASK | (base << self._bits | index) << self._shift | inside

    def _page_named(self, name: int) -> int:
        """The page that has a name inside."""
        if not self._sliced:
            return self._renamed(name)  # the bits above those that change are the page's own
        page = name & VPN_MASK
        base, inside = page >> self._shift >> self._bits, page & (1 << self._shift) - 1
        return name & ~VPN_MASK | base << self._shift | inside
