"""Replacement that predicts which entries are dead: used for the last time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError, at_least
from gpusim.core.registry import Slot, register_policy
from gpusim.core.replacement.recency import Lru
from gpusim.core.structures import Storage, bits_for

MOST_USES: Final = 7
"""Where the counter of an entry's uses saturates (3 bits) [our choice]."""

LARGEST: Final = 3
"""What a counter of the predictor can hold (Khan et al.: 2 bits)."""

_FACTORS: Final = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
"""Odd, of 32 bits: they spread a signature over each of the three tables."""

_TAG_BITS: Final = 15
"""Bits of a partial tag in the sampler (Khan et al.); here it compares whole keys."""


class Predictor:
    """Three tables of counters, each indexed by another hash of a signature.

    Args:
        entries: of each table, a power of two.
        threshold: sum of the three counters from which on an entry is dead.
    """

    __slots__ = ("_shift", "_tables", "_threshold")

    def __init__(self, entries: int, threshold: int) -> None:
        self._shift = 33 - entries.bit_length()
        self._tables = [[0] * entries for _ in _FACTORS]
        self._threshold = threshold

    def train(self, signature: int, dead: bool) -> None:
        """An entry with this signature was used for the last time, or was used again."""
        for table, factor in zip(self._tables, _FACTORS, strict=True):
            index = (signature * factor & 0xFFFFFFFF) >> self._shift
            if dead:
                table[index] = min(table[index] + 1, LARGEST)
            else:
                table[index] = max(table[index] - 1, 0)

    def dead(self, signature: int) -> bool:
        """Whether an entry with this signature is not expected to be used again."""
        total = 0
        for table, factor in zip(self._tables, _FACTORS, strict=True):
            total += table[(signature * factor & 0xFFFFFFFF) >> self._shift]
        return total >= self._threshold


@mypyc_attr(allow_interpreted_subclasses=True)
class DeadEntry(Lru):
    """The least recently used entry that is predicted dead goes; if there is none, LRU's.

    Khan, Tian and Jimenez, *Sampling Dead Block Prediction for Last-Level Caches*, MICRO 2010: a
    few sets have a sampler beside them, tags in LRU order, which learns after which uses entries
    leave without another one; a predictor of three skewed tables says so of all others at each use.
    The signature of a use is there the program counter; [our choice: it is the region of the key,
    and how often the entry was used, because a TLB or an L2 cache of a GPU sees no program
    counter.  A use count as in Kharbutli and Solihin's counter-based prediction, IEEE Transactions
    on Computers 57(4), 2008.  The sampler has as many ways as a set.]

    Args:
        region: adjacent keys (pages, lines or bases of pages) that have one signature; a power of
            two.
        table: counters of each of the three tables; a power of two.
        threshold: sum of the three counters from which on an entry is predicted dead, up to 9.
        sample: one in `sample` sets has a sampler [our choice: of as many ways as the set].
    """

    def __init__(
        self, *, region: int = 16, table: int = 4096, threshold: int = 8, sample: int = 32
    ) -> None:
        at_least(1, region=region, table=table, threshold=threshold, sample=sample)
        for name, value in (("region", region), ("table", table)):
            if value & (value - 1):
                raise OptionError(name, "must be a power of two")
        if threshold > LARGEST * len(_FACTORS):
            raise OptionError("threshold", f"must be at most {LARGEST * len(_FACTORS)}")
        super().__init__()
        self._shift = region.bit_length() - 1
        self._table = table
        self._threshold = threshold
        self._sample = sample
        self._predictor = Predictor(table, threshold)
        self._ways: list[int] = []
        self._uses: list[dict[int, int]] = []
        """By set and key: uses of an entry so far, saturating at `MOST_USES`."""
        self._dead: list[dict[int, None]] = []
        """By set: keys of entries that are predicted dead."""
        self._sampled: list[dict[int, int]] = []
        """By sampled set and key, in LRU order: uses so far."""

    def adopt(self, entries: Any, ways: int) -> int:
        self._ways.append(ways)
        self._uses.append({})
        self._dead.append({})
        if len(self.sets) % self._sample == 0:
            self._sampled.append({})
        return super().adopt(entries, ways)

    def touch(self, index: int, key: int) -> None:
        super().touch(index, key)
        self._used(index, key)

    def insert(self, index: int, key: int) -> None:
        super().insert(index, key)
        self._used(index, key)

    def victim(self, index: int) -> int:
        dead = self._dead[index]
        if dead:
            for key in self.sets[index]:
                if key in dead:
                    return key
        return super().victim(index)

    def forget(self, index: int, key: int) -> None:
        del self._uses[index][key]
        self._dead[index].pop(key, None)

    def _used(self, index: int, key: int) -> None:
        """An entry is used, or new: learn, if its set is sampled, and predict."""
        if index % self._sample == 0:
            self._learn(self._sampled[index // self._sample], self._ways[index], key)
        uses = self._uses[index]
        uses[key] = min(uses.get(key, 0) + 1, MOST_USES)
        if self._predictor.dead(self._signature(key, uses[key])):
            self._dead[index][key] = None
        else:
            self._dead[index].pop(key, None)

    def _learn(self, sampled: dict[int, int], ways: int, key: int) -> None:
        """A sampler sees a use: the one before was not the last, or the oldest entry's was."""
        uses = sampled.pop(key, 0)
        if uses:
            self._predictor.train(self._signature(key, uses), False)
        elif len(sampled) >= ways:
            oldest = next(iter(sampled))
            self._predictor.train(self._signature(oldest, sampled.pop(oldest)), True)
        sampled[key] = min(uses + 1, MOST_USES)

    def _signature(self, key: int, uses: int) -> int:
        """A signature of 23 bits: the region of a key, folded, and its uses."""
        region = key >> self._shift
        return ((region ^ region >> 20 ^ region >> 40) & 0xFFFFF) << 3 | uses

    def storage(self, sets: int, ways: int) -> Sequence[Storage]:
        uses = bits_for(MOST_USES + 1)
        samplers = -(-sets // self._sample)
        counter = {"counter": bits_for(LARGEST + 1)}
        return [
            Storage("dead-entry predictor", self._table * len(_FACTORS), counter),
            Storage("samplers", samplers * ways, {"tag": _TAG_BITS, "uses": uses}),
            Storage("use counts", sets * ways, {"uses": uses, "dead": 1}),
        ]


register_policy(Slot.REPLACEMENT, "dead-entry", DeadEntry)
