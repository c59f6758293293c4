"""A set-associative array of cache lines with LRU replacement, optionally sectored."""

from __future__ import annotations

from collections.abc import Iterator

DIRTY = 1 << 16
"""Flag beside the sector mask (at most 8 sectors) of a line."""

READ_ONLY = 1 << 17
"""Another one: stores to the page of the line are not allowed (virtual caches)."""


class CacheArray:
    """Lines in sets of `ways`, least recently used first.

    A line is named by its line number (physical, or tagged with the address space in a virtual
    cache); a set by ``line // interleave % sets``, so that a bank that sees every
    `interleave`-th line uses all of its sets.
    """

    __slots__ = ("_interleave", "_set_count", "_sets", "_ways")

    def __init__(self, lines: int, ways: int, interleave: int = 1) -> None:
        self._ways = ways
        self._set_count = lines // ways
        self._interleave = interleave
        self._sets: list[dict[int, int]] = [{} for _ in range(self._set_count)]

    def missing(self, line: int, sectors: int) -> int:
        """Mask of the wanted sectors that are not there (0: hit); counts as a use of the line."""
        lines = self._sets[line // self._interleave % self._set_count]
        state = lines.pop(line, 0)
        if state:
            lines[line] = state
        return sectors & ~state

    def fill(self, line: int, sectors: int, dirty: bool = False) -> tuple[int, int] | None:
        """Take in sectors of a line; returns ``(line, state)`` of the line evicted for it, if any.

        The state is the mask of valid sectors, with `DIRTY` if it has to be written back.
        """
        lines = self._sets[line // self._interleave % self._set_count]
        state = lines.pop(line, 0)
        victim = None
        if not state and len(lines) >= self._ways:
            oldest = next(iter(lines))
            victim = oldest, lines.pop(oldest)
        lines[line] = state | sectors | (DIRTY if dirty else 0)
        return victim

    def state(self, line: int) -> int:
        """Mask of the valid sectors of a line with its flags; 0: it is not there.  No use."""
        return self._sets[line // self._interleave % self._set_count].get(line, 0)

    def remove(self, line: int) -> int:
        """Forget a line; returns what its state was."""
        return self._sets[line // self._interleave % self._set_count].pop(line, 0)

    def lines(self) -> Iterator[int]:
        """All lines that are there."""
        for lines in self._sets:
            yield from lines

    def mark_dirty(self, line: int) -> None:
        """Note that a resident line differs from memory."""
        self._sets[line // self._interleave % self._set_count][line] |= DIRTY

    def invalidate(self, line: int) -> bool:
        """Forget a line; returns whether it was there."""
        return bool(self._sets[line // self._interleave % self._set_count].pop(line, 0))

    def clear(self) -> None:
        """Forget everything."""
        for lines in self._sets:
            lines.clear()


def split_ways(ways: int, parts: int) -> list[int]:
    """`ways` in so many parts, as equal as can be."""
    return [ways * (part + 1) // parts - ways * part // parts for part in range(parts)]
