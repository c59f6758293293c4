"""The chooser of a channel: which command goes next, and in which clock.

The clock of the next command follows from all constraints, so that nothing needs to be looked at
in the clocks between.  Order within a clock, as in a controller that looks once a clock: column
accesses of rows that were opened for them, a due refresh, row hits, then activations and
precharges; by `Waiting.rank` among their like.
"""

from __future__ import annotations

from typing import Final

from gpusim.core.engine import NEVER
from gpusim.hardware.dram.bank import Rank
from gpusim.hardware.dram.bus import CommandBus
from gpusim.hardware.dram.plan import ACTIVATE, COLUMN, IDLE, PRECHARGE, REFRESH, BankPlan
from gpusim.hardware.dram.refresh import Refresh
from gpusim.hardware.dram.waiting import Waiting, goes_first

_FIRST: Final = -NEVER
"""Older than any request."""


class Chooser:
    """The choice between reads and writes, and among the commands that the bank plan then holds.

    Args:
        plan: what the banks need.
        bus, refresh: of the channel.
        ranks: of the channel, by index.
        activate_clocks: DRAM clocks that an activation is on the command bus.

    Attributes:
        command: the next command.
        clock: when it begins; -1 while it has to be chosen.
        waiting: the request that it is for; of no meaning if it is a refresh.
        column_clock: when the next column access goes; -1 while it has to be chosen.
    """

    __slots__ = (
        "_activate_ahead",
        "_activations",
        "_banks",
        "_bus",
        "_column",
        "_columns",
        "_plan",
        "_precharges",
        "_queues",
        "_ranks",
        "_refresh",
        "_refreshing",
        "clock",
        "column_clock",
        "command",
        "waiting",
    )

    def __init__(
        self,
        plan: BankPlan,
        bus: CommandBus,
        refresh: Refresh,
        ranks: list[Rank],
        activate_clocks: int,
    ) -> None:
        self._plan = plan
        self._queues = plan.queues
        self._columns = plan.columns
        self._activations = plan.activations
        self._precharges = plan.precharges
        self._bus = bus
        self._refresh = refresh
        self._refreshing = refresh.pending
        self._ranks = ranks
        self._banks = plan.banks
        self._activate_ahead = activate_clocks - 1
        self._column: Waiting | None = None
        self.column_clock = self.clock = -1
        self.command = IDLE
        self.waiting: Waiting | None = None

    def forget(self) -> None:
        """The plan has changed: all has to be chosen anew."""
        self.clock = self.column_clock = -1

    def choose(self) -> int:
        """Choose the next command, if nothing else is accepted before; its clock."""
        clock = self.column_clock
        if clock < 0:
            if self._queues.turn_is_due():
                self._plan.turn()
            clock = self.column_clock = self._choose_column() if self._columns else NEVER
        self.command = COLUMN
        self.waiting = self._column
        bus = self._bus
        if self._refreshing:
            refresh = max(self._refresh.next_clock(), bus.row_ok)
            if refresh < clock:
                clock = refresh
                self.command = REFRESH
        elif clock > bus.row_ok:
            clock = self.choose_row(clock)
        self.clock = clock
        return clock

    def choose_row(self, before: int) -> int:
        """Choose an activation or precharge, if one goes before clock `before`; its clock."""
        clock = before
        if self._activations:
            clock = self._choose_activation(clock)
        if self._precharges and self._precharges[0].due <= clock:
            clock = self._choose_precharge(clock)
        return clock

    def _choose_column(self) -> int:
        """Choose a column access; its clock."""
        banks, bus, refreshing = self._banks, self._bus.column_ok, self._refreshing
        earliest = NEVER
        chosen: Waiting | None = None
        for waiting in self._columns:
            clock = waiting.due
            if clock > earliest:
                break
            if refreshing and not waiting.opened:
                continue
            bank = banks[waiting.bank]
            if waiting.write:
                shared, grouped = bank.rank.write_ok, bank.group.write_ok
            else:
                shared, grouped = bank.rank.read_ok, bank.group.read_ok
            if clock < shared:
                clock = shared
            if clock < grouped:
                clock = grouped
            if clock < bus:
                clock = bus
            if clock < earliest or (
                clock == earliest
                and chosen is not None
                and (
                    goes_first(waiting, chosen)
                    if waiting.opened or chosen.opened
                    else waiting.rank < chosen.rank
                )
            ):
                earliest, chosen = clock, waiting
        if chosen is not None:
            self._column = chosen
        return earliest

    def _choose_activation(self, before: int) -> int:
        """Choose the oldest of the earliest activations, if one begins before clock `before`.

        Timing counts from the last clock of the command, so this compares last clocks.
        """
        ahead = self._activate_ahead
        bus = self._bus.row_ok + ahead
        limit = before + ahead
        floor = NEVER
        for rank in self._ranks:
            if rank.activate_ok < floor:
                floor = rank.activate_ok
        if floor < bus:
            floor = bus
        if floor >= limit:
            return before
        earliest = limit
        for bank in self._activations:
            clock = bank.activate_ok
            shared = bank.rank.activate_ok
            if clock < shared:
                clock = shared
            shared = bank.group.activate_ok
            if clock < shared:
                clock = shared
            if clock < bus:
                clock = bus
            if clock < earliest:
                earliest = clock
                self.command = ACTIVATE
                self.waiting = bank.next
                if earliest == floor:
                    break
        return earliest - ahead

    def _choose_precharge(self, before: int) -> int:
        """Choose a precharge, if one goes before `before`, or then and for an older request."""
        bus = self._bus.row_ok
        earliest = before
        age = self.waiting.rank if self.command == ACTIVATE and self.waiting else _FIRST
        for bank in self._precharges:
            clock = bank.due
            if clock > earliest:
                break
            shared = bank.rank.precharge_ok
            if clock < shared:
                clock = shared
            if clock < bus:
                clock = bus
            if clock < earliest or (clock == earliest and bank.age < age):
                earliest, age = clock, bank.age
                self.command = PRECHARGE
                self.waiting = bank.next
        return earliest
