"""Distance TLB prefetching: distances between misses that have followed each other before.

Kandiraju and Sivasubramaniam, *Going the Distance for TLB Prefetching: An Application-driven
Study*, ISCA 2002, §2: DP.
"""

from __future__ import annotations

from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.errors import at_least
from gpusim.core.registry import Slot, register_policy
from gpusim.core.stage import StageSite
from gpusim.core.structures import Storage
from gpusim.hardware.tlb.prefetcher import WARP_BITS, Prefetcher, Stream
from gpusim.hardware.tlb.recent import RecentRows


@mypyc_attr(allow_interpreted_subclasses=True)
class DistancePrefetcher(Prefetcher):
    """Asks for pages at the distances that have followed the present one.

    The distance of a miss from the one before selects a row of a table; each distance in it is
    added to the page, and asked for.  Then the distance goes into the row of the one before it.
    The paper has one core, and one sequence of misses; here each warp has its own, with registers
    for its last page and distance, and all share the table of distances [our choice].

    Args:
        site, entries: see `Prefetcher`.
        rows: distances that the table holds, LRU [our choice: the paper indexes it by bits of the
            distance].
        slots: distances in a row, LRU.
        warps: warps with registers for their last page and distance, LRU [our choice].
    """

    def __init__(
        self,
        site: StageSite,
        *,
        entries: int = 16,
        rows: int = 256,
        slots: int = 2,
        warps: int = 256,
    ) -> None:
        at_least(1, rows=rows, slots=slots, warps=warps)
        super().__init__(site, entries)
        self._rows = rows
        self._slots = slots
        self._warps = warps
        self._last: RecentRows[Stream, tuple[int, int]] = RecentRows(warps)
        """The page that each warp missed last, and its distance from the one before (0: none)."""
        self._table: RecentRows[int, list[int]] = RecentRows(rows)
        """By distance: those that followed it, the one used longest ago first."""

    def predicted(self, tag: int, stream: Stream) -> Sequence[int]:
        page, before = self._last.get(stream) or (tag, 0)
        distance = tag - page
        self._last.put(stream, (tag, distance))
        if not distance:
            return ()
        following = [tag + one for one in reversed(self._table.get(distance) or ())]
        if before:
            self._learn(before, distance)
        return following

    def tables(self, page_bits: int) -> Sequence[Storage]:
        distances = {"distance": page_bits, "distances that follow": self._slots * page_bits}
        registers = {"warp": WARP_BITS, "page": page_bits, "distance": page_bits}
        return [
            Storage("distances", self._rows, distances),
            Storage("last misses", self._warps, registers),
        ]

    def _learn(self, before: int, distance: int) -> None:
        """One distance has followed another."""
        followed = [one for one in self._table.get(before) or () if one != distance]
        self._table.put(before, [*followed, distance][-self._slots :])


register_policy(Slot.STAGE, "prefetch-distance", DistancePrefetcher)
