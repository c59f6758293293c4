"""Graph files that list each vertex's neighbours: METIS and Rodinia."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.programs.graphs.graph import MOST_ARCS, Graph
from gpusim.programs.graphs.tokens import Lines, Tokens


def read_metis(lines: Lines, name: str) -> Graph:
    """METIS: ``V E [fmt [ncon]]``, then a line of 1-based neighbours per vertex; % comments.

    An isolated vertex has an empty line, or one that holds only its own weights.  Vertex sizes
    and weights are skipped, edge weights kept.

    Raises:
        UserError: the file is damaged.
    """
    comment = lines.first_bytes() == ord("%")
    lines.blank(np.flatnonzero(comment))
    tokens = Tokens.of(lines)
    if not len(tokens):
        raise UserError(f"graph file {lines.path} has only comments; the line 'V E' is expected")
    header = int(tokens.line[0])
    vertices, edges, own, weighted = _metis_header(tokens[tokens.line == header])
    vertex_of_line = np.cumsum(~comment & (np.arange(len(comment)) > header)) - 1
    found = int(vertex_of_line[-1]) + 1
    if found < vertices:
        raise lines.fail(
            len(comment) - 1,
            f"the file ends after the lines of {found} vertices; line {header + 1} promises "
            f"{vertices} (an isolated vertex has an empty line)",
        )
    tokens = tokens[tokens.line > header]
    vertex = vertex_of_line[tokens.line]
    if len(tokens) and vertex[-1] >= vertices:
        extra = int(np.argmax(vertex >= vertices))
        raise tokens.fail(
            extra, f"a line for vertex {vertices + 1}; line {header + 1} promises {vertices}"
        )
    counts = np.bincount(vertex, minlength=vertices)
    place = np.arange(len(tokens)) - np.repeat(np.cumsum(counts) - counts, counts)
    _check_metis_lines(tokens, vertex, counts, own, weighted)
    names = (place >= own) & ((place - own) % (1 + weighted) == 0)
    neighbour = tokens[names]
    if len(neighbour) != 2 * edges:
        raise lines.fail(
            header,
            f"the header promises {edges} edges; the file has {len(neighbour)} arcs, "
            f"must be {2 * edges} (each edge in the lines of both ends)",
        )
    col = neighbour.integers("neighbour", 1, vertices) - 1
    _check_both_ends(neighbour, vertex[names], col, vertices)
    weight = None
    if weighted:
        chosen = (place >= own) & ((place - own) % 2 == 1)
        weight = tokens[chosen].integers("edge weight", 0)
    tokens[place < own].integers("vertex weight", 0)
    degrees = np.maximum(counts - own, 0) // (1 + weighted)
    return Graph(name, _starts(degrees), col.astype(np.int32), weight)


def _metis_header(tokens: Tokens) -> tuple[int, int, int, bool]:
    """Vertices, edges, a vertex's own numbers before its neighbours, whether edges have weights."""
    if not 2 <= len(tokens) <= 4:
        raise tokens.fail(0, f"the header has {len(tokens)} numbers; must be 'V E [fmt [ncon]]'")
    vertices = int(tokens[:1].integers("number of vertices", 1, MOST_ARCS)[0])
    edges = int(tokens[1:2].integers("number of edges", 0, MOST_ARCS // 2)[0])
    kind = tokens.word(2) if len(tokens) > 2 else "0"
    if len(kind) > 3 or set(kind) - {"0", "1"}:
        raise tokens.fail(2, f"fmt is {kind!r}; must be up to three digits 0 or 1")
    sizes, weights, edge_weights = (digit == "1" for digit in kind.zfill(3))
    constraints = int(weights)
    if len(tokens) == 4:
        constraints = int(tokens[3:].integers("ncon", 0, 1 << 20)[0]) * weights
    return vertices, edges, sizes + constraints, edge_weights


def _check_metis_lines(
    tokens: Tokens, vertex: NDArray[np.int64], counts: NDArray[np.int64], own: int, weighted: bool
) -> None:
    wrong = (counts > 0) & (counts < own)
    if weighted:
        wrong |= (counts > 0) & ((counts - own) % 2 == 1)
    if wrong.any():
        which = int(np.argmax(wrong))
        pairs = "neighbours with their weights" if weighted else "neighbours"
        raise tokens.fail(
            int(np.searchsorted(vertex, which)),
            f"vertex {which + 1} has {counts[which]} numbers; "
            f"must be {own} of its own, then {pairs}",
        )


def _check_both_ends(
    tokens: Tokens, tail: NDArray[np.int64], head: NDArray[np.int64], vertices: int
) -> None:
    """Refuse arcs without one back; the `tokens` are their heads."""
    there, back = tail * vertices + head, head * vertices + tail
    if (np.sort(there) == np.sort(back)).all():
        return
    lonely = ~np.isin(there, back)
    which = int(np.argmax(lonely)) if lonely.any() else 0
    one, other = int(tail[which]) + 1, int(head[which]) + 1
    raise tokens.fail(
        which, f"vertex {one} has the neighbour {other}, which does not have {one} as often"
    )


def read_rodinia(lines: Lines, name: str) -> Graph:
    """Rodinia's bfs input: N; N x (start, degree); source; M; M x (target, weight).

    Raises:
        UserError: the file is damaged.
    """
    tokens = Tokens.of(lines)
    vertices = int(tokens[:1].integers("number of vertices", 1, MOST_ARCS)[0])
    _check_length(tokens, 1 + 2 * vertices + 2, f"{vertices} vertices, the source and M")
    nodes = tokens[1 : 1 + 2 * vertices]
    degrees = nodes[1::2].integers("degree", 0, MOST_ARCS)
    starts = nodes[::2].integers("start", 0, MOST_ARCS)
    row = _starts(degrees)
    wrong = starts != row[:-1]
    if wrong.any():
        index = int(np.argmax(wrong))
        raise nodes.fail(
            2 * index,
            f"vertex {index} starts at {starts[index]}; must be {row[index]}, where the vertex "
            "before it ends",
        )
    tail = tokens[1 + 2 * vertices :]
    source = int(tail[:1].integers("source", 0, vertices - 1)[0])
    arcs = int(tail[1:2].integers("number of arcs", 0, MOST_ARCS)[0])
    if arcs != row[-1]:
        raise tail.fail(1, f"M is {arcs}; must be {row[-1]}, the sum of all degrees")
    _check_length(tail, 2 + 2 * arcs, f"{arcs} arcs with their weights")
    if len(tail) > 2 + 2 * arcs:
        raise tail.fail(2 + 2 * arcs, f"{tail.word(2 + 2 * arcs)!r} after the last of {arcs} arcs")
    pairs = tail[2:]
    col = pairs[::2].integers("target", 0, vertices - 1).astype(np.int32)
    return Graph(name, row, col, pairs[1::2].integers("weight", 0), source)


def _starts(degrees: NDArray[np.int64]) -> NDArray[np.int32]:
    row = np.zeros(len(degrees) + 1, dtype=np.int32)
    np.cumsum(degrees, out=row[1:])
    return row


def _check_length(tokens: Tokens, needed: int, what: str) -> None:
    if len(tokens) < needed:
        raise tokens.fail(
            len(tokens) - 1,
            f"the file ends here; it must go on with {what} ({needed - len(tokens)} numbers more)",
        )
