"""Graph files of DIMACS: shortest paths, and colouring."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.programs.graphs.arc_lines import check_lonely, per_line
from gpusim.programs.graphs.graph import MOST_ARCS, Graph, both_directions, graph_from_arcs
from gpusim.programs.graphs.tokens import Lines, Tokens


def read_dimacs(lines: Lines, name: str) -> Graph:
    """DIMACS shortest-path graphs: ``c`` comments, ``p sp V M``, ``a from to weight``.

    With a p line vertices are numbered from 1.  Without one, they are numbered from 0 if vertex 0
    occurs, else from 1, and the largest number is the number of vertices.

    Raises:
        UserError: the file is damaged.
    """
    kind = _kinds(lines, "acp", "'a', 'c' or 'p'")
    promise = _dimacs_promise(lines, np.flatnonzero(kind == ord("p")))
    lines.blank(np.flatnonzero((kind == ord("c")) | (kind == ord("p"))))
    tokens = Tokens.of(lines)
    letters = np.diff(tokens.line, prepend=-1) > 0
    for index in np.flatnonzero(letters & (tokens.end - tokens.start != 1))[:1]:
        raise tokens.fail(int(index), f"{tokens.word(int(index))!r} must be 'a from to weight'")
    tokens = per_line(tokens, 4, "a from to weight")
    if not len(tokens) and not promise:
        raise UserError(
            f"graph file {lines.path} has no arcs; lines 'a from to weight' are expected"
        )
    low, high = (1, promise[0]) if promise else (0, MOST_ARCS)
    tail = tokens[1::4].integers("vertex", low, high)
    head = tokens[2::4].integers("vertex", low, high)
    weight = tokens[3::4].integers("weight", 0)
    if promise and promise[1] != len(tail):
        raise lines.fail(promise[2], f"{promise[1]} arcs promised; the file has {len(tail)}")
    first = 1 if promise else min(1, int(tail.min()), int(head.min()))
    vertices = promise[0] if promise else int(max(tail.max(), head.max())) - first + 1
    check_lonely(lines, vertices, len(tail))
    return graph_from_arcs(name, vertices, tail - first, head - first, weight)


def _kinds(lines: Lines, letters: str, allowed: str) -> NDArray[np.uint8]:
    """The first byte of each line, which must be one of `letters` if the line is not blank."""
    kind = lines.first_bytes()
    known = np.isin(kind, [ord(letter) for letter in f"{letters}\n\r "])
    if not known.all():
        line = int(np.argmin(known))
        raise lines.fail(line, f"{lines.line(line)[:40]!r} must begin with {allowed}")
    return kind


def _dimacs_promise(lines: Lines, which: NDArray[np.int64]) -> tuple[int, int, int] | None:
    """Vertices and arcs that the p line promises, and that line."""
    if not which.size:
        return None
    line = int(which[0])
    match = re.fullmatch(r"p\s+\w+\s+([0-9]{1,10})\s+([0-9]{1,10})\s*", lines.line(line))
    if len(which) > 1 or not match:
        where = int(which[-1])
        raise lines.fail(where, f"{lines.line(where)!r}: must be one line 'p sp VERTICES ARCS'")
    return int(match[1]), int(match[2]), line


def read_colouring(lines: Lines, name: str) -> Graph:
    """DIMACS graph colouring: ``c`` comments, ``p edge V M``, ``e one other``; vertices from 1.

    Each edge is an arc in both directions, however often the file has it.  Lines of nodes (``n``)
    and of further descriptions (``d``, ``v``, ``x``) are skipped.  M counts an edge once or twice,
    as in the files that are around.

    Raises:
        UserError: the file is damaged.
    """
    kind = _kinds(lines, "cpendvx", "'c', 'p' or 'e'")
    vertices, edges, place = _colouring_promise(lines, np.flatnonzero(kind == ord("p")))
    lines.blank(np.flatnonzero(kind != ord("e")))
    tokens = per_line(Tokens.of(lines), 3, "e one other")
    ends = tokens[np.arange(len(tokens)) % 3 > 0].integers("vertex", 1, vertices) - 1
    one, other = ends[::2], ends[1::2]
    if len(one) not in (edges, 2 * edges) and 2 * len(one) != edges:
        raise lines.fail(place, f"{edges} edges promised; the file has {len(one)}")
    check_lonely(lines, vertices, len(one))
    tail, head, _ = both_directions(vertices, one, other, None)
    return graph_from_arcs(name, vertices, tail, head)


def _colouring_promise(lines: Lines, which: NDArray[np.int64]) -> tuple[int, int, int]:
    """Vertices and edges that the p line promises, and that line."""
    if not which.size:
        raise UserError(f"graph file {lines.path} has no line 'p edge VERTICES EDGES'")
    line = int(which[0])
    match = re.fullmatch(r"p\s+\w+\s+([0-9]{1,10})\s+([0-9]{1,10})\s*", lines.line(line))
    if len(which) > 1 or not match or int(match[1]) > MOST_ARCS:
        where = int(which[-1])
        raise lines.fail(where, f"{lines.line(where)!r}: must be one line 'p edge VERTICES EDGES'")
    return int(match[1]), int(match[2]), line
