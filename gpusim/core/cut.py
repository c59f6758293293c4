"""What a time is cut into: pieces in which something was in one state, and what is to blame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy_extensions import mypyc_attr

if TYPE_CHECKING:
    from gpusim.core.blame import Blames

Piece = tuple[int, int, int]
"""State, first cycle, cycle after the last."""


class Pieces:
    """What a time is cut into, by a trail; a subclass says what becomes of the pieces."""

    __slots__ = ()

    def add(self, state: int, begin: int, end: int) -> None:
        """A piece, which comes before the one added last."""
        raise NotImplementedError

    def blame(self, state: int, blame: int, cycles: int) -> None:
        """Something (`gpusim.core.blame.Blame`) is to blame for cycles of a state's pieces."""

    def blame_those_of(self, blames: Blames, state: int, begin: int, end: int) -> None:
        """In ``[begin, end)``, a part of the piece added last, something else may be to blame.

        Args:
            blames: when that was stalled.
            state: of the piece.
            begin: of the part.
            end: of it; it is empty where that is not later.
        """
        blames.book(state, begin, end, self)

    def root(self, state: int, root: int, cycles: int) -> None:
        """In cycles of a state's pieces, what was waited for itself waited (`Root`)."""


class KeptPieces(Pieces):
    """Pieces that are kept.

    Attributes:
        pieces: the last one first.
    """

    __slots__ = ("pieces",)

    def __init__(self) -> None:
        self.pieces: list[Piece] = []

    def add(self, state: int, begin: int, end: int) -> None:
        self.pieces.append((state, begin, end))


@mypyc_attr(allow_interpreted_subclasses=True)
class Trailed:
    """An object with a trail: the states that it has been in, and since when."""

    __slots__ = ()

    def cut(self, start: int, end: int, pieces: Pieces) -> None:
        """Add the pieces of ``[start, end)``, which they tile, the last one first."""
        raise NotImplementedError
