"""The TLB that always hits: tells what the machine would do if this level cost only its latency."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.core.request import ASID_SHIFT, VPN_MASK
from gpusim.hardware.tlb.array import TlbArray


class IdealArray(TlbArray):
    """Every page is there.

    Args:
        translate: frame of ``(asid, vpn)``, from the page table.
    """

    def __init__(self, translate: Callable[[int, int], int]) -> None:
        self._translate = translate

    def lookup(self, tag: int, slot: int) -> int:
        return self._translate(tag >> ASID_SHIFT, tag & VPN_MASK)

    def insert(self, tag: int, pfn: int, slot: int) -> int:
        return 0

    def invalidate(self, tag: int) -> bool:
        return False

    def flush(self) -> None:
        """Nothing is kept, so nothing is forgotten."""
