"""Transactions of what is skipped: the last ones in full, and of others what is left of them."""

from __future__ import annotations

from collections import deque

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from gpusim.core.warp_program import BYTES_SHIFT
from gpusim.hardware.sm.untimed.accesses import KIND_BITS, Ints
from gpusim.hardware.sm.untimed.last_touches import first_uses, last_uses, pairs
from gpusim.runs.checkpoint.state import PAGE_SHIFT, Accesses, LastAccesses

MOST_LAST = 1 << 21
"""Lines that are kept of what is not kept in full, at most: three times as many as all L1 caches
and the L2 cache of the largest shipped machine hold [our choice]."""

_CHUNK = 1 << 18
"""Transactions that are worked on at once."""

_NONE = np.zeros(0, dtype=np.int64)
_NO_PAGES = np.zeros((2, 0), dtype=np.int64)
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
        self._gathered: list[Ints] = []
        self._seats: list[tuple[int, int]] = []
        self._room = _CHUNK
        self._counts: list[int] = []
        self._held: deque[LastAccesses] = deque()
        self._lasting: deque[NDArray[np.bool_]] = deque()
        """Which of these leave something behind: their pages have not been unmapped since."""
        self._holds = 0
        self._last = _joined([])
        self._pages: set[int] = set()
        self._new_pages: list[Ints] = []
        """(2, n): pages, and the positions of the SMs that used them first."""

    def add(self, home: int, slot: int, touches: Ints) -> None:
        """What a block on the SM `home`, in its block slot, touches in a piece."""
        self._gathered.append(touches)
        self._seats.append((home, slot))
        self._room -= touches.shape[1]
        if self._room <= 0:
            self._flush()

    def forget(self, first: int, end: int) -> None:
        """Pages from `first` up to `end` are unmapped: nothing is left of accesses to them.

        Those that are kept in full stay, as they come before the pages are unmapped again.
        """
        self._flush()
        self._last = _part(self._last, ~self._is_in(self._last, first, end))
        for number, chunk in enumerate(self._held):
            self._lasting[number] = self._lasting[number] & ~self._is_in(chunk, first, end)

    def _is_in(self, chunk: LastAccesses, first: int, end: int) -> NDArray[np.bool_]:
        pages = chunk.lines >> self._page_lines_shift
        return (pages >= first) & (pages < end)

    def take(self) -> tuple[list[int], Ints, Ints]:
        """What is new since the last call.

        Returns:
            of each piece, how many transactions it has; pages that were accessed for the first
            time, in order; of each the position of the SM.
        """
        self._flush()
        counts = self._counts
        pages, homes = np.concatenate([_NO_PAGES, *self._new_pages], axis=1)
        self._counts, self._new_pages = [], []
        return counts, pages, homes

    def finish(self) -> tuple[LastAccesses, Accesses]:
        """What is left of the first transactions, and the last ones in full."""
        self._flush()
        too_many = 0 if self._keep is None else max(self._holds - self._keep, 0)
        held = _joined(self._held)
        lasting = np.concatenate([_NONE.astype(bool), *self._lasting])[:too_many]
        self._reduce(_part(held, np.flatnonzero(lasting)))
        whole = _part(held, slice(too_many, None))
        return self._last, Accesses(whole.lines, whole.sectors, whole.kinds)

    def _flush(self) -> None:
        if not self._gathered:
            return
        chunk = self._transactions()
        self._held.append(chunk)
        self._lasting.append(np.ones(len(chunk), dtype=bool))
        self._holds += len(chunk)
        while (
            self._held and self._keep is not None and self._holds - len(self._held[0]) >= self._keep
        ):
            oldest = self._held.popleft()
            self._holds -= len(oldest)
            self._reduce(_part(oldest, self._lasting.popleft()))

    def _transactions(self) -> LastAccesses:
        """What has been gathered: of each piece, a line and a kind once, where it is last."""
        names, sectors = np.concatenate(self._gathered, axis=1)
        lengths = [piece.shape[1] for piece in self._gathered]
        seats = np.array(self._seats)
        self._gathered, self._seats, self._room = [], [], _CHUNK
        pieces = np.repeat(np.arange(len(lengths)), lengths)
        self._note_pages(names >> KIND_BITS + self._page_lines_shift, seats[pieces, 0])
        last, sectors = last_uses(pairs(pieces, names), sectors & _SECTORS)
        pieces = pieces[last]
        self._counts += np.bincount(pieces, minlength=len(lengths)).tolist()
        return LastAccesses(
            names[last] >> KIND_BITS,
            sectors,
            names[last] & (1 << KIND_BITS) - 1,
            *seats[pieces].T,
        )

    def _note_pages(self, pages: Ints, homes: Ints) -> None:
        """Note those that are new, in the order of first uses, with the positions of their SMs."""
        first = first_uses(pages)
        new = [place for place in first.tolist() if int(pages[place]) not in self._pages]
        self._pages.update(pages[new].tolist())
        self._new_pages.append(np.stack([pages[new], homes[new]]))

    def _reduce(self, chunk: LastAccesses) -> None:
        """Keep only the last one of equal transactions, with those that came before."""
        both = _joined([self._last, chunk])
        names = both.lines << KIND_BITS | both.kinds
        last, sectors = last_uses(pairs(both.homes, names), both.sectors)
        self._last = evolve(_part(both, last[-MOST_LAST:]), sectors=sectors[-MOST_LAST:])


def _joined(parts: deque[LastAccesses] | list[LastAccesses]) -> LastAccesses:
    """Transactions one after the other."""
    return LastAccesses(
        np.concatenate([_NONE, *(one.lines for one in parts)]),
        np.concatenate([_NONE, *(one.sectors for one in parts)]),
        np.concatenate([_NONE, *(one.kinds for one in parts)]),
        np.concatenate([_NONE, *(one.homes for one in parts)]),
        np.concatenate([_NONE, *(one.slots for one in parts)]),
    )


def _part(whole: LastAccesses, rows: slice | Ints | NDArray[np.bool_]) -> LastAccesses:
    return LastAccesses(
        whole.lines[rows],
        whole.sectors[rows],
        whole.kinds[rows],
        whole.homes[rows],
        whole.slots[rows],
    )
