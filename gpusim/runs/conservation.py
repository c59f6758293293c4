"""End-of-run conservation checks: what went in came out, once, and every cycle is accounted for.

They run at the end of every simulation; a violation is an error with a name, never a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gpusim.core.counters import CounterRow, counter_rows, falling
from gpusim.core.errors import SimulatorError
from gpusim.core.states import State
from gpusim.core.tally import Tally
from gpusim.machine.laws import laws_between
from gpusim.machine.machine import Machine

if TYPE_CHECKING:
    from gpusim.runs.windows.measured import Window


class ConservationError(SimulatorError, AssertionError):
    """The simulator is wrong: something was lost, doubled, or not accounted for."""


def check_conservation(machine: Machine) -> None:
    """Check a machine whose environment has run out of events.

    Raises:
        ConservationError: names every violated law, and the numbers.
    """
    _raise_if_any(
        [
            *_drained(machine),
            *_lives(machine),
            *_roots(machine),
            *_laws(machine),
            *_warps(machine),
            *_owners(machine),
            *_first_runs(machine),
        ]
    )


def check_windows(machine: Machine, windows: Iterable[Window]) -> None:
    """Check what was measured in windows of a machine that has run: no counter falls in one.

    Raises:
        ConservationError: names every counter that does.
    """
    grows = _grows(machine)
    rows = list(machine.counter_rows())
    _raise_if_any(
        f"windows: {_name(row)} falls by {-added} from the begin of a window to its end"
        for window in windows
        for span in window.spans
        for row, added in zip(rows, span.whole.values.tolist(), strict=True)
        if added < 0 and (row.component, row.name) in grows
    )


def _raise_if_any(broken: Iterable[str]) -> None:
    lines = "\n  ".join(broken)
    if lines:
        raise ConservationError(f"conservation is violated:\n  {lines}")


def _grows(machine: Machine) -> set[tuple[str, str]]:
    """Paths and names of the counters that never fall."""
    apps = range(len(machine.names))
    found = set()
    for component in machine.components():
        counted = [one for app in apps for one in component.app_counters(app)]
        for counters in (*counted, *component.shared_counters()):
            names = {row.name for row in counter_rows("", 0, "", counters)} - falling(counters)
            found |= {(component.path, name) for name in names}
    return found


def _first_runs(machine: Machine) -> Iterator[str]:
    """What is kept of a first run is no less than nothing, and no more than all in the end."""
    if not machine.first_runs.of:
        return
    grows = _grows(machine)
    whole = {_name(row): row.value for row in machine.counter_rows()}
    for row in machine.first_runs.rows():
        end = whole[_name(row)]
        if (row.component, row.name) in grows and not 0 <= row.value <= end:
            yield f"first runs: {_name(row)} = {row.value} where they end, {end} at the end of all"


def _name(row: CounterRow) -> str:
    whose = f" of {row.app}" if row.app else ""
    return f"{row.component}[{row.instance}].{row.name}{whose}"


def _drained(machine: Machine) -> Iterator[str]:
    """Every queue and every MSHR is empty, every credit is back."""
    for component, left in machine.unfinished():
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
        for app, sums, waits in zip(machine.names, ledger.sums, ledger.l2_waits, strict=True):
            for state, part in ((State.INTERCONNECT, waits.behind), (State.L2, waits.at)):
                if part > sums[state]:
                    yield (
                        f"lives: on SM {sm.index} the warps of {app} wait {part} cycles for "
                        f"stalled L2 banks in the state {state.name.lower()}, which lasts "
                        f"{sums[state]}"
                    )


def _roots(machine: Machine) -> Iterator[str]:
    """Waits with a root are no longer than the states that they are parts of."""
    for sm in machine.sms:
        ledger = sm.ledger
        for app, sums, waits in zip(machine.names, ledger.sums, ledger.root_waits, strict=True):
            held = (
                (State.MSHR, waits.mshr),
                (State.CREDIT, waits.credit),
                (State.TLB, waits.tlb),
            )
            for state, part in held:
                if part > sums[state]:
                    yield (
                        f"lives: on SM {sm.index} {part} cycles of the warps of {app} in the state "
                        f"{machine.states[state]} have a root, and it lasts {sums[state]}"
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


def _owners(machine: Machine) -> Iterator[str]:
    """Every page of a node lies in one place, and all its tables say so."""
    for line in () if machine.node is None else machine.node.stale():
        yield f"owners: {line}"


def _warps(machine: Machine) -> Iterator[str]:
    """Every warp that was launched has ended."""
    for app, scheduler in enumerate(machine.schedulers):
        ended = sum(sm.counters[app].warps for sm in machine.sms)
        if ended != scheduler.warps_launched:
            yield (
                f"{machine.names[app]}: warps that ended = {ended}, but warps launched = "
                f"{scheduler.warps_launched}"
            )
