"""The TLB that always hits: an upper bound, in which this level costs nothing but its latency."""

from __future__ import annotations

from collections.abc import Callable

from mypy_extensions import mypyc_attr

from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping
from gpusim.hardware.tlb.array import TlbArray


@mypyc_attr(allow_interpreted_subclasses=True)
class IdealArray(TlbArray):
    """Every page is there.

    Args:
        translate: what covers ``(asid, vpn)``, from the page table.
    """

    large_pages = "whole"

    def __init__(self, translate: Callable[[int, int], Mapping]) -> None:
        self._translate = translate

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        return self._translate(tag >> ASID_SHIFT, tag & VPN_MASK)

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        return 0

    def invalidate(self, tag: int) -> bool:
        return False

    def flush(self) -> None:
        """Nothing is kept, so nothing is forgotten."""
