"""End-of-run conservation checks: what went in came out, once, and every cycle is accounted for.

They run at the end of every simulation; a violation is an error with a name, never a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpusim.core.errors import SimulatorError
from gpusim.core.tally import Tally
from gpusim.machine.laws import laws_between
from gpusim.machine.machine import Machine


class ConservationError(SimulatorError, AssertionError):
    """The simulator is wrong: something was lost, doubled, or not accounted for."""


def check_conservation(machine: Machine) -> None:
    """Check a machine whose environment has run out of events.

    Raises:
        ConservationError: names every violated law, and the numbers.
    """
    broken = [*_drained(machine), *_lives(machine), *_laws(machine), *_warps(machine)]
    if broken:
        raise ConservationError("conservation is violated:\n  " + "\n  ".join(broken))


def _drained(machine: Machine) -> Iterator[str]:
    """Every queue and every MSHR is empty, every credit is back."""
    for component in machine.components():
        left = component.in_flight()
        if left:
            yield f"drained: {component.name} still holds {left} requests or warps"


def _lives(machine: Machine) -> Iterator[str]:
    """Each warp's states add up to its lifetime, summed over the warps of an SM."""
    for sm in machine.sms:
        ledger = sm.ledger
        for app, sums, life in zip(machine.names, ledger.sums, ledger.lifetimes, strict=True):
            if sum(sums) != life:
                yield (
                    f"lives: on SM {sm.index} the states of the warps of {app} add up to "
                    f"{sum(sums)} cycles, their lives to {life}"
                )


def _laws(machine: Machine) -> Iterator[str]:
    """Laws inside components, and between them, hold for each application."""
    laws = {
        (component.path, law): law.violation
        for component in machine.components()
        for law in component.laws
    }
    laws |= {("", law): law.violation for law in laws_between(machine)}
    rows = list(machine.counter_rows())
    for app in machine.names:
        tally = Tally(row for row in rows if row.app == app)
        for (path, _), violation in laws.items():
            if broken := violation(path, tally):
                yield f"{app}: {broken}"


def _warps(machine: Machine) -> Iterator[str]:
    """Every warp that was launched has ended."""
    for app, scheduler in enumerate(machine.schedulers):
        ended = sum(sm.counters[app].warps for sm in machine.sms)
        if ended != scheduler.warps_launched:
            yield (
                f"{machine.names[app]}: warps that ended = {ended}, but warps launched = "
                f"{scheduler.warps_launched}"
            )
