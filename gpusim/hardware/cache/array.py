"""A set-associative array of cache lines, optionally sectored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mypy_extensions import mypyc_attr

from gpusim.config.schema import LRU
from gpusim.core.policy import PolicyConfig
from gpusim.core.replacement import make_replacement, make_sets
from gpusim.core.state_sets import Gone
from gpusim.core.warp_program import COVERED_SHIFT, SECTORS

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

    __slots__ = ("_interleave", "_sets", "replacement", "sets", "ways")

    def __init__(
        self, lines: int, ways: int, interleave: int = 1, replacement: PolicyConfig = LRU
    ) -> None:
        self.ways = ways
        self.sets = lines // ways
        self._interleave = interleave
        self.replacement = make_replacement(replacement, ways)
        self._sets = make_sets(self.sets, ways, self.replacement)

    @property
    def capacity(self) -> int:
        """Lines that it holds at most."""
        return self.sets * self.ways

    def take_over(self, other: CacheArray) -> None:
        """Hold the very lines of another array, in its place."""
        self.ways = other.ways
        self._interleave = other._interleave
        self._sets = other._sets
        self.sets = other.sets
        self.replacement = other.replacement

    def missing(self, line: int, sectors: int) -> int:
        """Mask of the wanted sectors that are not there (0: hit); counts as a use of the line."""
        return sectors & ~self._sets.use(line // self._interleave % self.sets, line)

    def fill(self, line: int, state: int) -> Gone:
        """Add to the state of a line; returns the line that is evicted for it, if one is.

        A line that is there already is used by it.
        """
        return self._sets.add(line // self._interleave % self.sets, line, state)

    def use(self, line: int, sectors: int, filled: int) -> int:
        """What `missing` gives; if that is anything, `filled` is taken in, as by `fill`."""
        index = line // self._interleave % self.sets
        missing = sectors & ~self._sets.use(index, line)
        if missing:
            self._sets.add(index, line, filled)
        return missing

    def set_of(self, line: int) -> int:
        """The set that a line belongs to."""
        return line // self._interleave % self.sets

    def used(self, line: int) -> int:
        """Lines in the set of `line`."""
        return self._sets.used(self.set_of(line))

    def evict(self, line: int) -> Gone:
        """Forget the line that goes first from the set of `line`; returns it and its state."""
        return self._sets.evict(self.set_of(line))

    def state(self, line: int) -> int:
        """The state of a line; 0: it is not there.  No use."""
        return self._sets.look(line // self._interleave % self.sets, line)

    def remove(self, line: int) -> int:
        """Forget a line; returns what its state was."""
        return self._sets.remove(line // self._interleave % self.sets, line)

    def lines(self) -> Iterator[int]:
        """All lines that are there."""
        return self._sets.keys()

    def mark(self, line: int, state: int) -> None:
        """Add to the state of a resident line, such as sectors that are dirty now.  No use."""
        self._sets.mark(line // self._interleave % self.sets, line, state)

    def clear(self) -> None:
        """Forget everything."""
        self._sets.clear()
