"""Stride TLB prefetching: a page as far ahead as a warp's last misses lay apart.

Kandiraju and Sivasubramaniam, *Going the Distance for TLB Prefetching: An Application-driven
Study*, ISCA 2002, §2: ASP, after Chen and Baer's reference prediction table.  Theirs has a row for
each load instruction; here programs have no addresses of instructions, and a row is a warp's [our
choice]: a warp executes one instruction at a time, and neighbouring warps have strides alike.
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
class StridePrefetcher(Prefetcher):
    """Asks for pages at the stride of the warp that missed, once it was the same twice in a row.

    Args:
        site, entries: see `Prefetcher`.
        degree: pages that a miss asks for, each a stride behind the one before.
        rows: warps that the table holds, LRU.
    """

    def __init__(
        self, site: StageSite, *, entries: int = 16, degree: int = 1, rows: int = 256
    ) -> None:
        at_least(1, degree=degree, rows=rows)
        super().__init__(site, entries)
        self._degree = degree
        self._rows = rows
        self._table: RecentRows[Stream, tuple[int, int]] = RecentRows(rows)
        """The page that each warp missed last, and how far it was from the one before (0: none)."""

    def predicted(self, tag: int, stream: Stream) -> Sequence[int]:
        page, before = self._table.get(stream) or (tag, 0)
        stride = tag - page
        self._table.put(stream, (tag, stride))
        if not stride or stride != before:
            return ()
        return range(tag + stride, tag + (self._degree + 1) * stride, stride)

    def tables(self, page_bits: int) -> Sequence[Storage]:
        fields = {"warp": WARP_BITS, "page": page_bits, "stride": page_bits}
        return [Storage("strides", self._rows, fields)]


register_policy(Slot.STAGE, "prefetch-stride", StridePrefetcher)
