"""The slot of a TLB level: which translations it holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from gpusim.core.policy import Policy
from gpusim.core.structures import Dimensions, Storage


class TlbArray(Policy, ABC):
    """Decides hit or miss, where a translation goes, and what it evicts.

    A page is named by its *tag*, ``asid << ASID_SHIFT | vpn`` (`gpusim.core.request`); `slot` is
    the hardware slot of the thread block that asks, which some arrays index by.

    Attributes:
        extra_cycles: what the last lookup took beyond the level's latency; it also holds the
            port for so long, except for `pipelined_cycles`.
        pipelined_cycles: how many of these are further stages of the pipeline, which the next
            lookup need not wait for.
        by_block_slot: it is indexed by block slots, so it cannot serve several SMs, whose slots
            have the same numbers.
        fills_every_slot: a translation that several blocks wait for is inserted for each of them,
            not only for the one that asked first.
        most_spaces: how many address spaces it can serve; 0: any number.
        replaces: entries go as ``tlb.NAME.replacement`` says, for which the array asks the policy
            (`gpusim.core.replacement.make_replacement`); otherwise a model may not name one.
    """

    extra_cycles: int = 0
    pipelined_cycles: int = 0
    by_block_slot: bool = False
    fills_every_slot: bool = False
    most_spaces: int = 0
    replaces: bool = False

    @abstractmethod
    def lookup(self, tag: int, slot: int) -> int:
        """Frame number of the page, or `gpusim.core.request.NO_PAGE`; a hit counts as a use."""

    @abstractmethod
    def insert(self, tag: int, pfn: int, slot: int) -> int:
        """Take in a translation; returns how many entries were evicted for it."""

    @abstractmethod
    def invalidate(self, tag: int) -> bool:
        """Forget one page; returns whether it was there."""

    @abstractmethod
    def flush(self) -> None:
        """Forget everything."""

    def begin_kernel(self, blocks: int) -> None:
        """An SM served by this TLB is empty and starts a kernel of which it holds `blocks` blocks.

        They will have the slots ``0 .. blocks - 1``.
        """

    def end_block(self, slot: int) -> None:
        """The block in a slot of an SM served by this TLB has ended, all its accesses answered."""

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        """What it keeps in hardware; None: it does not tell."""
        return None

    def counters(self) -> tuple[object, ...]:
        """Counters of its own beside the level's: attrs instances made with `counters.count`."""
        return ()

    def counters_of(self, asid: int) -> tuple[object, ...]:
        """Those of its own that it keeps for each address space."""
        return ()
