"""The commands of a channel: issues them, up to the clock that the controller names.

`Commands` keeps the state of one channel between commands.  The caller says how far time has come
(`advance`), adds requests (`accept`) and collects those whose data are known (`done`).
"""

from __future__ import annotations

from operator import attrgetter

from gpusim.config.dram import DramConfig
from gpusim.dram.choice import COLUMN, PRECHARGE, REFRESH, Choice, insert_by_due
from gpusim.dram.mapping import AddressMapping
from gpusim.dram.queue import PRECEDENCE, RANK_BITS, DramQueue, Waiting
from gpusim.dram.timing import CLOSED, Bank
from gpusim.engine import NEVER
from gpusim.request import MemoryRequest

HIT, MISS, CONFLICT, FORWARDED = range(4)
"""What a request found in its bank: its row, no row, another row; or its data in a write."""

_activate_ok = attrgetter("activate_ok")

_OPENED_FIRST = PRECEDENCE << 20
"""Taken off the rank of a request whose row was opened for it; of two that were accepted in one
clock, the one whose row was opened first goes first."""


class Commands(Choice):
    """The commands of one channel.

    Args:
        config: the DRAM table.
        mapping: for the numbering of the banks.

    Attributes:
        done: requests whose last column access was issued; the caller empties it.
        activations, precharges, refreshes: commands issued.
        data_clocks: clocks in which a data bus was busy.
    """

    __slots__ = (
        "_accepted", "_closed_page", "_forward", "_opened", "_refresh_at", "_row_bus",
        "activations", "data_clocks", "done", "precharges", "refreshes",
    )  # fmt: skip

    def __init__(self, config: DramConfig, mapping: AddressMapping) -> None:
        super().__init__(config, mapping)
        self._closed_page = config.page_policy == "closed"
        self._row_bus = config.row_bus
        self._refresh_at = self._timing.REFI or NEVER
        self._accepted = 0
        self._opened = 0
        self._forward: dict[int, int] = {}
        """How many writes of an address wait."""
        self.done: list[Waiting] = []
        self.activations = self.precharges = self.refreshes = self.data_clocks = 0

    def unfinished(self) -> int:
        """Requests that are not done."""
        return self._opened + self.reads.size + self.writes.size

    def accept(self, waiting: Waiting, now: int) -> None:
        """Take a request in, for which there is room; its commands go in later clocks.

        A read of what a waiting write is about to write gets its data from there.

        Args:
            waiting: the request.
            now: the clock, to which `advance` has been called.
        """
        if self._bus <= now:
            self._bus = now + 1
        if self._column_bus <= now:
            self._column_bus = now + 1
        self._accepted += 1
        waiting.rank = now << RANK_BITS | self._accepted
        address = waiting.request.address
        if waiting.write:
            self.writes.add(waiting, now)
            self._forward[address] = self._forward.get(address, 0) + 1
        elif address in self._forward:
            waiting.outcome = FORWARDED
            waiting.first = waiting.finished = now + 1
            self.done.append(waiting)
            return
        else:
            self.reads.add(waiting, now)
        self._choice_at = self._column_at = -1
        if waiting.write is self._draining:
            bank = waiting.place
            if not bank.step or self._queue.best(bank.index, bank.row) is not bank.next:
                self._plan(bank)
            if self._queue.changed:
                self._plan_changed()

    def advance(self, until: int) -> None:
        """Issue all commands up to clock `until`, that one included."""
        while self._bus <= until or self._column_bus <= until:
            clock = self._choice_at
            if clock < 0:
                clock = self._choose()
            if clock >= self._refresh_at and not self._refreshing:
                if self._refresh_at > until:
                    return
                self._begin_refresh()
            elif clock > until:
                return
            else:
                self._issue(clock)

    def advance_until_room(self, queue: DramQueue, request: MemoryRequest) -> int:
        """Issue commands until `queue`, now full, has room for `request`; the last one's clock.

        Only for a caller who accepts nothing before that clock.
        """
        while True:
            clock = self._choice_at
            if clock < 0:
                clock = self._choose()
            if clock >= self._refresh_at and not self._refreshing:
                self._begin_refresh()
                continue
            choice = self._choice
            self._issue(clock)
            if choice != PRECHARGE and not queue.full(request):
                return clock

    def next_finish(self) -> int:
        """No data ends before this clock, except those of requests already `done`.

        `NEVER` if no command can be chosen as it is.
        """
        if self._choice_at == NEVER:
            return NEVER
        first = max(self._choice_at, min(self._bus, self._column_bus))
        return first + self._timing.read_latency

    # -- commands --------------------------------------------------------------------------------

    def _issue(self, clock: int) -> None:
        """Issue the chosen command in `clock`."""
        self._choice_at = -1
        choice, waiting = self._choice, self._chosen
        if choice == REFRESH:
            self._refresh(clock)
            return
        assert waiting is not None
        if waiting.first < 0:
            waiting.first = clock
            waiting.outcome = choice - COLUMN
        if choice == PRECHARGE:
            self._precharge(waiting.place, clock)
            return
        self._column_at = -1
        if choice == COLUMN:
            self._access(waiting, clock)
        else:
            self._activate(waiting, clock)
        self._plan(waiting.place)
        if self._queue.changed:
            self._plan_changed()
        if choice == COLUMN and self._bus <= clock:
            self._issue_row(clock)

    def _issue_row(self, clock: int) -> None:
        """Issue a row command in the clock of a column access, if one is ready."""
        self._bus = clock
        if not self._refreshing and self._choose_row(clock + 1) == clock:
            self._issue(clock)
        else:
            self._bus = clock + 1

    def _take_row_bus(self, clock: int, clocks: int = 1) -> None:
        """A row command begins in `clock`; no column access goes in that clock any more."""
        self._bus = clock + clocks
        self._column_bus = clock + (1 if self._row_bus else clocks)

    def _activate(self, waiting: Waiting, clock: int) -> None:
        self._take_row_bus(clock, self._activate_ahead + 1)
        clock += self._activate_ahead
        bank = waiting.place
        bank.activate(waiting.row, clock, self._timing)
        ranks = self._ranks
        first = ranks[0] if len(ranks) == 1 else min(ranks, key=_activate_ok)
        self._activate_floor = first.activate_ok - self._activate_ahead
        self.activations += 1
        self._leave(waiting)
        bank.opened_for = waiting
        waiting.opened = True
        waiting.rank = (waiting.rank >> RANK_BITS << RANK_BITS | self.activations) - _OPENED_FIRST
        waiting.due = bank.write_ok if waiting.write else bank.read_ok
        insert_by_due(self._columns, waiting)
        self._opened += 1

    def _precharge(self, bank: Bank, clock: int) -> None:
        """Close a row; the bank's next step is the activation for the same request.

        The next column access stays the same: it goes later, and nothing of its concern changed.
        """
        self._take_row_bus(clock)
        bank.precharge(clock, self._timing)
        self.precharges += 1
        self._precharges.remove(bank)
        self._plan_activation(bank)

    def _access(self, waiting: Waiting, clock: int) -> None:
        """Read or write a burst."""
        self._column_bus = clock + 1
        if not self._row_bus:
            self._bus = clock + 1
        timing, bank = self._timing, waiting.place
        if waiting.write:
            bank.write(clock, timing)
            waiting.finished = clock + timing.write_latency
        else:
            bank.read(clock, timing)
            waiting.finished = clock + timing.read_latency
        self.data_clocks += timing.BL
        waiting.left -= 1
        if waiting.left:
            return
        if waiting.opened:
            bank.opened_for = None
            self._columns.remove(waiting)
            self._opened -= 1
        else:
            self._leave(waiting)
        self.done.append(waiting)
        if self._closed_page:
            self._close(bank)

    def _close(self, bank: Bank) -> None:
        """Auto-precharge, unless a request of the served queue (or the opener) wants the row."""
        best = self._queue.best(bank.index, bank.row)
        if bank.opened_for is None and (best is None or best.row != bank.row):
            bank.row = CLOSED
            bank.activate_ok = max(bank.activate_ok, bank.precharge_ok + self._timing.RP)
            self.precharges += 1

    def _leave(self, waiting: Waiting) -> None:
        """`waiting` leaves its queue."""
        if not waiting.write:
            self.reads.remove(waiting)
            return
        self.writes.remove(waiting)
        address = waiting.request.address
        if self._forward[address] == 1:
            del self._forward[address]
        else:
            self._forward[address] -= 1

    # -- refresh ---------------------------------------------------------------------------------

    def _begin_refresh(self) -> None:
        """A refresh is due: rank by rank, and nothing else starts before all have got it."""
        self._bus = max(self._bus, self._refresh_at)
        self._column_bus = max(self._column_bus, self._refresh_at)
        self._refreshing = list(self._ranks)
        self._refresh_at += self._timing.REFI
        self._choice_at = self._column_at = -1

    def _refresh(self, clock: int) -> None:
        """Close all rows of the rank, or refresh it if they are closed."""
        self._take_row_bus(clock)
        self._column_at = -1
        rank = self._refreshing[0]
        if any(bank.row != CLOSED for bank in rank.banks):
            for bank in rank.banks:
                self.precharges += bank.row != CLOSED
                bank.row = CLOSED
                bank.activate_ok = max(bank.activate_ok, clock + self._timing.RP)
        else:
            for bank in rank.banks:
                bank.activate_ok = clock + self._timing.RFC
            del self._refreshing[0]
            self.refreshes += 1
        for bank in rank.banks:
            self._plan(bank)
