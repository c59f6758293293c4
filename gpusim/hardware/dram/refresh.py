"""Refresh of a channel."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.core.engine import NEVER
from gpusim.hardware.dram.bank import CLOSED, Rank


class Refresh:
    """All-bank refreshes: rank by rank, and nothing else starts before all ranks have got theirs.

    Column accesses of rows that were opened for them still go.

    Args:
        ranks: all ranks of the channel.
        interval: DRAM clocks from one refresh to the next; 0: it is never refreshed.
        phase: DRAM clocks by which all of them are later.

    Attributes:
        due: clock in which the next refresh is due.
        pending: ranks that the refresh under way has still to reach, the next one first.
    """

    __slots__ = ("_interval", "_ranks", "due", "pending")

    def __init__(self, ranks: Sequence[Rank], interval: int, phase: int = 0) -> None:
        self._ranks = ranks
        self._interval = interval
        self.due = interval + phase if interval else NEVER
        self.pending: list[Rank] = []

    def begin(self) -> None:
        """All ranks have to be refreshed now."""
        self.pending.extend(self._ranks)
        self.due += self._interval

    def next_clock(self) -> int:
        """When the rows of the next rank can be closed, or, if they are, when it is refreshed.

        `NEVER` while a request has column accesses to do in a row that was opened for it.
        """
        banks = self.pending[0].banks
        if any(bank.opened_for is not None for bank in banks):
            return NEVER
        if any(bank.row != CLOSED for bank in banks):
            return max(bank.precharge_ok for bank in banks)
        return max(bank.activate_ok for bank in banks)
