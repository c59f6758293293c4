"""Page walks of the instruction that needs the fewest go first (Shin et al., ISCA 2018)."""

from __future__ import annotations

from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.errors import at_least
from gpusim.core.registry import Slot, register_policy
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.walk.order import WalkOrder
from gpusim.hardware.walk.walk import Walk

_INSTRUCTION_BITS = 20
"""What names a warp instruction in the queue of walks (Shin et al.: 20 bits)."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ShortestJobFirst(WalkOrder):
    """An instruction whose walks have begun goes on; else the one with the fewest walks begins.

    Shin et al., *Scheduling Page Table Walks for Irregular GPU Applications*, ISCA 2018: a warp
    goes on when the last of its walks ends, so that walks of instructions with little to walk go
    first, and those of one instruction together.  The paper scores an instruction by the reads that
    its walks are expected to make; [our choice: by its walks that wait or are under way].
    Prefetches have no instruction, and count as one of their own [our choice].

    Args:
        batch: the walks of an instruction follow each other.
        patience: walks that may begin before the oldest one [our choice: counted from when it is
            the oldest].
    """

    def __init__(self, *, batch: bool = True, patience: int = 2_000_000) -> None:
        at_least(1, patience=patience)
        self._batch = batch
        self._patience = patience
        self._left: dict[object, int] = {}
        """By instruction: its walks that have not ended."""
        self._current: object = None
        """The instruction whose walk began last; None: no walk yet, or that of a prefetch."""
        self._oldest: Walk | None = None
        self._passed = 0
        """Walks that began before the oldest one that waits, since it is the oldest."""

    def arrived(self, walk: Walk, cycle: int) -> None:
        self._left[walk.access] = self._left.get(walk.access, 0) + 1

    def finished(self, walk: Walk, cycle: int) -> None:
        left = self._left[walk.access] - 1
        if left:
            self._left[walk.access] = left
        else:
            del self._left[walk.access]

    def choose(self, waiting: Sequence[Walk], cycle: int) -> int:
        if waiting[0] is not self._oldest:
            self._oldest = waiting[0]
            self._passed = 0
        index = 0 if self._passed >= self._patience else self._shortest(waiting)
        self._passed += 1
        self._current = waiting[index].access
        return index

    def _shortest(self, waiting: Sequence[Walk]) -> int:
        """Index of the oldest walk of the instruction that goes on, or has the fewest left."""
        best = 0
        fewest = -1
        for index, walk in enumerate(waiting):
            access = walk.access
            if self._batch and access is not None and access is self._current:
                return index
            left = self._left[access]
            if fewest < 0 or left < fewest:
                best, fewest = index, left
        return best

    def storage(self, dimensions: Dimensions, walkers: int, queue: int) -> Sequence[Storage]:
        entry = {"instruction": _INSTRUCTION_BITS, "walks left": bits_for(queue + walkers + 1)}
        now = {"instruction": _INSTRUCTION_BITS, "passed": bits_for(self._patience + 1)}
        return [Storage("scores of walks", queue, entry), Storage("batch", 1, now)]


register_policy(Slot.WALK_ORDER, "shortest-job", ShortestJobFirst)
