"""A bypass policy for scenes; named in tests as "tests.machine.own_bypass:..."."""

from __future__ import annotations

from gpusim.core.signals import Signals
from gpusim.hardware.cache import CacheBypass


class FromLevel(CacheBypass):
    """Reads of a page-table level and all below it go past the L2 cache."""

    heard: list[tuple[int, int, bool, int]]
    """What the last one that was made heard of."""

    def __init__(self, *, level: int = 1) -> None:
        self._level = level
        FromLevel.heard = []

    def attach(self, signals: Signals) -> None:
        signals.listen("l2.lookup", self.hear)

    def hear(self, depth: int, app: int, hit: bool, cycle: int) -> None:
        self.heard.append((depth, app, hit, cycle))

    def bypasses(self, depth: int, app: int, line: int, cycle: int) -> bool:
        return depth >= self._level
