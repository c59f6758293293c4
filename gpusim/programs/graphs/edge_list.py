"""Graph files with an arc a line: edge lists of SNAP, KONECT, NetworkRepository, GAP, and CSV."""

from __future__ import annotations

import re

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.programs.graphs.arc_lines import per_line
from gpusim.programs.graphs.graph import Graph, Weights, both_directions, graph_from_arcs
from gpusim.programs.graphs.tokens import Lines, Tokens

FIRST_TIME = 100_000_000
"""Whole numbers from here on in a third column are times, in seconds since 1970, not weights."""

_SEPARATORS = frozenset(b',;|"')
_PROMISE = re.compile(r"Nodes:\s*([0-9]+)\s+Edges:\s*([0-9]+)")
_UNDIRECTED = re.compile(r"\bundirected graph\b|^[#%/]+\s*undirected\b|^%+\s*sym\b", re.IGNORECASE)
_BIPARTITE = re.compile(r"^%+\s*bip\b", re.IGNORECASE)
_FROM = frozenset({"from", "source", "src", "tail", "u", "i", "a", "fromnodeid"})
_ROW_OF = frozenset({"node", "id"})
"""Names of a column of sources, if no other column is one; else they number the rows."""
_TO = frozenset({"to", "target", "dst", "dest", "destination", "head", "v", "j", "b", "tonodeid"})
_NUMBERED = re.compile(r"(?:node|vertex|id|v|n)_?([12])")
"""Names of the two columns that differ in their number, as in files of SNAP's (``id_1,id_2``)."""
_WEIGHT = frozenset({"weight", "w", "value", "rating", "weights"})


@frozen
class _Stated:
    """What the comments of a file say.

    Attributes:
        undirected: whether each edge is an arc in both directions.
        bipartite: whether both columns are numbered on their own.
        promise: nodes, edges, and the line that promises them.
    """

    undirected: bool
    bipartite: bool
    promise: tuple[int, int, int] | None


def read_edge_list(lines: Lines, name: str) -> Graph:
    """An arc ``from to`` a line, perhaps with a weight, and a time, which is not read.

    Comments begin with ``#``, ``%`` or ``//``; columns stand apart by white space, commas or
    semicolons; a first line may name them.  Vertex numbers may have gaps; the vertices that occur
    are renumbered from 0 in their order.  A comment ``Nodes: V Edges: M`` is checked.  Where the
    comments say so (SNAP: ``Undirected graph``, KONECT: ``sym``, ``bip``), an edge is an arc in
    both directions; in a ``bip`` graph of KONECT ("always undirected", its help on formats) the
    vertices of the second column follow those of the first.  A third column of whole numbers from
    `FIRST_TIME` on is a time.

    Raises:
        UserError: the file is damaged.
    """
    first = lines.first_bytes()
    comments = np.flatnonzero(np.isin(first, [ord(letter) for letter in "#%/"]))
    stated = _stated(lines, comments.tolist())
    lines.blank(comments)
    lines.separate(_SEPARATORS)
    tokens, columns = _columns(Tokens.of(lines))
    if not len(tokens):
        raise UserError(f"graph file {lines.path} has no arcs; lines 'from to' are expected")
    width = int(tokens.counts()[tokens.line[0]])
    if not 2 <= width <= max(4, len(columns)):
        line = int(tokens.line[0])
        raise lines.fail(line, f"{lines.line(line)[:40]!r} must be 'from to [weight [time]]'")
    tokens = per_line(tokens, width, " ".join(("from", "to", "weight", "time")[:width]))
    place = np.arange(len(tokens)) % width
    one = tokens[place == columns.get("from", 0)].integers("vertex", 0)
    other = tokens[place == columns.get("to", 1)].integers("vertex", 0)
    tail, head, vertices = _renumbered(one, other, stated.bipartite)
    if stated.promise and (vertices, len(tail)) != stated.promise[:2]:
        raise lines.fail(
            stated.promise[2],
            f"{stated.promise[0]} nodes and {stated.promise[1]} edges promised; the file has "
            f"{vertices} and {len(tail)}",
        )
    at = columns.get("weight", -1 if columns else 2)
    weight = _weights(tokens[place == at]) if 0 <= at < width else None
    if stated.undirected or stated.bipartite:
        tail, head, weight = both_directions(vertices, tail, head, weight)
    return graph_from_arcs(name, vertices, tail, head, weight)


def _stated(lines: Lines, comments: list[int]) -> _Stated:
    texts = {line: lines.line(line) for line in comments}
    promise = None
    for line, text in texts.items():
        match = _PROMISE.search(text)
        promise = (int(match[1]), int(match[2]), line) if match else promise
    return _Stated(
        any(_UNDIRECTED.search(text) for text in texts.values()),
        any(_BIPARTITE.search(text) for text in texts.values()),
        promise,
    )


def _columns(tokens: Tokens) -> tuple[Tokens, dict[str, int]]:
    """What stands below the names of columns, and where each is; empty: there are no names."""
    if not len(tokens) or re.match(r"-?[0-9]", tokens.word(0)):
        return tokens, {}
    first = tokens[tokens.line == tokens.line[0]]
    words = [first.word(place).lower() for place in range(len(first))]
    names = [re.sub("[^a-z]", "", word) for word in words]
    numbered = [_NUMBERED.fullmatch(word) for word in words]
    columns: dict[str, int] = {
        "from" if found[1] == "1" else "to": place for place, found in enumerate(numbered) if found
    }
    for place, word in enumerate(names):
        for what, known in (("from", _FROM), ("to", _TO), ("weight", _WEIGHT)):
            if word in known:
                columns.setdefault(what, place)
    if "from" not in columns:
        columns.update([("from", place) for place, word in enumerate(names) if word in _ROW_OF])
    if not {"from", "to"} <= columns.keys():
        raise tokens.fail(
            0, f"names of columns without source and target: {' '.join(names)[:60]!r}"
        )
    return tokens[len(first) :], columns


def _renumbered(
    tail: NDArray[np.int64], head: NDArray[np.int64], bipartite: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Both ends of the arcs with numbers without gaps, and the number of vertices."""
    if bipartite:
        left, one = np.unique(tail, return_inverse=True)
        right, other = np.unique(head, return_inverse=True)
        return one, other + len(left), len(left) + len(right)
    numbers, ends = np.unique(np.concatenate((tail, head)), return_inverse=True)
    return ends[: len(tail)], ends[len(tail) :], len(numbers)


def _weights(tokens: Tokens) -> Weights | None:
    """The weights of the arcs; None: they are times."""
    values = tokens.numbers("weight")
    if (values != np.round(values)).any() or np.abs(values).max() >= 1 << 53:
        return values
    return None if values.min() >= FIRST_TIME else values.astype(np.int64)
