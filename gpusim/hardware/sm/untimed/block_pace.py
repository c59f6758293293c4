"""Relative speeds of thread blocks on an SM, learned where they are timed."""

from __future__ import annotations

from math import fsum, sqrt
from typing import Final

from gpusim.hardware.sm.untimed.partial_launch import PIECE_ROWS
from gpusim.hardware.sm.warp import Block

LEAST_TIMES: Final = 3
"""How often blocks must have been timed before anything is learned of them [our choice]."""

ERRORS: Final = 2.0
"""Standard errors of what was seen by which it may have been an accident: they are left out."""


class Turns:
    """Progress of the blocks of a kernel, by rank: how many older ones their SM holds.

    Schedulers prefer some warps to others, most of them the older ones.  So blocks that begin
    together come apart, and those after them begin apart; what is skipped has to do the same.

    Where a block is is known to a piece, so a difference that a piece more or less would make is
    none: of blocks that wait for the same pages, some are always a little ahead, and never more.

    Args:
        sms: how many hold blocks of each rank.
    """

    def __init__(self, sms: int) -> None:
        self._sms = sms
        self._rows: list[int] = []
        self._cycles: list[int] = []
        self._seen: list[list[float]] = []
        """By rank, how fast it was each time, in parts of the mean of all ranks."""

        self._pieces: list[float] = []
        """Each time, how much of what a block did in it a piece is."""

    def learn(self, rank: int, rows: int, cycles: int) -> None:
        """Note that a block of this rank has executed `rows` instructions in `cycles` cycles."""
        while rank >= len(self._rows):
            self._rows.append(0)
            self._cycles.append(0)
            self._seen.append([])
        self._rows[rank] += rows
        self._cycles[rank] += cycles

    def forget(self) -> None:
        """What was learned since blocks were timed last is of a machine that was not warm."""
        self._rows = [0] * len(self._rows)
        self._cycles = [0] * len(self._cycles)

    def end(self) -> None:
        """Blocks are not timed any more, for this time."""
        if any(self._rows) and any(self._cycles):
            mean = sum(self._rows) / sum(self._cycles)
            self._pieces.append(PIECE_ROWS * self._sms / (mean * max(self._cycles)))
            for rank, cycles in enumerate(self._cycles):
                if cycles:
                    self._seen[rank].append(self._rows[rank] / cycles / mean)
        self.forget()

    def shares(self) -> list[float]:
        """By rank, as far as known: turns of a block for one of the fastest."""
        piece = fsum(self._pieces) / max(len(self._pieces), 1)
        speeds = [_surely(seen, piece) for seen in self._seen]
        fastest = max(speeds, default=1.0)
        return [speed / fastest for speed in speeds]


def _surely(seen: list[float], least: float) -> float:
    """The value nearest to 1 that what was seen is compatible with.

    Up to `least` from 1 it is 1, and it is never below `least`.
    """
    count = len(seen)
    if count < LEAST_TIMES:
        return 1.0
    mean = fsum(seen) / count
    variance = fsum((one - mean) * (one - mean) for one in seen) / (count - 1)
    doubt = ERRORS * sqrt(variance / count)
    surely = max(mean - 1.0 - doubt, 0.0) + min(mean - 1.0 + doubt, 0.0)
    return max(1.0 + surely, least) if abs(surely) > least else 1.0


class Beside:
    """The blocks that an SM holds while they are timed, the oldest first."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._seen: list[int] = []
        """By block: its instructions that have been counted."""
        self._since = 0

    def begins(self, block: Block, turns: Turns, now: int) -> None:
        """One more is there."""
        self.count(turns, now)
        self._blocks.append(block)
        self._seen.append(block.rows)

    def ends(self, block: Block, turns: Turns, now: int) -> None:
        """One of them is gone."""
        self.count(turns, now)
        rank = self._blocks.index(block)
        del self._blocks[rank], self._seen[rank]

    def count(self, turns: Turns, now: int) -> None:
        """Add to `turns` what they have done since the last time."""
        cycles, self._since = now - self._since, now
        for rank, block in enumerate(self._blocks):
            turns.learn(rank, block.rows - self._seen[rank], cycles)
            self._seen[rank] = block.rows

    def clear(self) -> None:
        """None is there."""
        self._blocks.clear()
        self._seen.clear()
