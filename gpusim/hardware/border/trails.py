"""Trails that cross the border: pieces, and which bank of the L2 cache is to blame for them.

A piece is a word: its state, from 1 on the bank that may be to blame for a part of it, and its
first cycle.  If there is such a bank, two words follow: the begin and the end of that part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mypy_extensions import i64

from gpusim.core.blame import Blames
from gpusim.core.cut import Pieces, Trailed
from gpusim.core.request import Traveller
from gpusim.core.unboxed import IntList, Words
from gpusim.hardware.border.messages import BYTE, BYTES, KIND_BITS, PLACE, PLACES, STALLED

_CYCLE: Final[i64] = BYTE + PLACE
"""Where a piece has its first cycle."""


class ToldStalls(Blames):
    """Follows the stalls of a bank, and tells the SMs' side of each.

    Args:
        bank: its number.
        told: where that goes.
    """

    __slots__ = ("_told", "bank")

    def __init__(self, bank: int, told: Words) -> None:
        super().__init__()
        self.bank = bank
        self._told = told

    def note(self, blame: int, begin: int, end: int) -> None:
        told = self._told
        bank: i64 = self.bank
        told.append(end)
        told.append(STALLED | bank << KIND_BITS)
        told.append(blame)
        told.append(begin)


class ToldPieces(Pieces):
    """Pieces of trails, as they are told.

    Args:
        told: where they go.
    """

    __slots__ = ("_count", "_ends", "_froms", "_found", "_told")

    def __init__(self, told: Words) -> None:
        self._told = told
        self._count: i64 = 0
        self._found = IntList()
        """Of the trail that is cut, its first `_count` pieces, the last one first."""
        self._froms = IntList()
        self._ends = IntList()
        """Of those with a bank, begin and end of the part."""

    def add(self, state: int, begin: int, end: int) -> None:
        at: i64 = begin
        what: i64 = state
        count = self._count
        if count == len(self._found):
            self._found.append(0)
            self._froms.append(0)
            self._ends.append(0)
        self._found[count] = what | at << _CYCLE
        self._count = count + 1

    def blame_those_of(self, blames: Blames, state: int, begin: int, end: int) -> None:
        if begin >= end or blames.until <= begin:
            return
        stalls = blames.follower
        assert isinstance(stalls, ToldStalls)
        bank: i64 = stalls.bank + 1
        last = self._count - 1
        piece: i64 = self._found[last]
        self._found[last] = piece | bank << BYTE
        self._froms[last] = begin
        self._ends[last] = end

    def tell(self, traveller: Traveller, until: int) -> None:
        """Tell the states that a traveller has been in on this side, up to a cycle."""
        trail = traveller.trail
        begin = trail[1]
        self._count = 0
        if begin < until:
            traveller.cut(begin, until, self)
        told, found, left = self._told, self._found, self._count
        told.append(left)
        while left:
            left -= 1
            piece: i64 = found[left]
            told.append(piece)
            if piece >> BYTE & PLACES:
                told.append(self._froms[left])
                told.append(self._ends[left])


class BlamedPiece(Trailed):
    """A piece of a trail for which a bank may be to blame.

    Args:
        stalls: of the bank.
        state: of the piece.
        begin, end: of the part that the bank may be to blame for.
    """

    __slots__ = ("_begin", "_end", "_stalls", "_state")

    def __init__(self, stalls: Blames, state: int, begin: int, end: int) -> None:
        self._stalls = stalls
        self._state = state
        self._begin = begin
        self._end = end

    def cut(self, start: int, end: int, pieces: Pieces) -> None:
        if start < end:
            pieces.add(self._state, start, end)
            pieces.blame_those_of(
                self._stalls, self._state, max(start, self._begin), min(end, self._end)
            )


def go_on(traveller: Traveller, words: Words, stalls: Sequence[Blames]) -> None:
    """Put the states that a traveller has been in on the other side at the end of its trail.

    They take the place of its last one, in which it went there.

    Args:
        traveller: it.
        words: what `ToldPieces` told.
        stalls: of the banks.
    """
    trail = traveller.trail
    count = words.take()
    first = count
    while count:
        piece = words.take()
        state = piece & BYTES
        bank = piece >> BYTE & PLACES
        if bank:
            part = BlamedPiece(stalls[bank - 1], state, words.take(), words.take())
            if count == first:
                traveller.refine(part)
            else:
                traveller.follow(part, piece >> _CYCLE)
        elif count == first:
            trail[-2] = state
        else:
            trail.append(state)
            trail.append(piece >> _CYCLE)
        count -= 1
