"""First TLBs that wait for their misses: which misses of an SM may be under way at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from gpusim.core.mapping import Mapping
from gpusim.core.request import MemoryRequest, Requester, Translation
from gpusim.core.states import State
from gpusim.core.unboxed import IntDict
from gpusim.hardware.tlb.level import TlbLevel

_TLB: Final = int(State.TLB)


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
class HitsPassTlb(HitUnderMissTlb):
    """As `HitUnderMissTlb`, but an instruction that has to wait steps aside, and hits pass it.

    So Pichai et al. let warps hit under the misses of another one: what misses meanwhile waits
    apart, without limit, as a warp waits for itself.  It is looked up again when its page has come
    or is under way for another instruction, or when the misses of the instruction before it are
    over.
    """

    _aside: list[MemoryRequest] | None = None
    _pages_aside: IntDict[int] | None = None
    """How many requests aside wait for a page."""

    def refuses(self, tag: int, requester: Requester) -> bool:
        return not self._waits(tag, requester) and super().refuses(tag, requester)

    def miss(self, request: MemoryRequest, delay: int) -> None:
        access = request.access
        assert access is not None
        if self._waits(request.tag, access):
            request.trail.append(_TLB)
            request.trail.append(self.env._now)
            self._put_aside(request)
            return
        super().miss(request, delay)
        if self._aside and self._mshrs.merges(request.tag):
            self._ask_again(request.tag, None)

    def lookup(self, tag: int, requester: Requester) -> Mapping | None:
        mapping = super().lookup(tag, requester)
        if mapping is not None and self._aside and self._owner is None:
            self._ask_again(tag, self._aside[0].access)  # the next one, as this one has no misses
        return mapping

    def _put_aside(self, request: MemoryRequest) -> None:
        if self._aside is None or self._pages_aside is None:
            self._aside, self._pages_aside = [], IntDict()
        self._aside.append(request)
        self._pages_aside[request.tag] = self._pages_aside.get(request.tag, 0) + 1

    def _waits(self, tag: int, requester: Requester) -> bool:
        """Whether the misses of another instruction have to be over first."""
        owner = self._owner
        return not (owner is None or owner is requester or self._mshrs.merges(tag))

    def _fill(self, translation: Translation) -> None:
        super()._fill(translation)
        if self._aside:
            first = self._aside[0].access if self._owner is None else None
            self._ask_again(translation.tag, first)

    def _ask_again(self, tag: int, requester: Requester | None) -> None:
        """Send back, in their order, those aside that wait for a page or belong to a requester."""
        pages, waiting = self._pages_aside, self._aside
        assert pages is not None
        assert waiting is not None
        if requester is None and tag not in pages:
            return
        self._aside = [one for one in waiting if one.tag != tag and one.access is not requester]
        for request in waiting:
            if request.tag == tag or request.access is requester:
                left = pages.pop(request.tag) - 1
                if left:
                    pages[request.tag] = left
                request.answer()  # without a mapping: the load/store unit asks again

    def _held_back(self) -> Sequence[MemoryRequest]:
        return self._aside or ()

    def in_flight(self) -> int:
        return super().in_flight() + len(self._aside or ())

    def waiting(self) -> Iterator[str]:
        yield from super().waiting()
        if self._aside:
            yield f"{self.name}: {len(self._aside)} requests wait for misses of an instruction"


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
    "hits-pass": HitsPassTlb,
    "lsu-blocking": BlockingTlb,
}
"""By ``tlb.NAME.misses``."""
