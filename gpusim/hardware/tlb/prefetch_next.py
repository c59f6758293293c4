"""Sequential TLB prefetching: the pages behind the one that missed.

Kandiraju and Sivasubramaniam, *Going the Distance for TLB Prefetching: An Application-driven
Study*, ISCA 2002, §2: SP, after caches' tagged sequential prefetching.
"""

from __future__ import annotations

from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.errors import at_least
from gpusim.core.registry import Slot, register_policy
from gpusim.core.stage import StageSite
from gpusim.core.structures import Storage
from gpusim.hardware.tlb.prefetcher import Prefetcher, Stream


@mypyc_attr(allow_interpreted_subclasses=True)
class NextPagePrefetcher(Prefetcher):
    """Asks for the pages behind the one that missed, of any warp.

    Args:
        site, entries: see `Prefetcher`.
        degree: pages that a miss asks for.
    """

    def __init__(self, site: StageSite, *, entries: int = 16, degree: int = 1) -> None:
        at_least(1, degree=degree)
        super().__init__(site, entries)
        self._degree = degree

    def predicted(self, tag: int, stream: Stream) -> Sequence[int]:
        return range(tag + 1, tag + 1 + self._degree)

    def tables(self, page_bits: int) -> Sequence[Storage]:
        return ()


register_policy(Slot.STAGE, "prefetch-next", NextPagePrefetcher)
