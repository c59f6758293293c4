"""What applications did in their first run, where some start again until others have run once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from attrs import frozen

from gpusim.core.counters import CounterRow
from gpusim.core.engine import Watchdog
from gpusim.core.errors import DeadlockError, StarvedError
from gpusim.core.warp_program import Application

if TYPE_CHECKING:
    from gpusim.machine.machine import Machine

_TIMES: Final = 10
"""Its patience is as many times that of the watchdog that looks for a standstill."""


@frozen(eq=False, repr=False)
class FirstRun:
    """What an application did in its first run.

    Attributes:
        counters: its counters.
        state_sums: (SMs, states) warp-cycles.
        warps: its warps.
    """

    counters: tuple[CounterRow, ...]
    state_sums: tuple[tuple[int, ...], ...]
    warps: int


class FirstRuns:
    """Keeps first runs of a machine's applications, and says when all have had theirs.

    Args:
        machine: whose applications they are.

    Attributes:
        of: by index, the first run of each application that may be started again, or was stopped.
    """

    def __init__(self, machine: Machine) -> None:
        self.of: dict[int, FirstRun] = {}
        self._machine = machine
        self._shared_rows: list[CounterRow] | None = None
        """Counters of no application, if the run was stopped before all had ended."""

    def run_ended(self, app: int) -> Application | None:
        """Keep the statistics of a first run; start again while others have not had theirs."""
        machine = self._machine
        tenant = machine.tenants[app]
        if tenant.restart is not None and app not in self.of:
            self._keep(app)
        if self.late():
            return tenant.restart() if tenant.restart is not None else None
        for other in machine.schedulers:
            other.stop()
        return None

    def late(self) -> list[int]:
        """The applications that have not had their first run."""
        return [app for app, one in enumerate(self._machine.schedulers) if one.in_flight()]

    def in_flight(self) -> int:
        """What is not finished, while others wait for a first run."""
        return self._machine.in_flight() if self.late() else 0

    def progress(self) -> int:
        """Changes whenever something is counted of an application that others wait for."""
        machine, late = self._machine, self.late()
        if len(late) == len(machine.tenants):
            return machine.env.now
        names = {machine.names[app] for app in late}
        return sum(row.value for row in machine.counter_rows() if row.app in names)

    def end(self, app: int) -> None:
        """The first run of an application ends in this cycle, wherever it is.

        It goes on beside others whose first run has not ended.  When all have, nothing further is
        begun: warps issue what they have in hand, and all that is under way is answered.
        """
        machine = self._machine
        machine.schedulers[app].end_first_run()
        self._keep(app)
        if self.late():
            return
        self._shared_rows = [row for row in machine.counter_rows() if not row.app]
        for scheduler in machine.schedulers:
            scheduler.cut()

    def rows(self) -> Iterator[CounterRow]:
        """All counters; of applications that were started again, those of the first run."""
        machine, shared = self._machine, self._shared_rows
        names = {machine.names[app] for app in self.of}
        for row in machine.counter_rows():
            if row.app not in names and (row.app or shared is None):
                yield row
        yield from shared or ()
        for first_run in self.of.values():
            yield from first_run.counters

    def state_sums(self, app: int) -> Sequence[Sequence[int]]:
        """(SMs, states) warp-cycles of an application, in its first run."""
        if app in self.of:
            return self.of[app].state_sums
        return [sm.ledger.sums[app] for sm in self._machine.sms]

    def _keep(self, app: int) -> None:
        machine = self._machine
        name = machine.names[app]
        self.of[app] = FirstRun(
            tuple(row for row in machine.counter_rows() if row.app == name),
            tuple(tuple(sm.ledger.sums[app]) for sm in machine.sms),
            machine.schedulers[app].warps_launched,
        )


class FirstRunsWatchdog(Watchdog):
    """Stops a run in which an application gets nowhere beside others that run again and again.

    A policy may serve others first for ever.  More patience is needed than with a standstill: an
    application that only waits for a timer does not get on either.

    Args:
        machine: some of whose applications are started again.
        patience: of the watchdog that looks for a standstill.
        report: returns what waits for what, as text.
    """

    def __init__(self, machine: Machine, patience: int, report: Callable[[], str]) -> None:
        self._machine = machine
        runs = machine.first_runs
        super().__init__(machine.env, _TIMES * patience, runs.in_flight, runs.progress, report)

    def _standstill(self) -> DeadlockError:
        machine = self._machine
        late = ", ".join(repr(machine.names[app]) for app in machine.first_runs.late())
        return StarvedError(
            f"cycle {self.env.now}: {late} did not get on in {self.patience} cycles, and others "
            f"run again and again until it has ended: {self._unfinished()}"
        )
