"""The suffix tree of mummer, built from the suffix array without a loop over suffixes."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

LETTERS = 4
WORD = 16
"""Letters of a packed word, 3 bits each."""

NOWHERE, ROOT = 0, 1
"""Number of no node, and of the root; the others follow in breadth-first order."""

Ints = NDArray[np.int64]


@frozen(eq=False)
class SuffixTree:
    """A suffix tree; nodes by number, row 0 is unused.

    Attributes:
        children: (nodes, LETTERS) the child behind each letter, or `NOWHERE`.
        start, end: (nodes,) first and last place in the text of the letters that lead to a node.
        suffix: (nodes,) suffix links of inner nodes; `NOWHERE` for the root and for leaves.
        depth: (nodes,) letters from the root.
    """

    children: Ints
    start: Ints
    end: Ints
    suffix: Ints
    depth: Ints


def suffix_tree(text: NDArray[np.uint8]) -> SuffixTree:
    """The tree of all suffixes of letters 1 to LETTERS that end with a single 0.

    Args:
        text: (n,) the letters; the last one, and no other, is 0.
    """
    n = len(text)
    words = _packed(text)
    array = _suffix_array(words)
    common = np.full(n + 1, -1)
    common[1:n] = _common_prefixes(words, array)
    # An inner node is an interval of the suffix array, known by its first place of least `common`.
    before, after = _previous(common, equal=False), n - _previous(common[::-1], equal=False)[::-1]
    place = _first_of_equals(common, _previous(common, equal=True))
    inner = np.flatnonzero(place == np.arange(n + 1))[1:-1]
    number = np.zeros(n + 1, dtype=np.int64)
    number[inner] = np.arange(len(inner))
    low = np.concatenate((before[inner], np.arange(n)))
    high = np.concatenate((after[inner], np.arange(1, n + 1)))
    parent = number[place[np.where(common[low] >= common[high], low, high)]]
    depth = np.concatenate((common[inner], n - array))
    root = int(np.flatnonzero(depth == 0)[0])
    depth_of_parent = depth[parent]
    depth_of_parent[root] = 0
    first = array[low]
    start, end = first + depth_of_parent, first + depth - 1
    letter = text[np.minimum(start, n - 1)]
    new = _breadth_first(parent, letter, root)
    nodes = len(new) + 1
    children = np.zeros((nodes, LETTERS), dtype=np.int64)
    linked = (letter > 0) & (np.arange(len(new)) != root)
    children[new[parent[linked]], letter[linked] - 1] = new[linked]
    suffix = np.zeros(len(new), dtype=np.int64)
    links = _suffix_links(array, low, parent, depth, len(inner), root)
    suffix[: len(inner)] = np.where(np.arange(len(inner)) == root, NOWHERE, new[links])
    ordered = np.zeros((4, nodes), dtype=np.int64)
    ordered[:, new] = start, end, suffix, depth
    return SuffixTree(children, *ordered)


def _packed(text: NDArray[np.uint8]) -> Ints:
    """(n + WORD,) the WORD letters from each place on, the first ones in the highest bits."""
    words = np.concatenate((text, np.zeros(2 * WORD, dtype=np.uint8))).astype(np.int64)
    length = 1
    while length < WORD:
        words = (words[:-length] << 3 * length) | words[length:]
        length *= 2
    return words[: len(text) + WORD]


def _suffix_array(words: Ints) -> Ints:
    """Places in the order of their suffixes: by words, then ties by doubling."""
    n = len(words) - WORD
    array = np.argsort(words[:n], kind="stable")
    ordered = words[array]
    slots = np.arange(n)
    new = np.ones(n, dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    rank = np.empty(n, dtype=np.int64)
    rank[array] = np.maximum.accumulate(np.where(new, slots, 0))
    length = WORD
    while not new.all():
        tied = ~new
        tied[:-1] |= ~new[1:]
        slots, own = slots[tied], array[slots[tied]]
        ranks = np.stack((rank[own], rank[own + length]))
        order = np.lexsort(ranks[::-1])
        own, ranks = own[order], ranks[:, order]
        array[slots] = own
        new = np.ones(len(own), dtype=bool)
        new[1:] = (ranks[:, 1:] != ranks[:, :-1]).any(axis=0)
        rank[own] = np.maximum.accumulate(np.where(new, slots, 0))
        length *= 2
    return array


def _common_prefixes(words: Ints, array: Ints) -> Ints:
    """(n - 1,) letters that neighbours in the suffix array have in common."""
    common = np.zeros(len(array) - 1, dtype=np.int64)
    pairs = np.arange(len(common))
    while len(pairs):
        reached = common[pairs]
        difference = words[array[pairs] + reached] ^ words[array[pairs + 1] + reached]
        bits = np.frexp(difference.astype(np.float64))[1]  # exact: below 2^48
        common[pairs] += np.where(difference == 0, WORD, (3 * WORD - bits) // 3)
        pairs = pairs[difference == 0]
    return common


def _previous(values: Ints, equal: bool) -> Ints:
    """The last place before each one whose value is smaller, or equal if that is allowed.

    Pointers start one place to the left and jump along each other's; -1 before the first place.
    """
    place = np.arange(len(values))
    found = place - 1
    open_ = place[1:]
    while len(open_):
        left, own = values[found[open_]], values[open_]
        open_ = open_[(left > own) if equal else (left >= own)]
        open_ = open_[found[open_] > 0]
        found[open_] = found[found[open_]]
    return found


def _first_of_equals(values: Ints, previous: Ints) -> Ints:
    """The first place of each interval: pointers to equal values, followed to their end."""
    place = np.arange(len(values))
    first = np.where((previous >= 0) & (values[previous] == values), previous, place)
    first[-1] = len(values) - 1
    while not np.array_equal(jumped := first[first], first):
        first = jumped
    return first


def _breadth_first(parent: Ints, letter: NDArray[np.uint8], root: int) -> Ints:
    """New numbers from ROOT on: level by level, siblings by letter."""
    order = np.lexsort((letter, parent))
    order = order[order != root]
    begin = np.searchsorted(parent[order], np.arange(len(parent) + 1))
    new = np.zeros(len(parent), dtype=np.int64)
    level, numbered = np.array([root]), ROOT
    while len(level):
        new[level] = np.arange(numbered, numbered + len(level))
        numbered += len(level)
        count = begin[level + 1] - begin[level]
        offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        level = order[np.repeat(begin[level], count) + offset]
    return new


def _suffix_links(array: Ints, low: Ints, parent: Ints, depth: Ints, inner: int, root: int) -> Ints:
    """(inner,) the node of each inner node's letters without the first: up from a leaf to it."""
    slot = np.empty_like(array)
    slot[array] = np.arange(len(array))
    following = np.minimum(array[low[:inner]] + 1, len(array) - 1)
    link = parent[inner + slot[following]]
    link[root] = root
    above = np.arange(inner)
    while len(above):
        above = above[depth[link[above]] > np.maximum(depth[above] - 1, 0)]
        link[above] = parent[link[above]]
    return link
