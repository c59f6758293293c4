"""What the host's driver takes for a batch of faults, beside what moves over the link."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gpusim.config.paging import PagingConfig
from gpusim.files.units import Hertz
from gpusim.hardware.paging.prefetch import VA_BLOCK

UNIT: Final = 4 << 10
"""Bytes for which `page_time` is taken."""


class BatchCosts:
    """Times of a batch, in cycles; knows which blocks of 2 MiB the driver has come to before.

    Args:
        config: the times.
        clock: of the core.
        page_bytes: of the smallest pages, in which tags count.

    Attributes:
        interrupt: from a fault in the buffer to a driver that works, which slept before.
        blocks: blocks of 2 MiB in batches so far, each counted once a batch.
        touched: blocks among them that had been in none before.
    """

    def __init__(self, config: PagingConfig, clock: Hertz, page_bytes: int) -> None:
        self.interrupt = config.interrupt.cycles(clock)
        self.blocks = 0
        self.touched = 0
        self._batch = config.batch_time.cycles(clock)
        self._fault = config.fault_time.cycles(clock)
        self._block = config.block_time.cycles(clock)
        self._first_touch = config.first_touch.cycles(clock)
        self._unit = config.page_time.cycles(clock)
        self._page_bytes = page_bytes
        self._block_pages = max(VA_BLOCK // page_bytes, 1)
        self._known: set[int] = set()

    def handling(self, pages: Iterable[int]) -> int:
        """Cycles for the pages that the faults of a batch ask for, before anything moves."""
        asked = list(pages)
        blocks = {tag // self._block_pages for tag in asked}
        new = blocks - self._known
        self._known |= new
        self.blocks += len(blocks)
        self.touched += len(new)
        return (
            self._batch
            + self._fault * len(asked)
            + self._block * len(blocks)
            + self._first_touch * len(new)
        )

    def preparing(self, pages: int) -> int:
        """Cycles for all pages that come, asked for or not, by their bytes."""
        return self._unit * -(-pages * self._page_bytes // UNIT)
