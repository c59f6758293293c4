"""A run whose numbers are put in the place of those that its machine has counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from gpusim.core.counters import CounterRow, is_largest
from gpusim.core.metrics import made_of_largest
from gpusim.machine import Machine
from gpusim.results.run_data import ApplicationFacts, RunData, SummaryValue
from gpusim.runs.headline import StateSums, headline
from gpusim.runs.windows.extrapolation import Whole


class WholeNumbers:
    """The numbers of a run, made of what whole programs are estimated to do.

    Args:
        run: of which parts were timed.
        machine: that it ran on.
        largest: (counters,) the largest values that counters had at the end of a machine; None: of
            this one.

    Attributes:
        rows: all counters, as the machine has counted.
    """

    def __init__(
        self, run: RunData, machine: Machine, largest: NDArray[np.int64] | None = None
    ) -> None:
        self.rows = list(machine.counter_rows())
        self._run = run
        self._machine = machine
        self._families = dict(zip(run.states, run.families, strict=True))
        counted = np.array([row.value for row in self.rows], dtype=np.int64)
        self._at_end = counted if largest is None else largest
        self._largest = np.array([is_largest(row.name) for row in self.rows])
        self._of_largest = {one.name for one in machine.metrics if made_of_largest(one)}

    def refusal(self, name: str) -> str:
        """Why a headline number cannot have an interval, whatever was measured; "": it can."""
        if name.rpartition("/")[2] in self._of_largest:
            return "a largest value: windows tell only of theirs"
        return ""

    def numbers(self, whole: Whole) -> Sequence[SummaryValue]:
        """The headline numbers; largest values are those that were counted."""
        return headline(
            self._machine.metrics,
            self._counters(whole),
            StateSums(self._families, whole.sums),
            self._applications(whole),
            int(whole.cycles.max()),
            self._machine.config.clock,
        )

    def run_of(self, whole: Whole) -> RunData:
        """The run with these numbers."""
        return evolve(
            self._run,
            summary=self.numbers(whole),
            counters=self._counters(whole),
            state_sums=whole.sums,
            applications=self._applications(whole),
        )

    def _counters(self, whole: Whole) -> list[CounterRow]:
        values: NDArray[np.int64] = np.where(self._largest, self._at_end, whole.values)
        return [
            row._replace(value=value) for row, value in zip(self.rows, values.tolist(), strict=True)
        ]

    def _applications(self, whole: Whole) -> list[ApplicationFacts]:
        ends = whole.cycles.tolist()
        return [evolve(one, end=end) for one, end in zip(self._run.applications, ends, strict=True)]
