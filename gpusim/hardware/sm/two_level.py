"""Warps in groups, of which one issues until it stalls (Narasiman et al., MICRO 2011)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.errors import at_least
from gpusim.core.registry import Slot, register_policy
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.sm.schedulers import Schedulable, WarpScheduler

_Ready = tuple[int, int, Schedulable]
"""Warp slot, age, and the warp."""


@mypyc_attr(allow_interpreted_subclasses=True)
class TwoLevelRoundRobin(WarpScheduler):
    """Round-robin among the warps of a group; when none of them is ready, the next group.

    Narasiman et al., *Improving GPU Performance via Large Warps and Two-Level Warp Scheduling*,
    MICRO 2011: with one round-robin over all warps they come to their long waits together, and the
    SM idles; groups come to them one after another.  A group is `group` warp slots side by side,
    those of other schedulers of the SM included; a new group begins at its lowest ready slot [both
    our choice].

    Args:
        group: warp slots of a group, side by side [our choice].
    """

    greedy = False

    def __init__(self, *, group: int = 8) -> None:
        at_least(1, group=group)
        self._group = group
        self._ready: list[_Ready] = []
        self._last = -1
        """Slot of the warp that issued last; its group is the one that issues."""

    def add(self, warp: Schedulable) -> None:
        insort(self._ready, (warp.warp_slot, warp.age, warp))

    def pick(self) -> Schedulable | None:
        ready = self._ready
        if not ready:
            return None
        first = self._last // self._group * self._group
        begin = bisect_left(ready, first, key=_slot)
        end = bisect_left(ready, first + self._group, begin, key=_slot)
        if begin == end:
            index = end if end < len(ready) else 0
        else:
            index = bisect_right(ready, self._last, begin, end, key=_slot)
            if index == end:
                index = begin
        self._last, _, warp = ready.pop(index)
        return warp

    def __len__(self) -> int:
        return len(self._ready)

    def storage(self, dimensions: Dimensions, warps: int, lines: int) -> Sequence[Storage]:
        return [Storage("group that issues", 1, {"group": bits_for(-(-warps // self._group))})]


register_policy(Slot.WARP_SCHEDULER, "two-level", TwoLevelRoundRobin)


def _slot(entry: _Ready) -> int:
    return entry[0]
