"""A log of what skipped blocks touch, which keeps the last use of each line and page.

TLBs and caches that are kept warm need to know what was used for the last time, and in which
order; how often it was used before that changes nothing that they keep, if they replace what was
not used for longest.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusim.hardware.sm.untimed.accesses import KIND_BITS, Ints, differs
from gpusim.hardware.sm.warp import SkippedBlock

SLOT_BITS: Final = 12
"""A seat is the position of an SM, and below it a block slot there."""

_BATCH = 1 << 20
"""Touches that are worked on at once."""

_PIECES = 1 << 12
"""Pieces after which a log is made shorter, if it is long.  Pieces are counted, not touches, as
checkpoints hand in each line of a piece once, and blocks as often as they touch it."""

_WORD_BITS: Final = 63
_NONE = np.zeros(0, dtype=np.int64)


def last_of(groups: Ints) -> tuple[Ints, Ints, Ints]:
    """Things that are equal, where they are last.

    Args:
        groups: numbers from 0 on, of things in order; equal things have one number.

    Returns:
        places in `groups`, equal things together and in order; where in these each group begins;
        and of each group its last place.
    """
    count = len(groups)
    bits = count.bit_length()
    if count and int(groups.max()).bit_length() + bits <= _WORD_BITS:
        # to sort numbers that hold both takes a fraction of the time of a stable sort of places
        found = groups << bits
        found += np.arange(count)
        found.sort()
        place = found & (1 << bits) - 1
        found >>= bits
    else:
        place = np.argsort(groups, kind="stable")
        found = groups[place]
    starts = np.flatnonzero(differs(found))
    return place, starts, place[np.append(starts, count)[1:] - 1]


def last_uses(groups: Ints, sectors: Ints) -> tuple[Ints, Ints]:
    """Uses of things, as for `last_of`: the last of each, in order, and the sectors of all."""
    if not len(groups):
        return groups, sectors
    place, starts, last = last_of(groups)
    together = np.bitwise_or.reduceat(sectors[place], starts)
    order = np.argsort(last)
    return last[order], together[order]


def first_uses(numbers: Ints) -> Ints:
    """The place of the first one of equal numbers, in order."""
    return np.sort(len(numbers) - 1 - last_of(pairs(0, numbers[::-1]))[2])


class LastTouches:
    """Takes in what the blocks of a launch touch.

    Args:
        page_shift: lines of a page, as a shift.
        by_slot: TLBs ask for the block slot, so uses of a page by two slots of an SM are two.
        long: lines of a log that should be made shorter.

    Attributes:
        names, sectors, homes, at: of each SM, line and kind the last touch, in order: its name
            (`skipped_accesses.KIND_BITS`), the sectors of all, position of the SM, and its number
            among all touches.
        pages, seats, page_at: of each SM (and slot) and page the last use, in order: number of the
            page, SM and block slot (`SLOT_BITS`), and number of the touch.
        found: pages in the order of their first uses, each with the position of the SM that used
            it first.
        blocks: by seat, the block that was there last.
    """

    def __init__(self, page_shift: int, by_slot: bool, long: int) -> None:
        self._shift = page_shift + KIND_BITS
        self._by_slot = by_slot
        self._long = long
        self.names = self.sectors = self.homes = self.at = _NONE
        self.pages = self.seats = self.page_at = _NONE
        self.found: dict[int, int] = {}
        self.blocks: dict[int, SkippedBlock] = {}
        self._pieces = 0
        self._gathered: list[Ints] = []
        self._gathered_of: list[int] = []
        self._lengths: list[int] = []
        self._room = _BATCH
        self._next = 0

    def add(self, block: SkippedBlock, touches: Ints) -> None:
        """A block has executed a piece; `touches` as in `skipped_accesses.Touched`."""
        self._pieces += 1
        count = touches.shape[1]
        if not count:
            return
        seat = block.home << SLOT_BITS | block.slot
        self.blocks[seat] = block
        self._gathered.append(touches)
        self._gathered_of.append(seat)
        self._lengths.append(count)
        self._room -= count
        if self._room <= 0:
            self.join()

    def join(self) -> None:
        """Bring what has come in together with what was there."""
        if not self._gathered:
            return
        names, sectors = np.concatenate(self._gathered, axis=1)
        seats, lengths = np.array(self._gathered_of), np.array(self._lengths)
        self._gathered, self._gathered_of, self._lengths, self._room = [], [], [], _BATCH
        self._join_pages(names >> self._shift, seats, lengths)
        self._join_lines(names, sectors, np.repeat(seats >> SLOT_BITS, lengths))
        self._next += len(names)

    def _join_pages(self, pages: Ints, seats: Ints, lengths: Ints) -> None:
        """Keep only the last of neighbouring touches of one page in a piece."""
        piece_ends = np.cumsum(lengths)
        last = np.ones(len(pages), dtype=bool)
        np.not_equal(pages[1:], pages[:-1], out=last[:-1])
        last[piece_ends - 1] = True
        ends = np.flatnonzero(last)
        pages, at = pages[ends], ends + self._next
        seats = seats[np.searchsorted(piece_ends, ends, side="right")]
        first = first_uses(pages)
        homes = seats[first] >> SLOT_BITS
        for page, home in zip(pages[first].tolist(), homes.tolist(), strict=True):
            self.found.setdefault(page, home)
        pages, seats = _after(self.pages, pages), _after(self.seats, seats)
        users = seats if self._by_slot else seats >> SLOT_BITS
        used_last = np.sort(last_of(pairs(users, pages))[2])
        self.pages, self.seats = pages[used_last], seats[used_last]
        self.page_at = _after(self.page_at, at)[used_last]

    def _join_lines(self, names: Ints, sectors: Ints, homes: Ints) -> None:
        before = len(self.names)
        names, homes = _after(self.names, names), _after(self.homes, homes)
        last, self.sectors = last_uses(pairs(homes, names), _after(self.sectors, sectors))
        self.names, self.homes = names[last], homes[last]
        old = last[: np.searchsorted(last, before)]
        self.at = np.concatenate([self.at[old], last[len(old) :] + (self._next - before)])

    def is_long(self) -> bool:
        """Whether it should be made shorter by `keep`; asked after each piece."""
        if self._pieces % _PIECES or len(self.names) + _BATCH - self._room <= self._long:
            return False
        self.join()
        return len(self.names) > self._long

    def keep(self, rows: Ints) -> None:
        """Forget touches but these; no pages."""
        self.names, self.sectors = self.names[rows], self.sectors[rows]
        self.homes, self.at = self.homes[rows], self.at[rows]


def _after(old: Ints, new: Ints) -> Ints:
    """One after the other."""
    return np.concatenate([old, new]) if len(old) else new


def pairs(users: Ints | int, numbers: Ints) -> Ints:
    """For each pair of a user, from 0 on, and any number, a number from 0 on."""
    if not len(numbers):
        return _NONE
    low = int(numbers.min())
    bits = (int(numbers.max()) - low).bit_length()
    if bits + int(np.max(users)).bit_length() > _WORD_BITS:
        numbers, low = np.unique(numbers, return_inverse=True)[1], 0
        bits = len(numbers).bit_length()
    found = numbers - low
    found += users << bits
    return found
