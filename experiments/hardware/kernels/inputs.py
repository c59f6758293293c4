"""What kernels.cu makes its matrices, graphs and indices of, number for number."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

Ints = NDArray[np.int32]


def mixed(numbers: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The last step of MurmurHash3, of each number."""
    h = numbers.astype(np.uint32)
    h ^= h >> np.uint32(16)
    h *= np.uint32(0x85EBCA6B)
    h ^= h >> np.uint32(13)
    h *= np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


@frozen(eq=False)
class Csr:
    """A sparse matrix or a graph.

    Attributes:
        row: (rows + 1,) where each begins.
        column: of its entries.
    """

    row: Ints
    column: Ints


def _of(lengths: NDArray[np.int64], column: NDArray[np.integer[Any]]) -> Csr:
    row = np.concatenate([[0], np.cumsum(lengths)])
    return Csr(row.astype(np.int32), column.astype(np.int32))


def banded(n: int) -> Csr:
    """Sixteen entries a row around the diagonal."""
    column = np.arange(n)[:, None] + 4 * np.arange(16) - 30
    return _of(np.full(n, 16), column.clip(0, n - 1).ravel())


def power_law(n: int) -> Csr:
    """Rows of 4, 8, .. 2048 entries, each length half as often as the one before it."""
    bits = mixed(np.arange(1, n + 1)).astype(np.int64)
    zeros = np.full(n, 9)
    for number in reversed(range(9)):
        zeros[bits >> number & 1 == 1] = number
    lengths = 4 << zeros
    owner = np.repeat(np.arange(n), lengths)
    inside = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return _of(lengths, mixed(owner * 2048 + inside) % np.uint32(n))


def random_graph(n: int) -> Csr:
    """Eight neighbours each, at random."""
    return _of(np.full(n, 8), mixed(np.arange(8 * n)) % np.uint32(n))


def levels(graph: Csr, now: int) -> Ints:
    """Levels of a search from vertex 0 when level `now` begins; -1: not reached."""
    found = np.full(len(graph.row) - 1, -1, dtype=np.int32)
    found[0] = 0
    for level in range(now):
        frontier = np.flatnonzero(found == level)
        edges = graph.row[frontier][:, None] + np.arange(8)
        neighbours = graph.column[edges.ravel()]
        found[neighbours[found[neighbours] < 0]] = level + 1
    return found
