"""Caches whose sets are not chosen by the lowest bits of line numbers above those of the bank."""

from __future__ import annotations

from collections.abc import Iterator

from mypy_extensions import mypyc_attr

from gpusim.config.schema import LRU, L1Config
from gpusim.core.mapping import VPN_MASK
from gpusim.core.policy import PolicyConfig
from gpusim.core.state_sets import Gone
from gpusim.core.structures import bits_for
from gpusim.hardware.cache.array import CacheArray


@mypyc_attr(allow_interpreted_subclasses=True)
class RenamedCacheArray(CacheArray):
    """Lines that lie under other names in an array without a hash."""

    __slots__ = ()

    def missing(self, line: int, sectors: int) -> int:
        return super().missing(self._renamed(line), sectors)

    def fill(self, line: int, state: int) -> Gone:
        gone, left = super().fill(self._renamed(line), state)
        return self._original(gone), left

    def use(self, line: int, sectors: int, filled: int) -> int:
        return super().use(self._renamed(line), sectors, filled)

    def set_of(self, line: int) -> int:
        return super().set_of(self._renamed(line))

    def evict(self, line: int) -> Gone:
        gone, state = super().evict(line)
        return self._original(gone), state

    def state(self, line: int) -> int:
        return super().state(self._renamed(line))

    def remove(self, line: int) -> int:
        return super().remove(self._renamed(line))

    def lines(self) -> Iterator[int]:
        for name in super().lines():
            yield self._original(name)

    def mark(self, line: int, state: int) -> None:
        super().mark(self._renamed(line), state)

    def _renamed(self, line: int) -> int:
        """The name of a line inside; no other line has it."""
        raise NotImplementedError

    def _original(self, name: int) -> int:
        """The line that has a name inside."""
        raise NotImplementedError


class HashedCacheArray(RenamedCacheArray):
    """Lines in sets that are chosen by all bits of their numbers.

    Of a line number, groups of as many bits as tell the sets apart are XORed: the lowest group is
    replaced by the fold of all, which makes another number of each.  Lines that are a power of two
    apart, as those of a column of a matrix, so go to different sets.  The address space does not
    matter [our choice].

    Args:
        lines, ways, replacement: as those of `CacheArray`; a power of two of sets.
    """

    __slots__ = ("_bits", "_mask")

    def __init__(self, lines: int, ways: int, replacement: PolicyConfig = LRU) -> None:
        super().__init__(lines, ways, 1, replacement)
        self._number_sets()

    def take_over(self, other: CacheArray) -> None:
        super().take_over(other)
        self._number_sets()

    def _number_sets(self) -> None:
        self._bits = max(1, bits_for(self.sets))
        self._mask = self.sets - 1

    def _renamed(self, line: int) -> int:
        above = (line & VPN_MASK) >> self._bits
        fold = 0
        while above:
            fold ^= above
            above >>= self._bits
        return line ^ (fold & self._mask)

    def _original(self, name: int) -> int:
        return self._renamed(name)  # the groups that are folded are the same in both


class GroupedCacheArray(RenamedCacheArray):
    """The lines of a bank that gets neighbouring ones in groups, each in another set.

    Args:
        lines, ways, replacement: as those of `CacheArray`.
        banks: how many there are.
        group: lines of a group, a power of two.
    """

    __slots__ = ("_banks", "_group", "_shift")

    def __init__(
        self, lines: int, ways: int, banks: int, group: int, replacement: PolicyConfig = LRU
    ) -> None:
        super().__init__(lines, ways, banks, replacement)
        self._banks = banks
        self._group = group - 1
        self._shift = bits_for(group)

    def _renamed(self, line: int) -> int:
        turn, bank = divmod(line >> self._shift, self._banks)
        return (turn << self._shift | line & self._group) * self._banks + bank

    def _original(self, name: int) -> int:
        inside, bank = divmod(name, self._banks)
        number = (inside >> self._shift) * self._banks + bank
        return number << self._shift | inside & self._group


def l1_array(config: L1Config) -> CacheArray:
    """The array of an L1 cache of its `size`."""
    lines = config.size // config.line
    if config.hash is None:
        return CacheArray(lines, config.ways, replacement=config.replacement)
    return HashedCacheArray(lines, config.ways, config.replacement)
