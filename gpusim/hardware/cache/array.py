"""A set-associative array of cache lines, optionally sectored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mypy_extensions import mypyc_attr

from gpusim.config.schema import LRU
from gpusim.core.policy import PolicyConfig
from gpusim.core.replacement import is_plain_lru, make_replacement, victim_of
from gpusim.core.unboxed import MYPYC, IntDict
from gpusim.core.warp_program import COVERED_SHIFT, SECTORS

if MYPYC:
    from gpusim.core.compiled_only.lru_sets import FEW_WAYS, LruSets

DIRTY_SHIFT: Final = COVERED_SHIFT
"""Dirty sectors of a line stand this far above its readable ones; one may be either, or both."""

DIRTY: Final = SECTORS << DIRTY_SHIFT
"""Mask of the dirty sectors in the state of a line."""

READ_ONLY: Final = 1 << 2 * DIRTY_SHIFT
"""Flag above both: stores to the page of the line are not allowed (virtual caches)."""


@mypyc_attr(allow_interpreted_subclasses=True)
class CacheArray:
    """Lines in sets of `ways`.

    A line is named by its line number (physical, or tagged with the address space in a virtual
    cache); a set by ``line // interleave % sets``, so that a bank that sees every
    `interleave`-th line uses all of its sets.  The state of a line is the mask of the 32-byte
    sectors that can be read, with the mask of the dirty ones (`DIRTY`) and flags above.

    Attributes:
        sets: how many there are.
        ways: lines of a set at most.
        replacement: which line of a set goes.

    Raises:
        OptionError: the replacement policy cannot serve sets of this many ways.
    """

    __slots__ = ("_flat", "_interleave", "_sets", "replacement", "sets", "ways")

    def __init__(
        self, lines: int, ways: int, interleave: int = 1, replacement: PolicyConfig = LRU
    ) -> None:
        self.ways = ways
        self.sets = lines // ways
        self._interleave = interleave
        self.replacement = make_replacement(replacement, ways)
        self._flat: LruSets | None = None
        """The sets where gpusim is compiled and they are small; else None."""
        self._sets: list[IntDict[int]] = []
        if MYPYC and ways <= FEW_WAYS and is_plain_lru(self.replacement):
            self._flat = LruSets(self.sets, ways)
            return
        self._sets = [IntDict() for _ in range(self.sets)]
        for one in self._sets:  # numbered in this order
            self.replacement.adopt(one, ways)

    @property
    def capacity(self) -> int:
        """Lines that it holds at most."""
        return self.sets * self.ways

    def take_over(self, other: CacheArray) -> None:
        """Hold the very lines of another array, in its place."""
        self.ways = other.ways
        self._interleave = other._interleave
        self._flat = other._flat
        self._sets = other._sets
        self.sets = other.sets
        self.replacement = other.replacement

    def missing(self, line: int, sectors: int) -> int:
        """Mask of the wanted sectors that are not there (0: hit); counts as a use of the line."""
        index = line // self._interleave % self.sets
        if self._flat is not None:
            return sectors & ~self._flat.use(index, line)
        state = self._sets[index].get(line, 0)
        if state:
            self.replacement.touch(index, line)
        return sectors & ~state

    def fill(self, line: int, state: int) -> tuple[int, int] | None:
        """Add to the state of a line; returns ``(line, state)`` of the line evicted for it, if any.

        A line that is there already is used by it.
        """
        index = line // self._interleave % self.sets
        if self._flat is not None:
            return self._fill_flat(self._flat, index, line, state)
        lines = self._sets[index]
        before = lines.get(line, 0)
        if before:
            lines[line] = before | state
            self.replacement.touch(index, line)
            return None
        victim = None
        if len(lines) >= self.ways:
            victim = self._evict(index)
        lines[line] = state
        self.replacement.insert(index, line)
        return victim

    def _fill_flat(
        self, flat: LruSets, index: int, line: int, state: int
    ) -> tuple[int, int] | None:
        """`fill`, where sets are side by side."""
        number = flat.find(index, line)
        if number >= 0:
            flat.put(number, line, flat.state(number) | state)
            return None
        victim = None
        number = flat.free(index)
        if number < 0:
            number = flat.oldest(index)
            victim = flat.key(number), flat.state(number)
        flat.put(number, line, state)
        return victim

    def use(self, line: int, sectors: int, filled: int) -> int:
        """What `missing` gives; if that is anything, `filled` is taken in, as by `fill`."""
        index = line // self._interleave % self.sets
        if self._flat is not None:
            missing = sectors & ~self._flat.use(index, line)
            if missing:
                self._fill_flat(self._flat, index, line, filled)
            return missing
        lines = self._sets[index]
        state = lines.get(line, 0)
        missing = sectors & ~state
        if state:
            self.replacement.touch(index, line)
            if missing:
                lines[line] = state | filled
                self.replacement.touch(index, line)
            return missing
        if missing:
            if len(lines) >= self.ways:
                self._evict(index)
            lines[line] = filled
            self.replacement.insert(index, line)
        return missing

    def set_of(self, line: int) -> int:
        """The set that a line belongs to."""
        return line // self._interleave % self.sets

    def used(self, line: int) -> int:
        """Lines in the set of `line`."""
        index = self.set_of(line)
        return len(self._sets[index]) if self._flat is None else self._flat.used(index)

    def evict(self, line: int) -> tuple[int, int]:
        """Forget the line that goes first from the set of `line`; returns it and its state."""
        return self._evict(self.set_of(line))

    def _evict(self, index: int) -> tuple[int, int]:
        flat = self._flat
        if flat is not None:
            number = flat.oldest(index)
            line, state = flat.key(number), flat.state(number)
            flat.forget(number)
            return line, state
        lines = self._sets[index]
        gone = victim_of(self.replacement, index, lines)
        state = lines.pop(gone)
        self.replacement.forget(index, gone)
        return gone, state

    def state(self, line: int) -> int:
        """The state of a line; 0: it is not there.  No use."""
        index = line // self._interleave % self.sets
        if self._flat is not None:
            return self._flat.look(index, line)
        return self._sets[index].get(line, 0)

    def remove(self, line: int) -> int:
        """Forget a line; returns what its state was."""
        index = line // self._interleave % self.sets
        flat = self._flat
        if flat is not None:
            number = flat.find(index, line)
            if number < 0:
                return 0
            state = flat.state(number)
            flat.forget(number)
            return state
        state = self._sets[index].get(line, 0)
        if state:
            del self._sets[index][line]
            self.replacement.forget(index, line)
        return state

    def lines(self) -> Iterator[int]:
        """All lines that are there."""
        flat = self._flat
        if flat is not None:
            for index in range(self.sets):
                for number in flat.in_order(index):
                    yield flat.key(number)
        for lines in self._sets:
            yield from lines

    def mark(self, line: int, state: int) -> None:
        """Add to the state of a resident line, such as sectors that are dirty now.  No use."""
        index = line // self._interleave % self.sets
        flat = self._flat
        if flat is not None:
            number = flat.find(index, line)
            flat.set_state(number, flat.state(number) | state)
            return
        lines = self._sets[index]
        lines[line] = lines[line] | state

    def clear(self) -> None:
        """Forget everything."""
        if self._flat is not None:
            self._flat.clear()
        for index, lines in enumerate(self._sets):
            if lines:
                for line in lines:
                    self.replacement.forget(index, line)
                lines.clear()
