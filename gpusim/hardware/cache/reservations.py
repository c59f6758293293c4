"""Places of an L1 cache that lines take when they are missed (`l1.allocate = "on-miss"`)."""

from __future__ import annotations

from gpusim.hardware.cache.array import CacheArray


class Reservations:
    """Lines on their way that have a place in their set already, which holds nothing until then.

    A set has room while its lines and reserved places are fewer than its ways.  In the order of
    replacement a line counts as used when it arrives [our choice].

    Args:
        sets: of the cache.
    """

    def __init__(self, sets: int) -> None:
        self._lines: list[set[int]] = [set() for _ in range(sets)]

    def __len__(self) -> int:
        """Places that are reserved."""
        return sum(map(len, self._lines))

    def lacks(self, array: CacheArray, line: int) -> bool:
        """Whether a line has no place, neither as one that is there nor as one on its way."""
        return not array.state(line) and line not in self._lines[array.set_of(line)]

    def all_reserved(self, array: CacheArray, line: int) -> bool:
        """Whether all places in the set of a line are reserved, so that no line there can go."""
        return len(self._lines[array.set_of(line)]) >= array.ways

    def full(self, array: CacheArray, line: int) -> bool:
        """Whether a line has to go from the set of `line` before that can come in."""
        return array.used(line) + len(self._lines[array.set_of(line)]) >= array.ways

    def reserve(self, array: CacheArray, line: int) -> None:
        """Give a line a place, for which there is room."""
        self._lines[array.set_of(line)].add(line)

    def release(self, array: CacheArray, line: int) -> bool:
        """A line comes in, and takes its reserved place if it has one; whether it had."""
        lines = self._lines[array.set_of(line)]
        if line not in lines:
            return False
        lines.remove(line)
        return True
