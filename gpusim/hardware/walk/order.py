"""The slot of the walkers: which waiting walk gets a walker that is free."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.structures import Dimensions, Storage
from gpusim.hardware.walk.walk import Walk


@mypyc_attr(allow_interpreted_subclasses=True)
class WalkOrder(Policy):
    """Chooses among the walks that wait; one instance for all walkers that share a queue."""

    def arrived(self, walk: Walk, cycle: int) -> None:
        """A walk waits from now on; it is the last of those that `choose` is shown."""

    def merged(self, walk: Walk, access: object, cycle: int) -> None:
        """Another instruction wants the page of a walk that waits or is under way."""

    def finished(self, walk: Walk, cycle: int) -> None:
        """A walk has ended, and all that wait for it are about to be answered."""

    @abstractmethod
    def choose(self, waiting: Sequence[Walk], cycle: int) -> int:
        """Index of the walk that begins now; there is at least one, the oldest first."""

    def storage(self, dimensions: Dimensions, walkers: int, queue: int) -> Sequence[Storage] | None:
        """The storage it needs in hardware beside the queue of walks; None: not stated.

        Args:
            dimensions: of the machine.
            walkers: walks at once.
            queue: walks that may wait.
        """
        return None


open_slot(Slot.WALK_ORDER, WalkOrder)


@mypyc_attr(allow_interpreted_subclasses=True)
class FirstComeFirstServed(WalkOrder):
    """The walk that has waited for longest begins."""

    def choose(self, waiting: Sequence[Walk], cycle: int) -> int:
        return 0

    def storage(self, dimensions: Dimensions, walkers: int, queue: int) -> Sequence[Storage]:
        return ()


register_policy(Slot.WALK_ORDER, "fcfs", FirstComeFirstServed)
