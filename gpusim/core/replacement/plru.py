"""Replacement by a tree of bits that points away from what was used: pseudo-LRU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from mypy_extensions import mypyc_attr

from gpusim.core.registry import Slot, register_policy
from gpusim.core.replacement.ways import ReplacementByWay
from gpusim.core.structures import Storage

_Path = tuple[int, int]
"""Bits of a tree to keep, and bits to set, when a way is used."""


@mypyc_attr(allow_interpreted_subclasses=True)
class TreePlru(ReplacementByWay):
    """Tree pseudo-LRU: a bit for each half, quarter, … of a set says where the victim is.

    A use, or a new entry, points the bits on its path to the other sides; the victim is where
    they lead to (PLRUt in Al-Zoubi, Milenkovic and Milenkovic, *Performance Evaluation of Cache
    Replacement Policies for the SPEC CPU2000 Benchmark Suite*, ACM-SE 2004).  An entry that is
    invalidated changes no bit.
    """

    def __init__(self) -> None:
        super().__init__()
        self._trees: list[int] = []
        self._paths: list[tuple[_Path, ...]] = []

    def refusal(self, ways: int) -> str:
        if ways & (ways - 1):
            return f"halves a set again and again: ways must be a power of two, not {ways}"
        return ""

    def adopt(self, entries: Any, ways: int) -> int:
        self._trees.append(0)
        self._paths.append(_paths(ways))
        return super().adopt(entries, ways)

    def used(self, index: int, way: int) -> None:
        keep, turned = self._paths[index][way]
        self._trees[index] = self._trees[index] & keep | turned

    def filled(self, index: int, way: int) -> None:
        self.used(index, way)

    def way_that_goes(self, index: int) -> int:
        tree, ways = self._trees[index], len(self._paths[index])
        node = 1
        while node < ways:
            node = 2 * node + (tree >> node & 1)
        return node - ways

    def storage(self, sets: int, ways: int) -> Sequence[Storage]:
        return ()


register_policy(Slot.REPLACEMENT, "plru", TreePlru)


@cache
def _paths(ways: int) -> tuple[_Path, ...]:
    """What a use of each way does to the tree, whose node *n* is above nodes *2n* and *2n + 1*."""
    paths = []
    for way in range(ways):
        node = way + ways
        on_path = turned = 0
        while node > 1:
            bit = 1 << node // 2
            on_path |= bit
            turned |= bit * (node % 2 == 0)
            node //= 2
        paths.append((~on_path, turned))
    return tuple(paths)
