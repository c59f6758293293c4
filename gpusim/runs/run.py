"""A run: one machine, one workload, one result."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext

from attrs import evolve, field, frozen

from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError, own_code_errors
from gpusim.files.apart import keep_apart
from gpusim.machine import Machine, Tenant
from gpusim.results.result import Result
from gpusim.results.run_data import RunData
from gpusim.runs.conservation import check_conservation
from gpusim.runs.cores import check_options, on_cores
from gpusim.runs.launch_numbers import LaunchNumbers
from gpusim.runs.listening import listen
from gpusim.runs.monitor import Progress, every, now_and_then
from gpusim.runs.monitor import sample as progress_of
from gpusim.runs.options import RunOptions
from gpusim.runs.outcome import Ended, run_data
from gpusim.runs.page_events import PageEvent, play, read_events
from gpusim.runs.recorder import Recorder
from gpusim.runs.run_log import LOG_EVERY, RunLog
from gpusim.runs.stopping import Stopping, parse_rules
from gpusim.runs.tenants import assign_sms, own_modules_of
from gpusim.runs.timing import timing_of
from gpusim.runs.writer import ResultWriter
from gpusim.workloads.tables import Timed
from gpusim.workloads.workload import Workload

GARBAGE_OBJECTS = 1_000_000
"""Objects allocated, and not freed, between two collections of reference cycles."""

LARGE_ARRAYS = 32 << 20
"""Bytes of a workload's arrays from which on earlier machines are looked for."""


@frozen(eq=False, repr=False)
class Observers:
    """What looks on while a machine runs, and is no option of the run.

    Attributes:
        progress: called a few times a second of real time, and at the end.
        attach: is given the machine before its first cycle, to listen to its probes, or to start
            processes of its own on ``machine.env``.  What it changes is no part of the result's
            configuration.
        command_line: what the result names as its origin; default: that of this process.
    """

    progress: Callable[[Progress], None] | None = None
    attach: Callable[[Machine], None] | None = None
    command_line: Sequence[str] = field(factory=lambda: tuple(sys.argv))


class Run:
    """One run, ready to be executed once.

    Args:
        model: the machine.
        workload: what runs on it.
        options: where they say nothing of what is timed, the workload does.
        observers: what looks on.

    Raises:
        UserError: the workload does not fit the machine, or options contradict each other.
    """

    def __init__(
        self,
        model: LoadedModel,
        workload: Workload,
        options: RunOptions,
        observers: Observers,
    ) -> None:
        self.model = model
        self.workload = workload
        self.options = _with_what_is_timed(options, workload.timed)
        if self.options.cost:
            from gpusim.runs.cost import check_measurable

            check_measurable(self.options)
        if self.options.cores > 1 and observers.attach is not None:
            raise UserError("--cores: what is attached to machines hears those of one process only")
        keep_apart(
            {"output": self.options.output, "log": self.options.log},
            [self.options.events, self.options.start, model.path, *workload.inputs],
        )
        self.observers = observers
        self.tenants = assign_sms(model, workload)
        self._own_modules = own_modules_of(model, self.tenants, observers.attach)

    def execute(self) -> Result:
        """Run the machine to its end, check it, and write the result.

        Returns:
            the result, opened for reading.

        Raises:
            UserError: impossible input, a file cannot be written, or a policy or program of the
                user's own failed; nothing but the log is left behind.
            DeadlockError: the simulated machine stands still.
            ConservationError: the simulator is wrong.
        """
        options, log = self.options, self.options.log
        check_options(self.model.config, options)
        rules = parse_rules(options.until, [tenant.name for tenant in self.tenants])
        with (
            ResultWriter(options.output) as writer,
            ExitStack() as until_end,
            nullcontext() if log is None else RunLog(log, options.log_every or LOG_EVERY) as lines,
            own_code_errors(self._own_modules),
        ):
            timing = timing_of(options, self.model, self.workload, self.tenants)
            events = None if options.events is None else read_events(options.events, self.tenants)
            add_costs = self._measured_costs() if options.cost else None
            started = time.perf_counter()
            _forget_earlier_machines(self.tenants)
            until_end.enter_context(timing.others(self._run_other))
            machine = timing.machine(self.model.config, self.tenants, self.workload.seed)
            finish = listen(machine, Recorder(writer, options.record))
            self._start_onlookers(machine, events, lines)
            numbers = LaunchNumbers(machine)
            stopping = Stopping(machine, rules)
            with on_cores(machine, options, numbers, self._own_modules):
                run_machine(machine)
                finish()
                self._report_end(machine, lines)
                data = run_data(
                    machine,
                    Ended(self.model, self.workload, options, self.observers.command_line, started),
                    stopping.stops(),
                    timing,
                    numbers,
                )
            data = timing.of_whole(data, machine, numbers)
            return writer.finish(data if add_costs is None else add_costs(data))

    def _measured_costs(self) -> Callable[[RunData], RunData]:
        """Run the ideal twins; what adds the costs to the facts of the run itself.

        Raises:
            UserError: a twin cannot be run.
        """
        from gpusim.config.ideal_twins import IdealTwin, ideal_twins
        from gpusim.runs.cost import lengths_of, options_of_twin, twin_title, with_costs

        options = options_of_twin(self.options)

        def run(twin: IdealTwin) -> dict[str, int | float]:
            model = evolve(self.model, config=twin.config)
            observers = Observers(_titled(self.observers.progress, twin_title(twin)))
            with Run(model, self.workload, options, observers).execute() as result:
                return result.summary

        lengths = lengths_of(list(ideal_twins(self.model.config)), run)
        return lambda data: with_costs(data, lengths)

    def _start_onlookers(
        self, machine: Machine, events: Sequence[PageEvent] | None, lines: RunLog | None
    ) -> None:
        """Start what happens beside the programs: events of pages, reports, processes of users."""
        if events is not None:
            machine.env.start(play(machine, events))
        if self.observers.progress is not None:
            machine.env.start(now_and_then(machine, self.observers.progress), onlooker=True)
        if lines is not None:
            machine.env.start(every(lines.every, machine, lines.write), onlooker=True)
        if self.observers.attach is not None:
            self.observers.attach(machine)

    def _run_other(self, machine: Machine, title: str) -> None:
        """Run another machine of which this run takes numbers, too; several report no progress."""
        report = None if self.options.cores > 1 else _titled(self.observers.progress, title)
        if report is not None:
            machine.env.start(now_and_then(machine, report), onlooker=True)
        attach = self.observers.attach
        with own_code_errors(self._own_modules):
            if attach is not None:
                attach(machine)
            run_machine(machine)
        if report is not None:
            report(progress_of(machine, done=True))

    def _report_end(self, machine: Machine, lines: RunLog | None) -> None:
        end = progress_of(machine, done=True)
        if self.observers.progress is not None:
            self.observers.progress(end)
        if lines is not None:
            lines.write(end)


def _titled(
    report: Callable[[Progress], None] | None, title: str
) -> Callable[[Progress], None] | None:
    """A report of one of several runs, which says which it is of."""
    if report is None:
        return None
    return lambda progress: report(evolve(progress, run=title))


def _with_what_is_timed(options: RunOptions, timed: Timed) -> RunOptions:
    """The options, with what the workload says of what is timed if they say nothing."""
    if options.stops_or_skips:
        return options
    return evolve(
        options, until=timed.until, skip=timed.skip, sample=timed.sample, start=timed.start
    )


def run_machine(machine: Machine) -> None:
    """Run a machine until everything has drained, and check that nothing was lost."""
    with _rare_garbage_collection():
        machine.env.run()
    machine.watchdog.check_drained()
    check_conservation(machine)


def _forget_earlier_machines(tenants: Sequence[Tenant]) -> None:
    """Collect garbage where arrays are large: reference counts do not free earlier machines.

    A machine refers to itself.  Python collects such objects when there are many of them, but does
    not see that these few hold gigabytes, and a process that runs one large program after the
    other would fill all memory.
    """
    if sum(one.bytes for tenant in tenants for one in tenant.application.buffers) > LARGE_ARRAYS:
        gc.collect()


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Look for reference cycles seldom: transactions make none, and every look costs."""
    before = gc.get_threshold()
    gc.set_threshold(GARBAGE_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
