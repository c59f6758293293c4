"""A page-walk scheduler: the walks of the instruction that needs the fewest go first.

After Shin et al., *Scheduling Page Table Walks for Irregular GPU Applications* (ISCA 2018).
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.plugin import Slot, Walk, WalkOrder, at_least, policy


@policy(Slot.WALK_ORDER, "shortest-instruction-first")
class ShortestInstructionFirst(WalkOrder):
    """An instruction that has begun goes on; else the one with the fewest walks left begins.

    Args:
        patience: cycles after which the oldest walk begins whatever the others are.
    """

    def __init__(self, *, patience: int = 20_000) -> None:
        at_least(1, patience=patience)
        self._patience = patience
        self._left: dict[object, int] = {}
        """Walks that an instruction still waits for."""
        self._current: object = None

    def arrived(self, walk: Walk, cycle: int) -> None:
        self._left[walk.access] = self._left.get(walk.access, 0) + 1

    def finished(self, walk: Walk, cycle: int) -> None:
        self._left[walk.access] -= 1
        if not self._left[walk.access]:
            del self._left[walk.access]

    def choose(self, waiting: Sequence[Walk], cycle: int) -> int:
        if cycle - waiting[0].requested >= self._patience:
            return 0
        indices = range(len(waiting))
        same = [index for index in indices if waiting[index].access is self._current]
        chosen = same[0] if same else min(indices, key=lambda i: self._left[waiting[i].access])
        self._current = waiting[chosen].access
        return chosen
