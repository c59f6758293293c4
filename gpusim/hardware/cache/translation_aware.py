"""L2 bypass of page-table levels that hit less often than data (MASK §5.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Self

from mypy_extensions import mypyc_attr

from gpusim.core.errors import at_least
from gpusim.core.policy import Ending
from gpusim.core.registry import Slot, register_policy
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.cache.bypass import CacheBypass

DEEPEST: Final = 7
"""Depth that requests of any deeper level have, too (MASK §5.3: three bits)."""

COUNTER_BITS: Final = 64
"""Bits of a counter of hits or accesses (MASK §7.4: 8 bytes)."""


@mypyc_attr(allow_interpreted_subclasses=True)
class TranslationAwareBypass(CacheBypass):
    """Page-table levels whose L2 hit rate is below that of data go past the L2 cache.

    Hits and accesses are counted by depth, over all applications and banks [our choice].  A level
    that goes past it is not counted any more.  Its counters are halved until no hit and no access
    is left in them, and then it is looked up and judged anew, as hit rates change over time [our
    choice: the paper has neither a window nor a refresh].

    Args:
        epoch: core cycles after which all counters are halved.
        sample: one in `sample` lines, chosen by a hash, is always looked up, so that a level comes
            back sooner; 0: none, as in the paper.
        min_accesses: accesses of a level before any of its reads goes past the cache.
    """

    def __init__(self, *, epoch: int = 100_000, sample: int = 0, min_accesses: int = 1000) -> None:
        at_least(1, epoch=epoch)
        at_least(0, min_accesses=min_accesses, sample=sample)
        self._epoch = epoch
        self._sample = sample
        self._min_accesses = min_accesses
        self._hits = [0] * (DEEPEST + 1)
        self._accesses = [0] * (DEEPEST + 1)
        self._missing = [min_accesses] * (DEEPEST + 1)
        """Accesses that a level still lacks."""
        self._halve_at = epoch
        self._bypassed = 0

    def acted(self) -> int:
        return self._bypassed

    @classmethod
    def warnings(cls, made: Sequence[Self], ending: Ending) -> Iterator[str]:
        """A warning if no level had enough accesses for its hit rate to be compared with data's."""
        least = made[0]._min_accesses
        levels = range(1, DEEPEST + 1)
        most = max(least - one._missing[level] for one in made for level in levels)
        if most < least:
            yield (
                f"'translation-aware' never compared hit rates: no level of the page table had the "
                f"{least} accesses that it needs first, the most were {most}; "
                f"set {ending.key}.min_accesses"
            )

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """The counters of the paper (§7.4), and those of `min_accesses`, which only levels have."""
        levels = min(dimensions.page_table_levels, DEEPEST)
        fields = {"hits": COUNTER_BITS, "accesses": COUNTER_BITS}
        found = [Storage("hit counters", 1 + levels, fields)]
        if self._min_accesses:
            first = {"accesses": bits_for(self._min_accesses + 1)}
            found.append(Storage("counters of first accesses", levels, first))
        return found

    def attach(self, signals: Signals) -> None:
        signals.listen("l2.lookup", self.l2_lookup)

    def l2_lookup(self, depth: int, app: int, hit: bool, cycle: int) -> None:
        """A request of an application looked for its line; data requests have the depth 0."""
        if cycle >= self._halve_at:
            self._halve(cycle)
        kind = min(depth, DEEPEST)
        self._accesses[kind] += 1
        self._hits[kind] += hit
        if self._missing[kind]:
            self._missing[kind] -= 1

    def bypasses(self, depth: int, app: int, line: int, cycle: int) -> bool:
        if cycle >= self._halve_at:
            self._halve(cycle)
        level = min(depth, DEEPEST)
        if self._missing[level] or (self._sample and is_sampled(line, self._sample)):
            return False
        # hits / accesses < data hits / data accesses; without accesses there is no rate
        past = self._hits[level] * self._accesses[0] < self._hits[0] * self._accesses[level]
        self._bypassed += past
        return past

    def _halve(self, cycle: int) -> None:
        """Halve all counters once for each epoch that has ended."""
        epochs = 1 + (cycle - self._halve_at) // self._epoch
        self._halve_at += epochs * self._epoch
        self._hits = [hits >> epochs for hits in self._hits]
        self._accesses = [accesses >> epochs for accesses in self._accesses]


register_policy(Slot.CACHE_BYPASS, "translation-aware", TranslationAwareBypass)


def is_sampled(line: int, sample: int) -> bool:
    """Whether a line is the one of `sample` that is chosen: by the upper bits of a product.

    The factor is 2^64 divided by the golden ratio: neighbouring lines spread evenly over
    ``[0, 2^32)``, lines at equal distances nearly so.
    """
    return (line * 0x9E3779B97F4A7C15 >> 32 & 0xFFFFFFFF) * sample < 1 << 32
