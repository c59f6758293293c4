"""Reuse distances, exact, for millions of accesses: offline counting in numpy.

The pages accessed strictly between accesses *i* and *j* to one page are counted by those that occur
there for the first time since *i*: accesses *k* < *j* whose page was last accessed before *i*.
How many of the first *j* elements of an array are below *v* is asked of a wavelet matrix (Navarro
et al., "The wavelet matrix", Information Systems 47, 2015), for all pairs at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]


def previous(key: Index) -> Index:
    """(n,) index of the element before with the same key; -1 where there is none."""
    order = np.argsort(key, kind="stable")
    found = np.full(len(key), -1, dtype=np.int64)
    same = key[order[1:]] == key[order[:-1]]
    found[order[1:][same]] = order[:-1][same]
    return found


def distinct_between(page: Index, first: Index, second: Index) -> Index:
    """Number of other pages accessed strictly between pairs of accesses to one page.

    Args:
        page: (n,) the accesses.
        first: (q,) of each pair the earlier one, as an index into `page`.
        second: (q,) the later one; ``page[first] == page[second]``.

    Returns:
        (q,) int64.
    """
    # Accesses to one page in a row are as good as one.
    head = np.ones(len(page), dtype=bool)
    head[1:] = page[1:] != page[:-1]
    place = np.cumsum(head) - 1
    first, second = place[first], place[second]
    apart = second > first
    distance = np.zeros(len(first), dtype=np.int64)
    if apart.any():
        begin, end = first[apart], second[apart]
        older = previous(page[head]) + 1
        # Of the accesses up to `begin`, all have their predecessor before it: begin + 1 of them.
        distance[apart] = count_below(older, end, begin + 1) - (begin + 1)
    return distance


def count_below(values: Index, ends: Index, bounds: Index) -> Index:
    """For each query, how many of ``values[:end]`` are less than ``bound``.

    Args:
        values: (n,) from 0 to n - 1.
        ends: (q,) from 0 to n.
        bounds: (q,) from 0 to n.

    Returns:
        (q,) int64.
    """
    current = values.astype(np.int32)
    bound = bounds.astype(np.int32)
    # Of each query: the part of `current` that agrees with its bound in the bits so far.
    low, high = np.zeros(len(ends), dtype=np.int32), ends.astype(np.int32)
    found = np.zeros(len(ends), dtype=np.int32)
    zeros = np.zeros(len(values) + 1, dtype=np.int32)
    for bit in range(len(values).bit_length() - 1, -1, -1):
        is_zero = (current >> bit & 1) == 0
        np.cumsum(is_zero, out=zeros[1:])
        low_zeros, high_zeros = zeros[low], zeros[high]
        one = (bound >> bit & 1).astype(bool)
        found += np.where(one, high_zeros - low_zeros, 0)
        low = np.where(one, zeros[-1] + low - low_zeros, low_zeros)
        high = np.where(one, zeros[-1] + high - high_zeros, high_zeros)
        current = np.concatenate((current[is_zero], current[~is_zero]))
    return found.astype(np.int64)
