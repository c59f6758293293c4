"""Accesses over the link, counted by block: what is accessed often comes to the device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from gpusim.core.structures import Storage, bits_for
from gpusim.hardware.paging.placement import Placement


class AccessCounters:
    """Counts accesses over the link by block, and reports blocks that reach the threshold.

    NVIDIA's GPUs since Volta count so, for 64 KiB to 16 MiB at a time (uvm_gpu_access_counters.c:
    256 accesses of 2 MiB by default).

    Args:
        placement: knows which pages are remote.
        threshold: accesses to a block at which its pages are reported.
        block_pages: over which they are counted.
        page_shift: bytes of a page, as a power of two.
        migrate: called with a block and its remote pages.
    """

    def __init__(
        self,
        placement: Placement,
        threshold: int,
        block_pages: int,
        page_shift: int,
        migrate: Callable[[int, list[int]], None],
    ) -> None:
        self._placement = placement
        self._threshold = threshold
        self._block_pages = block_pages
        self._page_shift = page_shift
        self._migrate = migrate
        self._counts: Counter[int] = Counter()

    @staticmethod
    def storage(blocks: int, threshold: int) -> Storage:
        """A counter for each block, which begins anew when it comes to the threshold."""
        return Storage("access counters", blocks, {"accesses": bits_for(threshold)})

    def accessed(self, address: int) -> None:
        """An address of the host's memory was accessed."""
        tag = self._placement.host_page(address >> self._page_shift)
        block = tag // self._block_pages
        self._counts[block] += 1
        if self._counts[block] < self._threshold:
            return
        self._counts[block] = 0
        first = block * self._block_pages
        pages = range(first, first + self._block_pages)
        if remote := [one for one in pages if self._placement.may_migrate(one)]:
            self._migrate(block, remote)
