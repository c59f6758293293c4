"""First TLBs that wait for their misses: which misses of an SM may be under way at once."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from gpusim.core.request import MemoryRequest, Requester, Translation
from gpusim.hardware.tlb.level import TlbLevel


@mypyc_attr(allow_interpreted_subclasses=True)
class HitUnderMissTlb(TlbLevel):
    """The misses under way belong to one warp instruction; others may hit meanwhile.

    An instruction that misses while another one's misses are under way waits in front of the TLB,
    as the load/store unit is in order, and whatever is behind it, too.  All pages of the
    instruction may be under way together (Pichai et al., ASPLOS 2014, as MASK cites it).  With
    merging, another one that misses on one of these pages waits for its translation, too, not in
    front of the TLB: MASK counts the warps that hit in an entry of a TLB's MSHRs.
    """

    _owner: Requester | None = None

    def refuses(self, tag: int, requester: Requester) -> bool:
        if self._owner is None or self._owner is requester or self._mshrs.merges(tag):
            return super().refuses(tag, requester)
        self.counters[requester.app].stalls += 1
        return True

    def miss(self, request: MemoryRequest, delay: int) -> None:
        if self._owner is None:
            self._owner = request.access
        super().miss(request, delay)

    def _fill(self, translation: Translation) -> None:
        super()._fill(translation)
        if not self._mshrs:
            self._owner = None


@mypyc_attr(allow_interpreted_subclasses=True)
class BlockingTlb(TlbLevel):
    """Nothing of the SM is translated while a miss is under way, not even what would hit.

    So the load/store unit stands still, as in the simulator that the authors of MASK released.
    """

    def claim(self) -> bool:
        return not self._mshrs and super().claim()

    def blocked(self) -> bool:
        return bool(self._mshrs)


MISS_RULES: dict[str, type[TlbLevel]] = {
    "mshr": TlbLevel,
    "hit-under-miss": HitUnderMissTlb,
    "lsu-blocking": BlockingTlb,
}
"""By ``tlb.NAME.misses``."""
