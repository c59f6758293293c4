"""The issuer of a channel: what a command does to banks, bus, plan and counters."""

from __future__ import annotations

from gpusim.hardware.dram.bank import CLOSED
from gpusim.hardware.dram.bus import CommandBus
from gpusim.hardware.dram.counters import ChannelCounters
from gpusim.hardware.dram.plan import BankPlan
from gpusim.hardware.dram.refresh import Refresh
from gpusim.hardware.dram.timing import Timing
from gpusim.hardware.dram.waiting import CONFLICT, HIT, MISS, Waiting


class Issuer:
    """Issues commands in the clock that it is given, and brings the plan up to date.

    Args:
        plan: what the banks need.
        bus, refresh: of the channel.
        timing: in DRAM clocks.
        activate_clocks: DRAM clocks that an activation is on the command bus.
        closed_page: whether a row that no request needs is closed after a column access.

    Attributes:
        done: requests whose last column access was issued; the caller empties it.
        counters: of the channel.
    """

    __slots__ = (
        "_activate_clocks",
        "_banks",
        "_bus",
        "_closed_page",
        "_plan",
        "_refresh",
        "_timing",
        "counters",
        "done",
    )

    def __init__(
        self,
        plan: BankPlan,
        bus: CommandBus,
        refresh: Refresh,
        timing: Timing,
        *,
        activate_clocks: int,
        closed_page: bool,
    ) -> None:
        self._plan = plan
        self._bus = bus
        self._refresh = refresh
        self._banks = plan.banks
        self._timing = timing
        self._activate_clocks = activate_clocks
        self._closed_page = closed_page
        self.done: list[Waiting] = []
        self.counters = ChannelCounters()

    def precharge(self, waiting: Waiting, clock: int) -> None:
        """Close a row in the way of a request."""
        if waiting.first < 0:
            waiting.first = clock
            waiting.outcome = CONFLICT
        bank = self._banks[waiting.bank]
        self._bus.take_row(clock)
        bank.precharge(clock, self._timing)
        self.counters.precharges += 1
        self._plan.row_closed(bank)

    def activate(self, waiting: Waiting, clock: int) -> None:
        """Open the row of a request; timing counts from the last clock of the command."""
        if waiting.first < 0:
            waiting.first = clock
            waiting.outcome = MISS
        bank, clocks = self._banks[waiting.bank], self._activate_clocks
        self._bus.take_row(clock, clocks)
        bank.activate(waiting.row, clock + clocks - 1, self._timing)
        self.counters.activations += 1
        self._plan.row_opened(bank, waiting)

    def access(self, waiting: Waiting, clock: int) -> None:
        """Read or write a burst of a request whose row is open."""
        if waiting.first < 0:
            waiting.first = clock
            waiting.outcome = HIT
        bank, timing = self._banks[waiting.bank], self._timing
        self._bus.take_column(clock)
        if waiting.write:
            bank.write(clock, timing)
            waiting.finished = clock + timing.write_latency
        else:
            bank.read(clock, timing)
            waiting.finished = clock + timing.read_latency
        self.counters.data_clocks += timing.BL
        waiting.left -= 1
        if waiting.left:  # its next burst stays what is next for its row
            return
        self.done.append(waiting)
        self._plan.column_done(bank, waiting)
        if self._closed_page and not self._plan.row_is_wanted(bank):
            bank.auto_precharge(timing)
            self.counters.precharges += 1
            self._plan.renew(bank)

    def refresh(self, clock: int) -> None:
        """Close all rows of the rank that is next, or refresh it if they are closed."""
        self._bus.take_row(clock)
        pending = self._refresh.pending
        rank = pending[0]
        if any(bank.row != CLOSED for bank in rank.banks):
            self.counters.precharges += rank.precharge_all(clock, self._timing)
        else:
            rank.refresh(clock, self._timing)
            del pending[0]
            self.counters.refreshes += 1
        for bank in rank.banks:
            self._plan.renew(bank)
