"""The recording of one application, replayed from its first launch to where it is timed."""

from __future__ import annotations

from attrs import evolve

from gpusim.core.errors import UserError
from gpusim.core.warp_program import BYTES_SHIFT, SECTORS, Launch
from gpusim.runs.checkpoint.state import (
    AGAIN,
    Accesses,
    LastAccesses,
    Shape,
    SkippedApplication,
    SkippedLaunch,
)


class Tape:
    """Hands out what was kept, in its order.

    Args:
        kept: it.
        covered: whether a cache of the machine asks for the sectors that stores cover.
        name: of the file that it comes from.

    Attributes:
        name: that.
        over: launches that have been played.
    """

    def __init__(self, kept: SkippedApplication, covered: bool, name: str) -> None:
        self.name = name
        self.over = 0
        self._kept = kept
        self._asked = (1 << BYTES_SHIFT) - 1 if covered else SECTORS
        self._before = kept.before
        self._done = 0
        """Transactions so far."""
        self._pieces: list[int] = []
        self._turn = 0
        self._begun = 0
        self._summary_due = self._before > 0

    def begin(self, number: int, launch: Launch) -> SkippedLaunch:
        """A launch begins.

        Raises:
            UserError: it is another than the one that was kept.
        """
        kept = self._kept.launches[number]
        found = Shape.of(launch)
        if found != kept.shape:
            raise UserError(
                f"{self.name} was made with another program: launch {number} of "
                f"{self._kept.name} was {kept.shape}, and is {found}"
            )
        self._pieces, self._turn = kept.pieces.tolist(), 0
        self._begun += kept.begun
        return kept

    def may_begin(self, begun: int) -> bool:
        """Whether more than `begun` blocks of all launches so far have begun."""
        return begun < self._begun

    def next_piece(self) -> int:
        """Transactions of the block whose turn it is, or `ENDED`."""
        if self._turn == len(self._pieces):
            raise self.damaged("blocks end too late")
        self._turn += 1
        return self._pieces[self._turn - 1]

    def again(self) -> bool:
        """Whether the next piece is of the same turn."""
        same = self._turn < len(self._pieces) and self._pieces[self._turn] == AGAIN
        self._turn += same
        return same

    def transactions(self, count: int) -> Accesses:
        """The next `count` transactions, as far as they are kept in full."""
        first = max(self._done - self._before, 0)
        self._done += count
        rows = slice(first, max(self._done - self._before, 0))
        whole = self._kept.whole
        return Accesses(whole.lines[rows], whole.sectors[rows] & self._asked, whole.kinds[rows])

    def summary(self, following: int) -> LastAccesses | None:
        """The last accesses of the transactions not kept in full, when these are over; else None.

        Args:
            following: transactions that come now.
        """
        if not self._summary_due or self._done + following <= self._before:
            return None
        return self.rest_of_summary()

    def rest_of_summary(self) -> LastAccesses | None:
        """The last accesses of the transactions not kept in full, unless `summary` gave them."""
        if not self._summary_due:
            return None
        self._summary_due = False
        last = self._kept.last
        return evolve(last, sectors=last.sectors & self._asked)

    def end(self, begun: int) -> bool:
        """Note that a launch is over, with `begun` blocks of all launches begun.

        Returns:
            Whether it is the last launch.
        """
        if self._turn != len(self._pieces) or begun != self._begun:
            raise self.damaged("blocks end too early")
        self.over += 1
        return self.over == len(self._kept.launches)

    def damaged(self, why: str) -> UserError:
        """The error to raise."""
        return UserError(f"{self.name} is damaged: {why}")
