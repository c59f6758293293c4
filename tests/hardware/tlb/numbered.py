"""TLB arrays as naive ones are: pages go in and come out with the numbers of their frames."""

from __future__ import annotations

from typing import Any

from gpusim.core.mapping import Mapping
from gpusim.hardware.tlb import TlbArray

NO_PAGE = -1
"""What a lookup of a page gives that is not there."""


class Numbered:
    """Around an array: makes a mapping of each frame, and takes it from what comes out.

    What comes out must be a mapping that was put in for that very page.
    """

    def __init__(self, array: TlbArray) -> None:
        self.array = array
        self.made: dict[int, list[Mapping]] = {}
        """By page: every mapping that it has had."""

    def insert(self, tag: int, pfn: int, slot: int) -> int:
        mapping = Mapping(tag, pfn)
        self.made.setdefault(tag, []).append(mapping)
        return self.array.insert(tag, mapping, slot)

    def lookup(self, tag: int, slot: int) -> int:
        mapping = self.array.lookup(tag, slot)
        if mapping is None:
            return NO_PAGE
        assert any(mapping is one for one in self.made[tag])
        return mapping.pfn

    def __getattr__(self, name: str) -> Any:
        return getattr(self.array, name)
