"""Graph files that list arcs, one a line: Matrix Market, DIMACS and SNAP."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.programs.graphs.graph import MOST_ARCS, Graph, graph_from_arcs
from gpusim.programs.graphs.tokens import Lines, Tokens

MOST_LONELY = 1 << 20
"""Vertices without an arc that a file may claim (our choice), which cost it nothing."""

MOST_LONELY_TIMES = 64
"""Further vertices without an arc that a file may claim for each of its arcs."""

_FIELDS = ("pattern", "integer", "real")
_SYMMETRIES = ("general", "symmetric")


def read_matrix_market(lines: Lines, name: str) -> Graph:
    """Matrix Market, ``coordinate``: pattern, integer or real; general or symmetric; square.

    An entry (i, j) is an arc from i to j, and one back if the matrix is symmetric; entries on the
    diagonal are left out.

    Raises:
        UserError: the file is damaged, or of another kind.
    """
    field, symmetry = _matrix_header(lines)
    lines.blank(np.flatnonzero(lines.first_bytes() == ord("%")))
    tokens = Tokens.of(lines)
    if not len(tokens):
        raise UserError(f"graph file {lines.path} has no line 'rows columns entries'")
    sizes = tokens[tokens.line == tokens.line[0]]
    if len(sizes) != 3:
        raise sizes.fail(0, f"{len(sizes)} numbers; must be 'rows columns entries'")
    rows, columns, entries = sizes.integers("size", 0, MOST_ARCS).tolist()
    if rows != columns:
        raise sizes.fail(0, f"{rows} rows and {columns} columns; a graph's matrix is square")
    words = 2 if field == "pattern" else 3
    tokens = _per_line(tokens[3:], words, "row column" + " value" * (words == 3))
    if len(tokens) != entries * words:
        raise sizes.fail(2, f"{entries} entries promised; the file has {len(tokens) // words}")
    one = tokens[::words].integers("row", 1, rows) - 1
    other = tokens[1::words].integers("column", 1, rows) - 1
    weight: NDArray[np.int64] | NDArray[np.float64] | None = None
    if field == "integer":
        weight = tokens[2::words].integers("value", -MOST_ARCS, MOST_ARCS)
    elif field == "real":
        weight = tokens[2::words].numbers("value")
    keep = one != other
    one, other = one[keep], other[keep]
    weight = None if weight is None else weight[keep]
    if symmetry == "symmetric":
        one, other = np.concatenate((one, other)), np.concatenate((other, one))
        weight = None if weight is None else np.concatenate((weight, weight))
    _check_lonely(lines, rows, len(one))
    return graph_from_arcs(name, rows, one, other, weight)


def _matrix_header(lines: Lines) -> tuple[str, str]:
    words = lines.line(0).split()
    if len(words) != 5 or words[0] != "%%MatrixMarket":
        raise lines.fail(0, "must be '%%MatrixMarket matrix coordinate FIELD SYMMETRY'")
    kinds = (("matrix",), ("coordinate",), _FIELDS, _SYMMETRIES)
    for word, allowed in zip(words[1:], kinds, strict=True):
        if word.lower() not in allowed:
            raise lines.fail(0, f"{word!r} is not supported; allowed: {', '.join(allowed)}")
    return words[3].lower(), words[4].lower()


def read_dimacs(lines: Lines, name: str) -> Graph:
    """DIMACS shortest-path graphs: ``c`` comments, ``p sp V M``, ``a from to weight``.

    With a p line vertices are numbered from 1.  Without one, they are numbered from 0 if vertex 0
    occurs, else from 1, and the largest number is the number of vertices.

    Raises:
        UserError: the file is damaged.
    """
    kind = lines.first_bytes()
    known = np.isin(kind, [ord(letter) for letter in "acp\n\r "])
    if not known.all():
        line = int(np.argmin(known))
        raise lines.fail(line, f"{lines.line(line)[:40]!r} must begin with 'a', 'c' or 'p'")
    promise = _dimacs_promise(lines, np.flatnonzero(kind == ord("p")))
    lines.blank(np.flatnonzero((kind == ord("c")) | (kind == ord("p"))))
    tokens = Tokens.of(lines)
    letters = np.diff(tokens.line, prepend=-1) > 0
    for index in np.flatnonzero(letters & (tokens.end - tokens.start != 1))[:1]:
        raise tokens.fail(int(index), f"{tokens.word(int(index))!r} must be 'a from to weight'")
    tokens = _per_line(tokens, 4, "a from to weight")
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
    _check_lonely(lines, vertices, len(tail))
    return graph_from_arcs(name, vertices, tail - first, head - first, weight)


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


def read_snap(lines: Lines, name: str) -> Graph:
    """SNAP edge list: ``#`` comments, then an arc ``from to`` a line.

    Vertex numbers may have gaps; the vertices that occur are renumbered from 0 in their order.  A
    comment ``Nodes: V Edges: M`` is checked.

    Raises:
        UserError: the file is damaged.
    """
    comments = np.flatnonzero(lines.first_bytes() == ord("#"))
    promise = None
    for line in comments.tolist():
        match = re.search(r"Nodes:\s*([0-9]+)\s+Edges:\s*([0-9]+)", lines.line(line))
        promise = (int(match[1]), int(match[2]), line) if match else promise
    lines.blank(comments)
    tokens = _per_line(Tokens.of(lines), 2, "from to")
    if not len(tokens):
        raise UserError(f"graph file {lines.path} has no arcs; lines 'from to' are expected")
    values = tokens.integers("vertex", 0)
    numbers, ends = np.unique(values, return_inverse=True)
    arcs = len(ends) // 2
    if promise and (len(numbers), arcs) != promise[:2]:
        raise lines.fail(
            promise[2],
            f"{promise[0]} nodes and {promise[1]} edges promised; the file has "
            f"{len(numbers)} and {arcs}",
        )
    return graph_from_arcs(name, len(numbers), ends[::2], ends[1::2])


def _check_lonely(lines: Lines, vertices: int, arcs: int) -> None:
    """Refuse a number of vertices that is a mere claim."""
    if vertices > MOST_LONELY + MOST_LONELY_TIMES * arcs:
        raise UserError(
            f"graph file {lines.path} claims {vertices} vertices with {arcs} arcs; at most "
            f"{MOST_LONELY}, and {MOST_LONELY_TIMES} more an arc, are believed"
        )


def _per_line(tokens: Tokens, words: int, what: str) -> Tokens:
    """The same tokens, if every line that has any has as many as it must."""
    counts = tokens.counts()
    wrong = (counts != 0) & (counts != words)
    if wrong.any():
        line = int(np.argmax(wrong))
        raise tokens.lines.fail(line, f"{tokens.lines.line(line)[:40]!r} must be {what!r}")
    return tokens
