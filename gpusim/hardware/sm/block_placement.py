"""The policy slot of block placement: which SM gets the next thread block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.core.warp_program import Launch

Fits = Callable[[int], bool]
"""Whether a block of the launch fits on an SM now."""


@mypyc_attr(allow_interpreted_subclasses=True)
class BlockPlacement(Policy):
    """Decides which SM gets the next thread block; blocks are placed in the order of the grid."""

    def attach(self, signals: Signals) -> None:
        """The machine is built; ``signals.sms`` are the SMs of its application, in their order.

        See `gpusim.core.signals`.
        """

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        """The storage that it needs in hardware; None: not stated."""
        return None

    @abstractmethod
    def pick(self, launch: Launch, block: int, count: int, fits: Fits) -> int | None:
        """One of SMs ``0 .. count - 1`` on which the block fits.

        None lets the block, and those after it, wait until some block has ended.
        """


open_slot(Slot.BLOCK_SCHEDULER, BlockPlacement)


@mypyc_attr(allow_interpreted_subclasses=True)
class RoundRobinPlacement(BlockPlacement):
    """A pointer walks over the SMs; one without room is skipped (ORCH §II)."""

    def __init__(self) -> None:
        self._next = 0

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        return [Storage("pointer", 1, {"SM": bits_for(dimensions.sms)})]

    def pick(self, launch: Launch, block: int, count: int, fits: Fits) -> int | None:
        chosen = self.upcoming(count, fits)
        if chosen is not None:
            self._next = (chosen + 1) % count
        return chosen

    def upcoming(self, count: int, fits: Fits) -> int | None:
        """The SM at which the pointer would stop now; it stays where it is."""
        for step in range(count):
            index = (self._next + step) % count
            if fits(index):
                return index
        return None


register_policy(Slot.BLOCK_SCHEDULER, "round-robin", RoundRobinPlacement)
