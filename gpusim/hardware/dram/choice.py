"""What the banks of a channel are due for, and which of their commands goes next, and when.

The clock of the next command follows from all constraints, so that nothing needs to be looked at
in the clocks between.  Order within a clock, as in a controller that looks once a clock: column
accesses of rows that were opened for them, a due refresh, row hits, then activations and
precharges; by `Waiting.rank` among their like.
"""

from __future__ import annotations

from bisect import insort
from math import ceil, inf
from operator import attrgetter
from typing import TypeVar

from gpusim.config.dram import DramConfig
from gpusim.core.engine import NEVER
from gpusim.core.registry import Slot, find_policy
from gpusim.hardware.dram.mapping import AddressMapping
from gpusim.hardware.dram.queue import DramQueue, FrFcfs, Waiting
from gpusim.hardware.dram.timing import CLOSED, Bank, Rank, Timing, make_banks

IDLE, COLUMN, ACTIVATE, PRECHARGE, REFRESH = range(5)
"""What a bank is due for; `REFRESH` is a rank's."""

_due = attrgetter("due")
_age = attrgetter("age")
_Due = TypeVar("_Due", Waiting, Bank)


class Choice:
    """The banks and queues of one channel, and the choice of its next command.

    Args:
        config: the DRAM table.
        mapping: for the numbering of the banks.

    Attributes:
        reads, writes: the queues.
        banks: by index.
    """

    __slots__ = (
        "_activate_ahead", "_activate_floor", "_activates", "_bus", "_choice", "_choice_at",
        "_chosen", "_column", "_column_at", "_column_bus", "_columns", "_drain_from", "_drain_to",
        "_draining", "_precharges", "_queue", "_ranks", "_refreshing", "_timing", "banks", "reads",
        "writes",
    )  # fmt: skip

    def __init__(self, config: DramConfig, mapping: AddressMapping) -> None:
        self._timing = Timing.of(config)
        self._ranks, self.banks = make_banks(mapping)
        policy = find_policy(Slot.DRAM_QUEUE, config.scheduler.policy)
        options = config.scheduler.options
        self.reads: DramQueue = policy(config.read_queue, mapping.banks, **options)
        self.writes: DramQueue = (
            FrFcfs(config.write_queue, mapping.banks)
            if self.reads.reads_only
            else policy(config.write_queue, mapping.banks, **options)
        )
        self._queue = self.reads
        self._draining = False
        self._drain_from = int(config.drain_high * config.write_queue) + 1
        self._drain_to = ceil(config.drain_low * config.write_queue) - 1
        self._columns: list[Waiting] = []
        """Next column access of each open row that is wanted, by `Waiting.due`."""
        self._activates: list[Bank] = []
        """Banks that are due for an activation, by `Bank.age`."""
        self._precharges: list[Bank] = []
        """Banks that are due for a precharge, by `Bank.due`."""
        self._activate_ahead = config.activate_clocks - 1
        self._activate_floor = 0
        """No rank allows an activation to begin before this clock."""
        self._refreshing: list[Rank] = []
        self._bus = self._column_bus = 0
        """First clocks in which the bus for row and for column commands is free."""
        self._column: Waiting | None = None
        self._column_at = -1
        """Clock of the next column access; -1 while it has to be looked for."""
        self._choice = IDLE
        self._choice_at = -1
        """Clock of the next command; -1 while it has to be looked for."""
        self._chosen: Waiting | None = None

    def _choose(self) -> int:
        """Choose the next command, if nothing else is accepted before; its clock."""
        at = self._column_at
        if at < 0:
            if self._draining:
                if self.writes.size <= self._drain_to and self.reads.size:
                    self._turn()
            elif self.writes.size >= self._drain_from or not self.reads.size:
                self._turn()
            at = self._column_at = self._choose_column() if self._columns else NEVER
        self._choice = COLUMN
        self._chosen = self._column
        if self._refreshing:
            clock = self._refresh_clock(self._refreshing[0])
            if clock < at:
                at = clock
                self._choice = REFRESH
        elif at > self._bus:
            at = self._choose_row(at)
        self._choice_at = at
        return at

    def _choose_row(self, before: int) -> int:
        """Choose an activation or precharge, if one goes before clock `before`; its clock."""
        at = before
        if self._activates:
            at = self._choose_activate(at)
        if self._precharges and self._precharges[0].due <= at:
            at = self._choose_precharge(at)
        return at

    def _choose_column(self) -> int:
        """Choose a column access; its clock."""
        bus, refreshing = self._column_bus, self._refreshing
        at = NEVER
        age = 0
        for waiting in self._columns:
            clock = waiting.due
            if clock > at:
                break
            if refreshing and not waiting.opened:
                continue
            bank = waiting.place
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
            if clock < at or (clock == at and waiting.rank < age):
                at, age = clock, waiting.rank
                self._column = waiting
        return at

    def _choose_activate(self, before: int) -> int:
        """Choose the oldest of the earliest activations, if one begins before clock `before`."""
        bus, ahead = self._bus, self._activate_ahead
        floor = self._activate_floor
        if floor < bus:
            floor = bus
        if floor >= before:
            return before
        at = before
        for bank in self._activates:
            clock = bank.due
            shared = bank.rank.activate_ok - ahead
            if clock < shared:
                clock = shared
            shared = bank.group.activate_ok - ahead
            if clock < shared:
                clock = shared
            if clock < bus:
                clock = bus
            if clock < at:
                at = clock
                self._choice = ACTIVATE
                self._chosen = bank.next
                if at == floor:
                    break
        return at

    def _choose_precharge(self, before: int) -> int:
        """Choose a precharge, if one goes before `before`, or then and for an older request."""
        bus = self._bus
        at = before
        age = self._chosen.rank if self._choice == ACTIVATE and self._chosen else -inf
        for bank in self._precharges:
            clock = bank.due
            if clock > at:
                break
            shared = bank.rank.precharge_ok
            if clock < shared:
                clock = shared
            if clock < bus:
                clock = bus
            if clock < at or (clock == at and bank.age < age):
                at, age = clock, bank.age
                self._choice = PRECHARGE
                self._chosen = bank.next
        return at

    def _refresh_clock(self, rank: Rank) -> int:
        """When all rows of the rank can be closed, or, if they are, when it can be refreshed."""
        if any(bank.opened_for is not None for bank in rank.banks):
            return NEVER
        if any(bank.row != CLOSED for bank in rank.banks):
            return max(self._bus, *(bank.precharge_ok for bank in rank.banks))
        return max(self._bus, *(bank.activate_ok for bank in rank.banks))

    # -- plans -----------------------------------------------------------------------------------

    def _turn(self) -> None:
        """Turn between reads and writes (see `DramConfig.drain_high`)."""
        self._draining = not self._draining
        self._queue = self.writes if self._draining else self.reads
        for waiting in [one for one in self._columns if not one.opened]:
            self._plan(waiting.place)
        for bank in [*self._activates, *self._precharges]:
            self._plan(bank)
        for waiting in self._queue.requests():
            if waiting.place.step == IDLE:
                self._plan(waiting.place)

    def _plan(self, bank: Bank) -> None:
        """Decide what a bank does next."""
        step, old = bank.step, bank.next
        if step == ACTIVATE:
            self._activates.remove(bank)
        elif step == PRECHARGE:
            self._precharges.remove(bank)
        elif step == COLUMN and old is not None:
            self._columns.remove(old)
        best = bank.next = self._queue.best(bank.index, bank.row)
        if best is None:
            bank.step = IDLE
            return
        bank.age = best.rank
        if best.row == bank.row:
            bank.step = COLUMN
            best.due = bank.write_ok if best.write else bank.read_ok
            insert_by_due(self._columns, best)
        elif bank.row == CLOSED:
            self._plan_activation(bank)
        elif bank.opened_for is not None:
            bank.step = IDLE
        else:
            bank.step = PRECHARGE
            bank.due = bank.precharge_ok
            insert_by_due(self._precharges, bank)

    def _plan_activation(self, bank: Bank) -> None:
        bank.step = ACTIVATE
        bank.due = bank.activate_ok - self._activate_ahead
        activates = self._activates
        if not activates or activates[-1].age < bank.age:
            activates.append(bank)
        else:
            insort(activates, bank, key=_age)

    def _plan_changed(self) -> None:
        """Plan the banks that the queue named."""
        changed = self._queue.changed
        while changed:
            self._plan(self.banks[changed.pop()])


def insert_by_due(ordered: list[_Due], item: _Due) -> None:
    """Put `item` behind those that are due before it or with it."""
    if not ordered or ordered[-1].due <= item.due:
        ordered.append(item)
    else:
        insort(ordered, item, key=_due)
