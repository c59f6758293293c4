"""A cache whose sets are chosen by an XOR-fold of the line number."""

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
class HashedCacheArray(CacheArray):
    """Lines in sets that are chosen by all bits of their numbers.

    Of a line number, groups of as many bits as tell the sets apart are XORed: the lowest group is
    replaced by the fold of all, which makes another number of each.  Under that number, a line lies
    in an array without a hash.  Lines that are a power of two apart, as those of a column of a
    matrix, so go to different sets.  The address space does not matter [our choice].

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

    def missing(self, line: int, sectors: int) -> int:
        return super().missing(self._renamed(line), sectors)

    def fill(self, line: int, state: int) -> Gone:
        gone, left = super().fill(self._renamed(line), state)
        return self._renamed(gone), left

    def use(self, line: int, sectors: int, filled: int) -> int:
        return super().use(self._renamed(line), sectors, filled)

    def set_of(self, line: int) -> int:
        return super().set_of(self._renamed(line))

    def evict(self, line: int) -> Gone:
        gone, state = super().evict(line)
        return self._renamed(gone), state

    def state(self, line: int) -> int:
        return super().state(self._renamed(line))

    def remove(self, line: int) -> int:
        return super().remove(self._renamed(line))

    def lines(self) -> Iterator[int]:
        for line in super().lines():
            yield self._renamed(line)

    def mark(self, line: int, state: int) -> None:
        super().mark(self._renamed(line), state)

    def _renamed(self, line: int) -> int:
        """The name of a line inside, and back: the groups that are folded are the same in both."""
        above = (line & VPN_MASK) >> self._bits
        fold = 0
        while above:
            fold ^= above
            above >>= self._bits
        return line ^ (fold & self._mask)


def l1_array(config: L1Config) -> CacheArray:
    """The array of an L1 cache of its `size`."""
    lines = config.size // config.line
    if config.hash is None:
        return CacheArray(lines, config.ways, replacement=config.replacement)
    return HashedCacheArray(lines, config.ways, config.replacement)
