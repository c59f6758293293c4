"""LRU sets of any number of ways in one pass: stack distances, a window at a time.

An access hits in a set of *w* ways under LRU if fewer than *w* other pages of its set were accessed
since the last access to its page (R. L. Mattson et al., "Evaluation techniques for storage
hierarchies", IBM Systems Journal 9, 1970).  What the sets hold at the end of a window is put in
front of the next one, so that windows make no difference.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusim.studies.characterize.distances import Index, distinct_between, previous

NEVER_BEFORE: Final = 1 << 40
"""Distance of an access to a page that no set of at most `ways` ways holds."""


class LruStacks:
    """The sets of several TLBs, each as the stack of its pages, the last used one on top.

    Args:
        ways: of the largest sets of interest.
        least: of the smallest ones: up to as many distinct pages apart is a hit for all of them.
    """

    def __init__(self, ways: int, least: int) -> None:
        self._ways = ways
        self._least = least
        self._set = np.zeros(0, dtype=np.int64)
        self._page = np.zeros(0, dtype=np.int64)
        """What the sets hold, those of one set together, the last used one last."""

    def distances(self, number: Index, page: Index) -> Index:
        """How many other pages of its set were accessed since a page was.

        Args:
            number: (n,) of each access in order, the set, whatever TLB it belongs to.
            page: (n,) the page; a page belongs to one set.

        Returns:
            (n,) distances; those of fewer than `least` pages may come out smaller than they are,
            those of `ways` and more as `NEVER_BEFORE`.
        """
        held = len(self._set)
        sets = np.concatenate((self._set, number))
        pages = np.concatenate((self._page, page))
        order = np.argsort(sets, kind="stable")
        sets, pages = sets[order], pages[order]
        before = previous(pages)
        place = np.arange(len(pages))
        reuse = before >= 0
        found = np.full(len(pages), NEVER_BEFORE, dtype=np.int64)
        found[reuse] = 0
        far = np.flatnonzero(reuse & (place - before > self._least))
        found[far] = distinct_between(pages, before[far], far)
        found[found >= self._ways] = NEVER_BEFORE
        self._keep(sets, pages, before)
        distances = np.empty(len(pages), dtype=np.int64)
        distances[order] = found
        return distances[held:]

    def _keep(self, sets: Index, pages: Index, before: Index) -> None:
        """Keep the last `ways` pages of each set, in the order of their last accesses."""
        last = np.ones(len(pages), dtype=bool)
        last[before[before >= 0]] = False
        where = np.flatnonzero(last)
        sets = sets[where]
        ends = np.searchsorted(sets, sets, side="right")
        kept = ends - np.arange(len(sets)) <= self._ways
        self._set, self._page = sets[kept], pages[where][kept]
