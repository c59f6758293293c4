"""The root of waiting: what was waited for by whatever held what something else waited for.

An L1 cache without a free MSHR makes warps wait, but it is not the cause: its MSHRs are held by
lines that are on their way.  The wait ends when one of them arrives, so what this one waited for
meanwhile is the cause.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from gpusim.core.blame import Blame
from gpusim.core.cut import Pieces, Trailed
from gpusim.core.spells import Spells
from gpusim.core.states import STATES, State
from gpusim.core.unboxed import IntList, zeros


class Root(IntEnum):
    """What a chain of waits ends at."""

    CROSSBAR = 0
    """The crossbar: its ways, other packets, and ways back that are full."""
    L2 = 1
    """L2 banks at work."""
    DRAM = 2
    """DRAM: its queues, banks and buses, and L2 banks that are stalled until lines come from it."""
    WALKERS = 3
    """Page walks that wait for a walker."""
    WALKS = 4
    """Page walks under way."""
    OTHER = 5
    """Whatever else: TLBs behind the first, further stages, page faults, links."""


_CROSSBAR: Final = int(Root.CROSSBAR)
_L2: Final = int(Root.L2)
_DRAM: Final = int(Root.DRAM)
_WALKERS: Final = int(Root.WALKERS)
_WALKS: Final = int(Root.WALKS)
_OTHER: Final = int(Root.OTHER)
_REPLIES: Final = int(Blame.REPLIES)
_IN_CROSSBAR: Final = int(State.INTERCONNECT)
_IN_L2: Final = int(State.L2)
_IN_QUEUE: Final = int(State.DRAM_QUEUE)
_IN_DRAM: Final = int(State.DRAM)
_IN_WALKER: Final = int(State.WALKER)
_IN_WALK: Final = int(State.WALK)


def root_of(state: int) -> int:
    """The root that a state is, where nothing else is to blame for it."""
    if state == _IN_CROSSBAR:
        return _CROSSBAR
    if state == _IN_L2:
        return _L2
    if state == _IN_QUEUE or state == _IN_DRAM:
        return _DRAM
    if state == _IN_WALKER:
        return _WALKERS
    return _WALKS if state == _IN_WALK else _OTHER


_ROOTS: Final = [root_of(state) for state in range(STATES)]
"""The same by state."""


class RootPieces(Pieces):
    """Pieces by roots, of a time up to a cycle.

    Where an L2 bank is to blame for a part of a piece, that part is taken to be its end.

    Args:
        end: the cycle.

    Attributes:
        roots, begins: of each piece, its root and first cycle; the last one first.
    """

    __slots__ = ("_end", "begins", "roots")

    def __init__(self, end: int) -> None:
        self._end = end
        self.roots = IntList()
        self.begins = IntList()

    def add(self, state: int, begin: int, end: int) -> None:
        self.roots.append(_ROOTS[state])
        self.begins.append(begin)

    def blame(self, state: int, blame: int, cycles: int) -> None:
        roots, begins = self.roots, self.begins
        begin, end = begins[-1], begins[-2] if len(begins) > 1 else self._end
        roots.append(roots[-1])
        begins.append(begin)
        roots[-2] = _CROSSBAR if blame == _REPLIES else _DRAM
        begins[-2] = max(begin, end - cycles)


class RootSums(Pieces):
    """Cycles of pieces by root.

    Attributes:
        sums: cycles, by the number of a `Root`.
    """

    __slots__ = ("sums",)

    def __init__(self) -> None:
        self.sums = zeros(len(Root))

    def add(self, state: int, begin: int, end: int) -> None:
        self.sums[_ROOTS[state]] += end - begin

    def blame(self, state: int, blame: int, cycles: int) -> None:
        self.sums[_ROOTS[state]] -= cycles
        self.sums[_CROSSBAR if blame == _REPLIES else _DRAM] += cycles


class Roots:
    """When something waited for what others held, by root.

    Attributes:
        until: when the latest such wait ended; 0: there was none.
    """

    __slots__ = ("_spells", "until")

    def __init__(self) -> None:
        self.until = 0
        self._spells = [Spells() for _ in Root]

    def note(self, cause: Trailed, begin: int, end: int) -> None:
        """In ``[begin, end)``, the latest so far, what waited for `cause` waited as that did."""
        self.until = end
        found = RootPieces(end)
        cause.cut(begin, end, found)
        roots, begins, spells = found.roots, found.begins, self._spells
        for place in range(len(roots) - 1, -1, -1):
            begin = begins[place]
            until = begins[place - 1] if place else end
            if begin < until:
                spells[roots[place]].add(begin, until)

    def book(self, state: int, start: int, end: int, pieces: Pieces) -> None:
        """Tell pieces of a state, which lasted for ``[start, end)``, its roots."""
        if self.until <= start or start >= end:
            return
        for root, spells in enumerate(self._spells):
            if spells.end > start and (cycles := spells.within(start, end)):
                pieces.root(state, root, cycles)
