"""The slot of speculative fetches: in which frame a page may lie whose translation is awaited."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.errors import at_least
from gpusim.core.mapping import VPN_MASK, Mapping
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.request import Requester
from gpusim.core.structures import Dimensions, Storage, bits_for


@mypyc_attr(allow_interpreted_subclasses=True)
class FrameGuess(Policy):
    """Guesses frames; one for each SM."""

    @abstractmethod
    def guess(self, tag: int, requester: Requester) -> int | None:
        """The frame in which a page may lie, in the smallest pages; None: nothing is fetched.

        Asked when a load has missed its first TLB.
        """

    def learned(self, tag: int, mapping: Mapping, guessed: int | None) -> None:
        """The translation of a page that missed has come.

        Args:
            tag: the page.
            mapping: what covers it.
            guessed: what was guessed for it; None: nothing.
        """

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        """The storage that it needs in hardware, on one SM; None: not stated."""
        return None


open_slot(Slot.FRAME_GUESS, FrameGuess)


@mypyc_attr(allow_interpreted_subclasses=True)
class ContiguousGuess(FrameGuess):
    """A page lies as far from its number as the page of its region that was translated last.

    Avatar (MICRO 2024) speculates on contiguity so.  It keeps the difference of each region, and
    how often in a row it would have been right; the region that was used longest ago goes.

    Args:
        regions: that are kept.
        region_pages: neighbouring pages of a region, a power of two.
        confidence: times in a row that the difference has to have been right.
    """

    def __init__(self, *, regions: int = 64, region_pages: int = 512, confidence: int = 1) -> None:
        at_least(1, regions=regions, region_pages=region_pages)
        at_least(0, confidence=confidence)
        self._regions = regions
        self._region_pages = region_pages
        self._confidence = confidence
        self._known: dict[int, tuple[int, int]] = {}
        """By number of a region: difference, and how often it was right in a row."""

    def guess(self, tag: int, requester: Requester) -> int | None:
        delta, right = self._known.get(tag // self._region_pages, (0, -1))
        if right < self._confidence:
            return None
        frame = (tag & VPN_MASK) + delta
        return frame if frame >= 0 else None

    def learned(self, tag: int, mapping: Mapping, guessed: int | None) -> None:
        region = tag // self._region_pages
        delta, right = self._known.pop(region, (mapping.delta, -1))
        right = min(right + 1, self._confidence) if delta == mapping.delta else 0
        self._known[region] = mapping.delta, right
        if len(self._known) > self._regions:
            del self._known[next(iter(self._known))]

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        fields = {
            "region": dimensions.page_bits - bits_for(self._region_pages),
            "difference": dimensions.frame_bits,
            "confidence": bits_for(self._confidence + 1),
        }
        return [Storage("regions", self._regions, fields)]


register_policy(Slot.FRAME_GUESS, "contiguous", ContiguousGuess)
