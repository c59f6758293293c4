"""Counters of a run that is cut: what falls, or is negative between two cycles, is no count."""

from __future__ import annotations

from collections.abc import Generator, Iterable

import pytest
from attrs import define

import gpusim
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.machine import Machine
from gpusim.results.result import Result
from gpusim.runs.conservation import ConservationError


@define
class SignedCounters:
    busy: int = count("the begin is taken off, the end is added", "cycles")


@define
class PresentCounters:
    present: int = count("things that are there now", falls=True)


class Pump(Component):
    """Works in cycles 200 to 900, then 1,000 to 1,700, and so on."""

    path = name = "pump"

    def __init__(self, machine: Machine, counters: SignedCounters | PresentCounters) -> None:
        self.machine = machine
        self.counters = counters
        machine.add(self)
        machine.env.start(self._run(), onlooker=True)

    def _add(self, cycles: int) -> None:
        if isinstance(self.counters, SignedCounters):
            self.counters.busy += cycles
        else:
            self.counters.present += 1 if cycles < 0 else -1

    def _run(self) -> Generator[int, None, None]:
        while any(scheduler.in_flight() for scheduler in self.machine.schedulers):
            yield 200
            self._add(-self.machine.env.now)
            yield 600
            self._add(self.machine.env.now)

    def shared_counters(self) -> Iterable[object]:
        return (self.counters,)


def pumped(counters: SignedCounters | PresentCounters, **options: object) -> Result:
    return gpusim.simulate(
        gpusim.load_model("tiny"),
        gpusim.load_workload("mvt", "smoke", overrides={"n": 64}),
        attach=lambda machine: Pump(machine, counters) and None,
        **options,  # type: ignore[arg-type]
    )


CUTS: dict[str, dict[str, object]] = {
    "until": {"until": ["500cycles"]},
    "sample": {"sample": "windows=6,length=300cycles,warm=50cycles"},
}


@pytest.mark.parametrize("cut", CUTS)
def test_a_sum_that_is_signed_between_begin_and_end_is_found(cut: str) -> None:
    pumped(SignedCounters()).close()
    with pytest.raises(ConservationError, match=r"pump\[0\]\.busy"):
        pumped(SignedCounters(), **CUTS[cut])


@pytest.mark.parametrize("cut", CUTS)
def test_a_number_of_what_is_there_now_may_fall(cut: str) -> None:
    pumped(PresentCounters(), **CUTS[cut]).close()
