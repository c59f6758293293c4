"""What a time is cut into: pieces in which something was in one state, and what is to blame."""

from __future__ import annotations

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
