"""TLBs made of sets; the plain one is indexed by the low bits of the page number."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.config.schema import TlbConfig
from gpusim.core.errors import OptionError
from gpusim.core.registry import Slot, make_policy, policy
from gpusim.core.request import NO_PAGE
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.tlb.array import TlbArray
from gpusim.hardware.tlb.sets import Entry, PlainSet, SetKind


class ArrayOfSets(TlbArray):
    """What arrays of sets share, whatever chooses among the sets and whatever a set holds.

    Args:
        config: its shape and kind of sets; an entry maps one page.
        indexed: whether low bits of the page number choose the set.
    """

    def __init__(self, config: TlbConfig, *, indexed: bool) -> None:
        if config.sub_entries != 1:
            raise OptionError(
                "sub_entries", 'must be 1 in an array of sets; a "sub-entry" array has more'
            )
        count = config.entries // config.ways
        kind: SetKind = make_policy(Slot.TLB_SET, config.sets, config)
        self._kind = kind
        self._index_bits = bits_for(count) if indexed else 0
        self._sets = [kind.make(self._index_bits) for _ in range(count)]
        self.extra_cycles = self.pipelined_cycles = kind.extra_cycles

    def flush(self) -> None:
        for one in self._sets:
            one.clear()

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        page_bits = dimensions.page_bits - self._index_bits
        of_a_set = self._kind.storage(page_bits, dimensions.frame_bits)
        return None if of_a_set is None else [one.times(len(self._sets)) for one in of_a_set]

    def counters(self) -> tuple[object, ...]:
        return self._kind.counters()


@policy(Slot.TLB_ARRAY, "set-associative")
class SetAssociativeArray(ArrayOfSets):
    """`entries` in sets of `ways`; ways = entries is fully associative."""

    def __init__(self, config: TlbConfig) -> None:
        super().__init__(config, indexed=True)
        self._mask = len(self._sets) - 1

    def lookup(self, tag: int, slot: int) -> int:
        entry = self._sets[tag & self._mask].find(tag)
        return NO_PAGE if entry is None else entry.pfn

    def insert(self, tag: int, pfn: int, slot: int) -> int:
        return self._sets[tag & self._mask].insert(Entry(tag, pfn))

    def invalidate(self, tag: int) -> bool:
        return self._sets[tag & self._mask].remove(tag)

    def beside(self, tag: int) -> tuple[int, ...] | None:
        """Pages in the set in which a page may be; None: its sets are not plain."""
        pages = self._sets[tag & self._mask]
        return tuple(pages.entries) if isinstance(pages, PlainSet) else None
