"""Machines beside that of the run, each of which times a part of the launches."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from gpusim.config.schema import GpuConfig
from gpusim.core.errors import UserError
from gpusim.files.children import Forked, can_fork
from gpusim.machine import Machine
from gpusim.results.run_data import ApplicationFacts, LaunchFacts, RunData
from gpusim.runs.conservation import check_windows
from gpusim.runs.launch_numbers import CountedLaunches, LaunchNumbers
from gpusim.runs.outcome import applications_of, facts_of, records_of
from gpusim.runs.windows.measured import Window
from gpusim.runs.windows.timed_launches import TimedLaunch, TimedLaunches

RunMachine = Callable[[Machine, str], None]
"""Runs a machine to its end; the text says which it is."""


@frozen(eq=False)
class LaunchPart:
    """What a machine has measured of its part of the launches.

    Attributes:
        number: of the machine.
        timed: launches, by number in the program.
        launches, by_launch: facts and numbers of these, in the order in which they began.
        application: what ran.
        counted: (counters,) at the end.
    """

    number: int
    timed: Mapping[int, TimedLaunch]
    launches: Sequence[LaunchFacts]
    by_launch: CountedLaunches
    application: ApplicationFacts
    counted: NDArray[np.int64]


class LaunchParts:
    """The machines of a run of which each times a part of the launches.

    Args:
        launches: of each machine; the first one is that of the run.
        config, seed: of all.
        cores: how many processes they may take.
    """

    def __init__(
        self, launches: Sequence[TimedLaunches], config: GpuConfig, seed: int, cores: int
    ) -> None:
        self.launches = launches
        self._config = config
        self._seed = seed
        self._cores = min(cores, len(launches))
        self._here: Callable[[], list[LaunchPart]] = list
        self._elsewhere: list[Forked[list[LaunchPart]]] = []

    def machine(self, number: int = 0) -> Machine:
        """One of them, ready for its first cycle."""
        own = self.launches[number]
        own.machine = Machine(self._config, [evolve(own.tenant, timed=own)], self._seed)
        return own.machine

    @contextmanager
    def beside(self, run: RunMachine) -> Iterator[None]:
        """Inside, machines run in other processes, if they may take several.

        Raises:
            UserError: this system cannot copy processes.
        """
        if self._cores > 1 and not can_fork():
            raise UserError("--cores: this system does not copy processes: leave it out")
        count = len(self.launches)
        shares = [range(one, count, self._cores) for one in range(self._cores)]
        self._here = partial(self._measure, shares[0][1:], run)
        with ExitStack() as until_end:
            for share in shares[1:]:
                name = f"part {share[0] + 1} of {count}"
                forked = Forked(partial(self._measure, share, run), name)
                until_end.callback(forked.end)
                self._elsewhere.append(forked)
            yield

    def measured(self, numbers: LaunchNumbers) -> list[LaunchPart]:
        """What all have measured, once the first one has drained.

        Args:
            numbers: what it has counted while launches ran.
        """
        found = [_part(self.launches[0], numbers), *self._here()]
        for forked in self._elsewhere:
            found += forked.answer()
        return sorted(found, key=lambda one: one.number)

    def _measure(self, share: Sequence[int], run: RunMachine) -> list[LaunchPart]:
        found = []
        for number in share:
            gc.collect()  # a machine refers to itself, and may hold much
            machine = self.machine(number)
            numbers = LaunchNumbers(machine)
            run(machine, f"part {number + 1} of {len(self.launches)}")
            found.append(_part(self.launches[number], numbers))
            self.launches[number].machine = None
        return found


def _part(launches: TimedLaunches, numbers: LaunchNumbers) -> LaunchPart:
    """What a machine that has drained has measured.

    Raises:
        ConservationError: a counter falls while a launch runs.
    """
    machine = launches.machine
    assert machine is not None
    check_windows(machine, [Window([one.span]) for one in launches.timed.values()])
    records, of_program = records_of(machine), launches.numbers()
    (application,) = applications_of(machine)
    return LaunchPart(
        launches.chosen[0].machine,
        launches.timed,
        [evolve(facts_of(machine, one), launch=of_program[one.index]) for one in records],
        numbers.counted([(one.app, one.index) for one in records]),
        application,
        np.array([row.value for row in machine.counter_rows()], dtype=np.int64),
    )


def joined(run: RunData, parts: Sequence[LaunchPart], numbers: LaunchNumbers) -> RunData:
    """A run with the launches of all machines, those of one behind those of the one before."""
    (first, *others), (application,) = parts, run.applications
    launches, begin = list(first.launches), first.application.end
    for part in others:
        launches += [
            evolve(
                one,
                begin=begin + one.begin,
                end=begin + one.end,
                work_begin=begin + one.work_begin,
            )
            for one in part.launches
        ]
        begin += part.application.end
    every = [part.application for part in parts]
    return evolve(
        run,
        launches=launches,
        by_launch=numbers.by_launch(
            [(0, number) for number in range(len(first.launches))],
            [part.by_launch for part in others],
        ),
        applications=[
            evolve(
                application,
                launches=sum(one.launches for one in every),
                blocks=sum(one.blocks for one in every),
                warps=sum(one.warps for one in every),
            )
        ],
    )
