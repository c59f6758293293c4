"""Set indices that fold all bits of the page number (TunneLs, CCS 2023, Table 1)."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from gpusim.config.schema import TlbConfig
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

    Args:
        array: whose sets are the low bits of the page number.
        config: the TLB.

    Raises:
        OptionError: the array chooses its sets in another way, or has one set only.
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

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        return self._look_inside(self._renamed(tag), slot)

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        return self.array.insert(self._renamed(tag), mapping, slot)

    def invalidate(self, tag: int) -> bool:
        return self.array.invalidate(self._renamed(tag))

    def _renamed(self, tag: int) -> int:
        """The name of a page inside: the low bits of its base are the index of its set."""
        above = (tag & VPN_MASK) >> self._shift + self._bits
        fold = 0
        while above:
            fold ^= above
            above >>= self._bits
        return tag ^ (fold & self._mask) << self._shift
