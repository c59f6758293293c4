"""The L1 cache's part of a memory that it shares with shared memory."""

from __future__ import annotations

from collections.abc import Iterator

import attr

from gpusim.config.schema import LRU, L1Config
from gpusim.core.counters import count
from gpusim.core.replacement import Replacement
from gpusim.core.signals import Signals
from gpusim.hardware.cache.array import CacheArray


@attr.s(auto_attribs=True, eq=False, repr=False)
class SplitCounters:
    """What became of a divided memory."""

    resized: int = count("launches at which the cache changed its size, and was emptied")


class Splits:
    """Arrays of all sizes that a cache can have, the largest first.

    Args:
        config: a cache in unified memory.
    """

    def __init__(self, config: L1Config) -> None:
        self.counters = SplitCounters()
        self._config = config
        self._sizes = [size for size, _ in config.splits]
        self._arrays: dict[int, CacheArray] = {}
        """By index: of plain LRU when it is chosen, with another policy at once: it is attached."""
        if config.replacement != LRU:
            for index in range(len(self._sizes)):
                self._array(index)
        self._now = -1

    def _array(self, index: int) -> CacheArray:
        if index not in self._arrays:
            config = self._config
            ways = config.splits[index][1]
            lines = config.sets * ways
            self._arrays[index] = CacheArray(lines, ways, replacement=config.replacement)
        return self._arrays[index]

    def choose(self, shared_bytes: int) -> CacheArray | None:
        """The array beside so much shared memory; None: it is as large as it was."""
        fitting = [index for index, size in enumerate(self._sizes) if size >= shared_bytes]
        if fitting[0] == self._now:
            return None
        self.counters.resized += self._now >= 0
        self._now = fitting[0]
        return self._array(self._now)

    def attach(self, signals: Signals) -> None:
        """Hand the policies the signals of the machine."""
        for replacement in self.replacements():
            replacement.attach(signals)

    def replacements(self) -> Iterator[Replacement]:
        """The policies of all sizes that there are."""
        return iter([array.replacement for array in self._arrays.values()])
