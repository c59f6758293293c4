"""The site of the forward–backward table: what the machine hands to its process."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from gpusim.config.translation import FbtConfig
from gpusim.core.engine import EventLoop
from gpusim.files.units import Hertz


@frozen(eq=False, repr=False)
class FbtSite:
    """Where the table stands in a machine.

    Attributes:
        env: the environment.
        config: what it is like.
        clock: of the core.
        apps: applications that share the machine.
        lines_shift: lines of one of its pages, as a power of two.
        page_lines_shift: lines of a page of memory, as a power of two.
        line_bytes: bytes of a line.
        bank_of: number of the L2 bank of a line, by its number within a page of memory.
        l1_trip: cycles of a message to an L1 cache, and of its answer.
        tlb_state, fbt_state: states of a warp whose translation is at the TLBs, and at the table.
        index: which of the tables it is, where MIG instances have one each.
    """

    env: EventLoop
    config: FbtConfig
    clock: Hertz
    apps: int
    lines_shift: int
    page_lines_shift: int
    line_bytes: int
    bank_of: Callable[[int], int]
    l1_trip: int
    tlb_state: int
    fbt_state: int
    index: int = 0

    def home(self, line: int) -> int:
        """Number of the bank of a line under any of its names, which agree within their pages."""
        return self.bank_of(line & (1 << self.page_lines_shift) - 1)

    @property
    def trip(self) -> int:
        """Cycles of a message to an L2 bank."""
        return self.config.trip.cycles(self.clock)
