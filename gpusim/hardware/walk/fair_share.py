"""Walkers shared evenly among applications (Pratheek et al., HPCA 2021)."""

from __future__ import annotations

from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.registry import Slot, register_policy
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.walk.order import WalkOrder
from gpusim.hardware.walk.walk import Walk


@mypyc_attr(allow_interpreted_subclasses=True)
class FairShare(WalkOrder):
    """The application with the fewest walks under way goes first; of its walks, the oldest.

    Pratheek et al., *Improving GPU Multi-tenancy with Page Walk Stealing*, HPCA 2021: each tenant
    owns as many walkers as the others, and a walker whose owner has no walk that waits takes one of
    another tenant.  [Our choice: walkers have no owners.  The tenant with the fewest walks under
    way gets the next free walker, which comes to an even share while all tenants have walks that
    wait, and to all walkers for a tenant that is alone.]
    """

    def __init__(self) -> None:
        self._under_way: dict[int, int] = {}
        """By application."""

    def choose(self, waiting: Sequence[Walk], cycle: int) -> int:
        best = 0
        fewest = -1
        for index, walk in enumerate(waiting):
            under_way = self._under_way.get(walk.app, 0)
            if fewest < 0 or under_way < fewest:
                best, fewest = index, under_way
        self._under_way[waiting[best].app] = fewest + 1
        return best

    def finished(self, walk: Walk, cycle: int) -> None:
        self._under_way[walk.app] -= 1

    def storage(self, dimensions: Dimensions, walkers: int, queue: int) -> Sequence[Storage]:
        """An application at most for each SM."""
        entry = {"application": bits_for(dimensions.sms)}
        counter = {"walks": bits_for(walkers + 1)}
        return [
            Storage("owners of walks", queue, entry),
            Storage("walks under way", dimensions.sms, counter),
        ]


register_policy(Slot.WALK_ORDER, "fair-share", FairShare)
