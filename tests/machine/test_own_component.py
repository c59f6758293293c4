"""A new part of a machine is one file: this one, a gate in front of the walkers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from attrs import define

from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import Port, Sink, Wakeable
from gpusim.core.law import Law
from gpusim.core.metrics import Metric, PerKiloInstruction, Ratio, Total, declare_metrics
from gpusim.core.request import Translation
from gpusim.hardware.tlb import TlbLevel
from gpusim.machine import Machine, Tenant
from gpusim.runs.conservation import ConservationError
from gpusim.runs.run import run_machine
from gpusim.runs.warnings import warnings_of
from tests.machine.bench import SMALL, ScriptedApplication, ScriptedLaunch

CYCLES = 7


@define(slots=True)
class GateCounters:
    passed: int = count("translations that passed")
    toll_cycles: int = count("that it took them", "cycles")


declare_metrics(
    GateCounters,
    Metric("gate_passed", "1", "translations that passed the gate", Total("passed")),
    Metric("gate_toll", "cycles", "time that the gate takes", Ratio("toll_cycles", "passed")),
    Metric("gate_pki", "1", "translations per 1000", PerKiloInstruction("passed")),
)


class Way(Sink):
    """Leads through a gate."""

    def __init__(self, gate: Gate, port: Port[Translation]) -> None:
        self.name = gate.name
        self._gate = gate
        self._port = port

    @property
    def full(self) -> bool:
        return self._port.full

    def when_free(self, sender: Wakeable) -> None:
        self._port.when_free(sender)

    def send(self, translation: Translation, extra_cycles: int = 0) -> None:
        counters = self._gate.counters[translation.app]
        counters.passed += 1
        counters.toll_cycles += CYCLES
        arrival = self._port.env.now + extra_cycles
        translation.trail += (self._gate.state_numbers[0], arrival)
        self._port.send(translation, extra_cycles + CYCLES)


class Gate(Component):
    """Lets translations pass to the walkers, `CYCLES` later."""

    name = path = "gate"
    states = ("gate",)
    laws = (Law("passed", "walk.requests", "passed", "walks asked for"),)

    def __init__(self, port: Port[Translation], apps: int) -> None:
        self.counters = [GateCounters() for _ in range(apps)]
        self.way = Way(self, port)

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)

    def warnings(self) -> Iterator[str]:
        yield f"the gate takes {CYCLES} cycles"


class Twin(Gate):
    """Its state is the gate's."""

    name = path = "twin"
    laws = ()


def machine_with(*kinds: type[Gate]) -> tuple[Machine, list[Gate]]:
    launch = ScriptedLaunch([[[("load", 0), ("load", 1 << 16)]]])
    machine = Machine(SMALL, [Tenant("a", ScriptedApplication([launch]), range(1))], seed=0)
    last: TlbLevel = list(machine.tlbs.values())[-1][0]
    gates = [kind(last.below, apps=1) for kind in kinds]
    last.below = gates[0].way
    for gate in gates:
        machine.add(gate)
    return machine, gates


def test_counters_numbers_warnings_and_states() -> None:
    machine, _ = machine_with(Gate)
    run_machine(machine)
    rows = [row for row in machine.counter_rows() if row.component == "gate"]
    assert [(row.app, row.name, row.value) for row in rows] == [
        ("a", "passed", 2),
        ("a", "toll_cycles", 14),
    ]
    assert {"gate_passed", "gate_toll", "gate_pki"} <= {one.name for one in machine.metrics}
    assert warnings_of(machine, 100) == ["the gate takes 7 cycles"]
    assert machine.states[-1] == "gate"
    assert machine.families[-1] == "translation"
    sums = dict(zip(machine.states, machine.sms[0].ledger.sums[0], strict=True))
    assert sums["gate"] == CYCLES  # both translations at once; their lives were added up, too


def test_its_laws_are_checked() -> None:
    machine, (gate,) = machine_with(Gate)
    gate.counters[0].passed += 1
    with pytest.raises(ConservationError, match="a: gate: passed = 3, but walks asked for = 2"):
        run_machine(machine)


def test_components_may_share_a_state() -> None:
    machine, (gate, twin) = machine_with(Gate, Twin)
    assert gate.state_numbers == twin.state_numbers == (len(machine.states) - 1,)


@pytest.mark.parametrize(
    ("name", "family"), [("walk", "translation"), ("tlb_L9", "translation"), ("gate2", "rest")]
)
def test_states_that_cannot_be_added(name: str, family: str) -> None:
    class Wrong(Twin):
        states = (name,)
        state_family = family

    with pytest.raises(ValueError, match=f"cannot add a state '{name}' of family '{family}'"):
        machine_with(Wrong)


def test_a_state_has_one_family() -> None:
    class Other(Twin):
        state_family = "sm"

    with pytest.raises(ValueError, match="the state 'gate' is of two families"):
        machine_with(Gate, Other)
