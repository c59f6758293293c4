"""Graphs as kernels use them: compressed sparse rows."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

MOST_ARCS = (1 << 31) - 1
"""Arc numbers are 32-bit integers in every kernel."""


Weights = NDArray[np.int64] | NDArray[np.float64]


@frozen(eq=False)
class Graph:
    """A directed graph; an undirected one has each edge in both directions.  Arrays are read-only.

    Attributes:
        name: for reports.
        row: (vertices + 1,) int32, where each vertex's arcs start in `col`.
        col: (arcs,) int32, the arcs' targets.
        weight: (arcs,) int64 or float64, if there are weights.
        source: the vertex that a search starts from, if the input says so.
    """

    name: str
    row: NDArray[np.int32]
    col: NDArray[np.int32]
    weight: Weights | None = None
    source: int | None = None

    def __attrs_post_init__(self) -> None:
        for array in (self.row, self.col, self.weight):
            if array is not None:
                array.flags.writeable = False

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return len(self.row) - 1

    @property
    def arcs(self) -> int:
        """Number of directed arcs."""
        return len(self.col)

    @property
    def degrees(self) -> NDArray[np.int32]:
        """(vertices,) outgoing arcs of each vertex."""
        return np.diff(self.row)


def graph_from_arcs(
    name: str,
    vertices: int,
    tail: NDArray[np.int64],
    head: NDArray[np.int64],
    weight: Weights | None = None,
) -> Graph:
    """A graph from its arcs in any order; a vertex keeps the order of its own arcs.

    Args:
        name: for reports.
        vertices: number of vertices.
        tail: (arcs,) where each arc starts, 0-based.
        head: (arcs,) where it ends.
        weight: (arcs,) weights.

    Raises:
        ValueError: there are more of them than 32-bit numbers.
    """
    if max(vertices, len(tail)) > MOST_ARCS:
        raise ValueError(f"{vertices} vertices and {len(tail)} arcs; at most {MOST_ARCS} of each")
    order = np.argsort(tail, kind="stable")
    row = np.zeros(vertices + 1, dtype=np.int32)
    np.cumsum(np.bincount(tail, minlength=vertices), out=row[1:])
    col = head[order].astype(np.int32)
    return Graph(name, row, col, None if weight is None else weight[order])


def undirected_graph(
    name: str, vertices: int, one: NDArray[np.int64], other: NDArray[np.int64]
) -> Graph:
    """A simple undirected graph: loops are dropped, double edges merged, neighbours ascending.

    Args:
        name: for reports.
        vertices: number of vertices.
        one: (edges,) one end of each edge, 0-based.
        other: (edges,) the other end.
    """
    keep = one != other
    low, high = np.minimum(one, other)[keep], np.maximum(one, other)[keep]
    keys = np.sort(np.concatenate((low * vertices + high, high * vertices + low)))
    new = np.ones(len(keys), dtype=bool)  # np.unique would sort just so, but several times slower
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    tail, head = np.divmod(keys[new], vertices)
    row = np.zeros(vertices + 1, dtype=np.int32)
    np.cumsum(np.bincount(tail, minlength=vertices), out=row[1:])
    return Graph(name, row, head.astype(np.int32))


def both_directions(
    vertices: int, tail: NDArray[np.int64], head: NDArray[np.int64], weight: Weights | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], Weights | None]:
    """Arcs, and behind them those back that are not among them; each pair of vertices once.

    Args:
        vertices: number of vertices.
        tail: (arcs,) where each arc starts, 0-based.
        head: (arcs,) where it ends.
        weight: (arcs,) weights; of equal arcs the first one's is kept.
    """
    there = tail * vertices + head
    _, first = np.unique(there, return_index=True)
    first.sort()
    tail, head, there = tail[first], head[first], there[first]
    missing = ~np.isin(head * vertices + tail, there)
    back = np.flatnonzero(missing)
    which = np.concatenate((first, first[back]))
    return (
        np.concatenate((tail, head[back])),
        np.concatenate((head, tail[back])),
        None if weight is None else weight[which],
    )
