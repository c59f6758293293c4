"""A replacement policy of a user's own; named in tests as "tests.machine.own_replacement:..."."""

from __future__ import annotations

from collections import Counter

from gpusim.core.replacement import Replacement
from gpusim.core.signals import Signals


class MostRecent(Replacement):
    """The entry that was used last goes."""

    heard: Counter[str]
    """Calls of the methods of all of them since the last one was made."""

    def __init__(self, *, ways: int = 0) -> None:
        super().__init__()
        self._only = ways
        MostRecent.heard = Counter()

    def attach(self, signals: Signals) -> None:
        self.heard["attach"] += 1

    def refusal(self, ways: int) -> str:
        return f"wants {self._only} ways, not {ways}" if 0 < self._only != ways else ""

    def touch(self, index: int, key: int) -> None:
        self.heard["touch"] += 1
        entries = self.sets[index]
        entries[key] = entries.pop(key)

    def insert(self, index: int, key: int) -> None:
        self.heard["insert"] += 1

    def victim(self, index: int) -> int:
        self.heard["victim"] += 1
        return next(reversed(self.sets[index]))

    def forget(self, index: int, key: int) -> None:
        self.heard["forget"] += 1


class Broken(MostRecent):
    def refusal(self, ways: int) -> str:
        return "x"[ways]
