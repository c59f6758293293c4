"""The commands of a channel, up to the clock that the channel's process names.

`Commands` holds the parts of a channel together: the queues, a bank plan that says what each bank
needs, a chooser that says which command goes next and when, and an issuer that carries it out.
"""

from __future__ import annotations

from typing import Final

from gpusim.config.dram import DramConfig
from gpusim.core.engine import NEVER
from gpusim.core.errors import DeadlockError
from gpusim.core.request import MemoryRequest
from gpusim.hardware.dram.bank import make_banks
from gpusim.hardware.dram.bus import CommandBus
from gpusim.hardware.dram.chooser import Chooser
from gpusim.hardware.dram.counters import ChannelCounters
from gpusim.hardware.dram.issuer import Issuer
from gpusim.hardware.dram.mapping import AddressMapping
from gpusim.hardware.dram.plan import ACTIVATE, PRECHARGE, REFRESH, BankPlan
from gpusim.hardware.dram.queue import DramQueue
from gpusim.hardware.dram.read_write_queues import ReadWriteQueues
from gpusim.hardware.dram.refresh import Refresh
from gpusim.hardware.dram.sectors import SectoredQueues
from gpusim.hardware.dram.timing import Timing
from gpusim.hardware.dram.waiting import FORWARDED, Waiting

_PATIENCE: Final = 8
"""Refreshes with nothing between them after which a full queue is taken to stand still."""


class Commands:
    """One channel between its requests: knows the clocks of all commands, without a process.

    The caller says how far time has come (`advance`), adds requests (`accept`) and collects the
    requests whose data are known (`done`).

    Args:
        config: the DRAM table.
        mapping: for the numbering of the banks.
        sectored: requests are of sectors, and not all of one size.
        channel: its number; channels may be refreshed one after another.

    Attributes:
        queues: of reads and of writes.
        done: requests whose last column access was issued, or whose data a waiting write had; the
            caller empties it.
        counters: of the channel.
    """

    __slots__ = (
        "_accepted",
        "_bus",
        "_chooser",
        "_issuer",
        "_plan",
        "_read_latency",
        "_refresh",
        "counters",
        "done",
        "queues",
    )

    def __init__(
        self, config: DramConfig, mapping: AddressMapping, sectored: bool = False, channel: int = 0
    ) -> None:
        timing = Timing.of(config)
        ranks, banks = make_banks(mapping)
        clocks = config.activate_clocks
        make = SectoredQueues if sectored else ReadWriteQueues
        self.queues: ReadWriteQueues = make(config, mapping.banks)
        self._bus = bus = CommandBus(config.row_bus)
        phase = 0
        if config.refresh == "staggered":
            phase = timing.REFI * (channel % config.channels) // config.channels
        self._refresh = refresh = Refresh(ranks, timing.REFI, phase)
        self._plan = plan = BankPlan(banks, self.queues)
        self._chooser = Chooser(plan, bus, refresh, ranks, clocks)
        self._issuer = Issuer(
            plan,
            bus,
            refresh,
            timing,
            activate_clocks=clocks,
            closed_page=config.page_policy == "closed",
        )
        self._read_latency = timing.read_latency
        self._accepted = 0
        self.done: list[Waiting] = self._issuer.done
        self.counters: ChannelCounters = self._issuer.counters

    def unfinished(self) -> int:
        """Requests that are not done."""
        queues = self.queues
        return self._plan.opened + queues.reads.size + queues.writes.size

    def accept(self, waiting: Waiting, now: int) -> None:
        """Take a request in, for which there is room; its commands go in later clocks.

        A read of what a waiting write is about to write gets its data from there.

        Args:
            waiting: the request.
            now: the clock, to which `advance` has been called.
        """
        self._bus.hold(now + 1)
        self._accepted += 1
        waiting.rank = self._accepted
        waiting.clock = now
        if self.queues.add(waiting, now):
            self._chooser.forget()
            self._plan.accepted(waiting)
        else:
            waiting.outcome = FORWARDED
            waiting.first = waiting.finished = now + 1
            self.done.append(waiting)

    def advance(self, until: int) -> None:
        """Issue all commands up to clock `until`, that one included."""
        bus, chooser, refresh = self._bus, self._chooser, self._refresh
        while bus.row_ok <= until or bus.column_ok <= until:
            clock = chooser.clock
            if clock < 0:
                clock = chooser.choose()
            if clock >= refresh.due and not refresh.pending:
                if refresh.due > until:
                    return
                self._begin_refresh()
            elif clock > until:
                return
            else:
                self._issue(clock)

    def advance_until_room(self, queue: DramQueue, request: MemoryRequest) -> int:
        """Issue commands until `queue`, now full, has room for `request`; the last one's clock.

        Only for a caller that accepts nothing before that clock.

        Raises:
            DeadlockError: the policy of the queue lets none of its requests go.
        """
        chooser, refresh, size = self._chooser, self._refresh, queue.size
        refreshes = 0
        while True:
            clock = chooser.clock
            if clock < 0:
                clock = chooser.choose()
            if clock >= refresh.due and not refresh.pending:
                self._begin_refresh()
                refreshes += 1
                if refreshes > _PATIENCE:
                    raise DeadlockError(
                        f"deadlock: a full queue of DRAM requests ({type(queue).__qualname__}) "
                        f"lets none of its {queue.size} requests go"
                    )
                continue
            self._issue(clock)
            if queue.size != size:
                if not queue.full(request):
                    return clock
                size = queue.size

    def next_finish(self) -> int:
        """No data ends before this clock, except the data of requests already `done`.

        `NEVER` if no command can be chosen as it is.
        """
        if self._chooser.clock == NEVER:
            return NEVER
        bus = self._bus
        clock = bus.row_ok
        if clock > bus.column_ok:
            clock = bus.column_ok
        if clock < self._chooser.clock:
            clock = self._chooser.clock
        return clock + self._read_latency

    def _issue(self, clock: int) -> None:
        """Issue the chosen command in `clock`."""
        chooser, issuer = self._chooser, self._issuer
        command, waiting = chooser.command, chooser.waiting
        chooser.clock = -1
        if command == REFRESH:
            chooser.column_clock = -1
            issuer.refresh(clock)
            return
        assert waiting is not None
        if command == PRECHARGE:  # the next column access stays the same: it goes later
            issuer.precharge(waiting, clock)
            return
        chooser.column_clock = -1
        if command == ACTIVATE:
            issuer.activate(waiting, clock)
            return
        issuer.access(waiting, clock)
        if self._bus.row_ok <= clock:
            self._issue_row(clock)

    def _issue_row(self, clock: int) -> None:
        """Issue a row command in the clock of a column access, if one is ready."""
        self._bus.row_ok = clock
        if not self._refresh.pending and self._chooser.choose_row(clock + 1) == clock:
            self._issue(clock)
        else:
            self._bus.row_ok = clock + 1

    def _begin_refresh(self) -> None:
        """A refresh is due: it goes before all that has not begun."""
        self._bus.hold(self._refresh.due)
        self._refresh.begin()
        self._chooser.forget()
