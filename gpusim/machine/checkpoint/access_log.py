"""Transactions of what is skipped: the last ones in full, and of others what is left of them."""

from __future__ import annotations

from collections import deque

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from gpusim.core.warp_program import BYTES_SHIFT
from gpusim.machine.checkpoint.state import PAGE_SHIFT, Accesses, LastAccesses

MOST_LAST = 1 << 21
"""Lines that are kept of what is not kept in full, at most: three times as many as all L1 caches
and the L2 cache of the largest shipped machine hold [our choice]."""

_CHUNK = 1 << 18
"""Transactions that are worked on at once."""

_KIND_BITS = 2
_HOME_BITS = 12
_SECTORS = (1 << BYTES_SHIFT) - 1


class AccessLog:
    """Takes the transactions of an application in.

    Args:
        keep: how many of the last ones are kept in full; None: all.
        line_bytes: of their lines.
    """

    def __init__(self, keep: int | None, line_bytes: int) -> None:
        self._keep = keep
        self._page_lines_shift = PAGE_SHIFT - (line_bytes.bit_length() - 1)
        self._gathered: list[LastAccesses] = []
        self._room = _CHUNK
        self._held: deque[LastAccesses] = deque()
        self._holds = 0
        self._last = _joined([])
        self._pages: set[int] = set()
        self._new_pages: list[NDArray[np.int64]] = []

    def add(
        self, home: int, slot: int, lines: object, sectors: object, kinds: object
    ) -> int:  # fmt: skip
        """Transactions of a block on the SM `home`, in its block slot; returns how many."""
        named = np.asarray(lines, dtype=np.int64)
        place = np.ones_like(named)
        self._gathered.append(
            LastAccesses(
                named, np.asarray(sectors, dtype=np.int64) & _SECTORS,
                np.asarray(kinds, dtype=np.int64), place * home, place * slot,
            )
        )  # fmt: skip
        self._room -= len(named)
        if self._room <= 0:
            self._flush()
        return len(named)

    def take_pages(self) -> NDArray[np.int64]:
        """The pages that were accessed for the first time since the last call, in order."""
        self._flush()
        found = np.concatenate([np.zeros(0, dtype=np.int64), *self._new_pages])
        self._new_pages = []
        return found

    def finish(self) -> tuple[LastAccesses, Accesses]:
        """What is left of the first transactions, and the last ones in full."""
        self._flush()
        too_many = 0 if self._keep is None else max(self._holds - self._keep, 0)
        held = _joined(self._held)
        self._reduce(_part(held, slice(0, too_many)))
        whole = _part(held, slice(too_many, None))
        return self._last, Accesses(whole.lines, whole.sectors, whole.kinds)

    def _flush(self) -> None:
        if not self._gathered:
            return
        chunk = _joined(self._gathered)
        lengths = [len(piece) for piece in self._gathered]
        self._note_pages(chunk.lines, np.repeat(np.arange(len(lengths)), lengths))
        self._gathered, self._room = [], _CHUNK
        self._held.append(chunk)
        self._holds += len(chunk)
        while (
            self._held and self._keep is not None and self._holds - len(self._held[0]) >= self._keep
        ):
            oldest = self._held.popleft()
            self._holds -= len(oldest)
            self._reduce(oldest)

    def _note_pages(self, lines: NDArray[np.int64], pieces: NDArray[np.int64]) -> None:
        """Of a piece, pages are translated in the order in which they are used for the last time.

        Args:
            lines: of transactions.
            pieces: of each, the number of its piece.
        """
        pages = lines >> self._page_lines_shift
        names, page = np.unique(pages, return_inverse=True)
        key = pieces * len(names) + page
        _, from_end = np.unique(key[::-1], return_index=True)
        in_turn = pages[np.sort(len(key) - 1 - from_end)]
        found, first = np.unique(in_turn, return_index=True)
        in_order = found[np.argsort(first)].tolist()
        new = [one for one in in_order if one not in self._pages]
        self._pages.update(new)
        self._new_pages.append(np.array(new, dtype=np.int64))

    def _reduce(self, chunk: LastAccesses) -> None:
        """Of equal transactions, those that came before included, the last one stays."""
        both = _joined([self._last, chunk])
        if not len(both):
            return
        _, line = np.unique(both.lines, return_inverse=True)
        key = (line << _HOME_BITS | both.homes) << _KIND_BITS | both.kinds
        order = np.argsort(key, kind="stable")
        starts = np.flatnonzero(np.diff(key[order], prepend=-1))
        ends = np.append(starts[1:], len(order)) - 1
        together = np.bitwise_or.reduceat(both.sectors[order], starts)
        in_order = np.argsort(order[ends])[-MOST_LAST:]
        chosen = _part(both, order[ends][in_order])
        self._last = evolve(chosen, sectors=together[in_order])


def _joined(parts: deque[LastAccesses] | list[LastAccesses]) -> LastAccesses:
    """Transactions one after the other."""
    none = np.zeros(0, dtype=np.int64)
    return LastAccesses(
        np.concatenate([none, *(one.lines for one in parts)]),
        np.concatenate([none, *(one.sectors for one in parts)]),
        np.concatenate([none, *(one.kinds for one in parts)]),
        np.concatenate([none, *(one.homes for one in parts)]),
        np.concatenate([none, *(one.slots for one in parts)]),
    )


def _part(whole: LastAccesses, rows: slice | NDArray[np.int64]) -> LastAccesses:
    return LastAccesses(
        whole.lines[rows], whole.sectors[rows], whole.kinds[rows], whole.homes[rows],
        whole.slots[rows],
    )  # fmt: skip
