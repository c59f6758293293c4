"""What graph files that list an arc a line have in common."""

from __future__ import annotations

import numpy as np

from gpusim.core.errors import UserError
from gpusim.programs.graphs.tokens import Lines, Tokens

MOST_LONELY = 1 << 20
"""Vertices without an arc that a file may claim (our choice), which cost it nothing."""

MOST_LONELY_TIMES = 64
"""Further vertices without an arc that a file may claim for each of its arcs."""


def check_lonely(lines: Lines, vertices: int, arcs: int) -> None:
    """Refuse a number of vertices that is a mere claim.

    Raises:
        UserError: there are too many of them for the arcs.
    """
    if vertices > MOST_LONELY + MOST_LONELY_TIMES * arcs:
        raise UserError(
            f"graph file {lines.path} claims {vertices} vertices with {arcs} arcs; at most "
            f"{MOST_LONELY}, and {MOST_LONELY_TIMES} more an arc, are believed"
        )


def per_line(tokens: Tokens, words: int, what: str) -> Tokens:
    """The same tokens, if every line that has any has as many as it must.

    Raises:
        UserError: a line has not; names it.
    """
    counts = tokens.counts()
    wrong = (counts != 0) & (counts != words)
    if wrong.any():
        line = int(np.argmax(wrong))
        raise tokens.lines.fail(line, f"{tokens.lines.line(line)[:40]!r} must be {what!r}")
    return tokens
