"""Pieces of thread blocks, from who records them to who asks for them."""

from __future__ import annotations

from typing import Protocol

from gpusim.core.warp_program import LaneChunk


class TakesPieces(Protocol):
    """What records pieces of thread blocks."""

    def take(self) -> LaneChunk | None:
        """What was recorded since the last call; None: nothing was."""


def move_piece(record: TakesPieces, pieces: list[LaneChunk]) -> bool:
    """Move what was recorded to the end of a list; whether there is some."""
    piece = record.take()
    if piece is not None:
        pieces.append(piece)
    return piece is not None
