"""Store policies of an L1 cache: what a store does there, beside going on to the L2 cache."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Final

import attr

from gpusim.config.schema import L1Config
from gpusim.core.counters import count
from gpusim.core.warp_program import COVERED_SHIFT, SECTORS
from gpusim.hardware.cache.sector_masks import covered_sectors

LINE_GOES: Final = -1
"""The line is taken away, as atomics do whatever the policy is."""


@attr.s(auto_attribs=True, eq=False, repr=False)
class StoreCounters:
    """What stores left in one L1 cache, for one application."""

    allocated: int = count("stores that left sectors in the cache that were not there")


class StorePolicy:
    """Decides what is in a write-through cache after a store."""

    @abstractmethod
    def left(self, sectors: int) -> int:
        """What a store leaves beside the sectors of its line that are there, which it changes.

        Args:
            sectors: of the store, as in `MemoryRequest`, with those that it covers.

        Returns:
            mask of sectors that are there afterwards, whatever was before; 0: no others;
            `LINE_GOES`: none of the line.
        """

    def allocated(self, app: int) -> None:
        """A store of an application has left sectors that were not there."""

    def app_counters(self, app: int) -> Iterable[object]:
        """What it counts, of one application."""
        return ()


class UpdateOnStore(StorePolicy):
    """A line that is there is changed; nothing else."""

    def left(self, sectors: int) -> int:
        return 0


class EvictOnStore(StorePolicy):
    """A store takes its line away.

    As in GPGPU-Sim's caches for global memory (its manual: "write-evict"), and in the graphics L1
    cache of RDNA (AMD's RDNA white paper: a write to any line in the L1 invalidates that line).
    """

    def left(self, sectors: int) -> int:
        return LINE_GOES


class AllocateOnStore(StorePolicy):
    """What a store writes in whole (fetch sectors of the cache) is kept; the rest it updates.

    As the L1 caches of Volta and later are modelled (M. Khairy et al., "Accel-Sim", ISCA 2020):
    write-through, with allocation of what is written.  A sector of which only some bytes are
    written could not be read; it is not kept [our choice: there it holds a place].
    """

    def __init__(self, config: L1Config, apps: int) -> None:
        self._covered = covered_sectors(config.sector, config.line)
        self._counters = [StoreCounters() for _ in range(apps)]

    def left(self, sectors: int) -> int:
        return self._covered[sectors >> COVERED_SHIFT & SECTORS]

    def allocated(self, app: int) -> None:
        self._counters[app].allocated += 1

    def app_counters(self, app: int) -> Iterable[object]:
        return (self._counters[app],)


def make_store_policy(config: L1Config, apps: int) -> StorePolicy:
    """The policy of an L1 cache that `apps` applications share."""
    if config.writes == "allocate":
        return AllocateOnStore(config, apps)
    return EvictOnStore() if config.writes == "evict" else UpdateOnStore()
