"""The bank plan of a channel: which command each bank needs next, and for which request."""

from __future__ import annotations

from typing import Final, TypeVar

from gpusim.core.unboxed import take_out
from gpusim.hardware.dram.bank import CLOSED, Bank
from gpusim.hardware.dram.read_write_queues import ReadWriteQueues
from gpusim.hardware.dram.waiting import Due, Waiting

IDLE: Final = 0
COLUMN: Final = 1
ACTIVATE: Final = 2
PRECHARGE: Final = 3
REFRESH: Final = 4
"""The next command of a bank (`Bank.step`); `REFRESH` is a rank's."""

_Ordered = TypeVar("_Ordered", bound=Due)


class BankPlan:
    """What each bank of a channel needs next for the queue that is served.

    It asks the queue (`DramQueue.best`) only about banks for which the answer may have changed.

    Attributes:
        banks: of the channel, by index.
        queues: of the channel.
        columns: the column accesses that are next in open rows, by `Waiting.due`: row hits of the
            queue that is served, and requests whose row was opened for them.
        activations: banks whose next command is an activation, by `Bank.age`.
        precharges: banks whose next command is a precharge, by `Bank.due`.
        opened: requests whose row was opened for them and that are not done.
    """

    __slots__ = (
        "_openings",
        "activations",
        "banks",
        "columns",
        "opened",
        "precharges",
        "queues",
    )

    def __init__(self, banks: list[Bank], queues: ReadWriteQueues) -> None:
        self.banks = banks
        self.queues = queues
        self._openings = 0
        self.columns: list[Waiting] = []
        self.activations: list[Bank] = []
        self.precharges: list[Bank] = []
        self.opened = 0

    # -- what changes it -------------------------------------------------------------------------

    def accepted(self, waiting: Waiting) -> None:
        """A request has come into its queue."""
        queues = self.queues
        if waiting.write is not queues.draining:
            return
        bank, served = self.banks[waiting.bank], queues.served
        if not bank.step or served.best(bank.index, bank.row) is not bank.next:
            self.renew(bank)
        if served.changed:
            self._renew_changed()

    def row_opened(self, bank: Bank, waiting: Waiting) -> None:
        """A row was opened for `waiting`, which leaves its queue: its column access is next."""
        queues = self.queues
        queues.remove(waiting)
        self._openings += 1
        bank.opened_for = waiting
        waiting.opened = self._openings
        waiting.due = bank.write_ok if waiting.write else bank.read_ok
        _insert_by_due(self.columns, waiting)
        self.opened += 1
        self.renew(bank)
        if queues.served.changed:
            self._renew_changed()

    def row_closed(self, bank: Bank) -> None:
        """A precharge closed a row: the activation for the same request is next."""
        take_out(self.precharges, bank)
        self._add_activation(bank)

    def column_done(self, bank: Bank, waiting: Waiting) -> None:
        """The last column access of a request is done."""
        queues = self.queues
        if waiting.opened:
            bank.opened_for = None
            take_out(self.columns, waiting)
            self.opened -= 1
        else:
            queues.remove(waiting)
        self.renew(bank)
        if queues.served.changed:
            self._renew_changed()

    def turn(self) -> None:
        """Serve the other queue; rows that were opened for a request stay open for it."""
        queues, banks = self.queues, self.banks
        queues.turn()
        for waiting in [one for one in self.columns if not one.opened]:
            self.renew(banks[waiting.bank])
        for bank in [*self.activations, *self.precharges]:
            self.renew(bank)
        for waiting in queues.served.requests():
            bank = banks[waiting.bank]
            if bank.step == IDLE:
                self.renew(bank)

    # -- what a bank needs -----------------------------------------------------------------------

    def row_is_wanted(self, bank: Bank) -> bool:
        """Whether a request of the queue that is served needs the open row, or its opener does."""
        if bank.opened_for is not None:
            return True
        best = self.queues.served.best(bank.index, bank.row)
        return best is not None and best.row == bank.row

    def renew(self, bank: Bank) -> None:
        """Ask the queue for which request the bank works, and plan its next command."""
        step, old = bank.step, bank.next
        if step == IDLE:
            pass
        elif step == ACTIVATE:
            take_out(self.activations, bank)
        elif step == PRECHARGE:
            take_out(self.precharges, bank)
        elif old is not None:
            take_out(self.columns, old)
        row = bank.row
        best = bank.next = self.queues.served.best(bank.index, row)
        if best is None:
            bank.step = IDLE
            return
        bank.age = best.rank
        if best.row == row:
            bank.step = COLUMN
            best.due = bank.write_ok if best.write else bank.read_ok
            _insert_by_due(self.columns, best)
        elif row == CLOSED:
            self._add_activation(bank)
        elif bank.opened_for is not None:
            bank.step = IDLE
        else:
            bank.step = PRECHARGE
            bank.due = bank.precharge_ok
            _insert_by_due(self.precharges, bank)

    def _renew_changed(self) -> None:
        """Renew the banks that the queue named."""
        changed = self.queues.served.changed
        while changed:
            self.renew(self.banks[changed.pop()])

    def _add_activation(self, bank: Bank) -> None:
        bank.step = ACTIVATE
        activations, age = self.activations, bank.age
        place = len(activations)
        while place and activations[place - 1].age > age:
            place -= 1
        activations.insert(place, bank)


def _insert_by_due(ordered: list[_Ordered], item: _Ordered) -> None:
    """Put `item` behind all that are due before it or with it."""
    place, due = len(ordered), item.due
    while place and ordered[place - 1].due > due:
        place -= 1
    ordered.insert(place, item)
