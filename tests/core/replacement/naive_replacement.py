"""Replacement policies written as straightforwardly as can be, to compare the real ones with.

Each is one set: a list with a place for each way.
"""

from __future__ import annotations

from typing import Any


class NaiveSet:
    """`use` brings a key in if it is not there, and returns the key that has to go for it."""

    def __init__(self, ways: int) -> None:
        self.ways: list[Any] = [None] * ways
        self.now = 0
        self.came = [0] * ways
        self.used = [0] * ways

    def use(self, key: int) -> int | None:
        self.now += 1
        gone = None
        if key in self.ways:
            way = self.ways.index(key)
            self.hit(way)
        else:
            way = self.ways.index(None) if None in self.ways else self.victim()
            gone = self.ways[way]
            self.ways[way] = key
            self.came[way] = self.now
            self.filled(way)
        self.used[way] = self.now
        return gone

    def remove(self, key: int) -> bool:
        if key not in self.ways:
            return False
        self.ways[self.ways.index(key)] = None
        return True

    def hit(self, way: int) -> None: ...

    def filled(self, way: int) -> None: ...

    def victim(self) -> int:
        raise NotImplementedError


class NaiveLru(NaiveSet):
    def victim(self) -> int:
        return self.used.index(min(self.used))


class NaiveFifo(NaiveSet):
    def victim(self) -> int:
        return self.came.index(min(self.came))


class NaiveSrrip(NaiveSet):
    """Two bits: 3 is distant, 2 is long."""

    def __init__(self, ways: int) -> None:
        super().__init__(ways)
        self.rrpv = [3] * ways

    def hit(self, way: int) -> None:
        self.rrpv[way] = 0

    def filled(self, way: int) -> None:
        self.rrpv[way] = 2

    def victim(self) -> int:
        while True:
            for way, value in enumerate(self.rrpv):
                if value == 3:
                    return way
            self.rrpv = [value + 1 for value in self.rrpv]


class NaiveBrrip(NaiveSrrip):
    """Of one set; every fourth new entry is given a chance."""

    fills = 0

    def filled(self, way: int) -> None:
        self.fills += 1
        self.rrpv[way] = 3 if self.fills % 4 else 2


class NaivePlru(NaiveSet):
    """A bit for each range of ways: whether the victim is in its upper half."""

    def __init__(self, ways: int) -> None:
        super().__init__(ways)
        self.upper: dict[tuple[int, int], bool] = {}

    def hit(self, way: int) -> None:
        low, high = 0, len(self.ways)
        while high - low > 1:
            middle = (low + high) // 2
            self.upper[low, high] = way < middle
            low, high = (low, middle) if way < middle else (middle, high)

    filled = hit

    def victim(self) -> int:
        low, high = 0, len(self.ways)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.upper.get((low, high)) else (low, middle)
        return low


NAIVE: dict[str, tuple[type[NaiveSet], dict[str, int]]] = {
    "lru": (NaiveLru, {}),
    "fifo": (NaiveFifo, {}),
    "srrip": (NaiveSrrip, {}),
    "brrip": (NaiveBrrip, {"throttle": 4}),
    "plru": (NaivePlru, {}),
}
"""By name: the model of a policy and the options that it stands for."""
