"""Warnings of a run that went well: above all, what could not have an effect in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from gpusim.core.policy import Ending, Policy
from gpusim.machine.machine import Machine


def warnings_of(machine: Machine, cycles: int) -> list[str]:
    """What components and policies of a machine warn of, each once.

    Args:
        machine: one that has run.
        cycles: length of the run.
    """
    if machine.apart is None:
        found = _found(machine, cycles, lambda _: True)
    else:
        behind = _of_memory_side(machine)
        found = _found(machine, cycles, lambda one: id(one) not in behind)
        found += machine.apart.ask("warnings", cycles)
    return list(dict.fromkeys(found))


def warnings_of_memory(machine: Machine, cycles: int) -> list[str]:
    """What components and policies of the memory side of a machine warn of."""
    behind = _of_memory_side(machine)
    return _found(machine, cycles, lambda one: id(one) in behind)


def _of_memory_side(machine: Machine) -> set[int]:
    """The components of the memory side, and their policies, by `id`."""
    components = machine.memory_side()
    policies = [policy for one in components for _, policy in one.policies()]
    bypasses = [system.bypass for system in machine.systems]
    return {*map(id, (*components, *policies, *bypasses, *machine.frames, *machine.layouts))}


def _found(machine: Machine, cycles: int, counts: Callable[[object], bool]) -> list[str]:
    """What those components and policies of a machine warn of that count."""
    found = []
    for component in filter(counts, machine.components()):
        found += _collect(component.name, component.warnings)
    made: dict[tuple[str, type[Policy]], list[Policy]] = {}
    for key, policy in machine.policies():
        if isinstance(policy, Policy) and counts(policy):
            made.setdefault((key, type(policy)), []).append(policy)
    for (key, kind), policies in made.items():
        ending = Ending(key, cycles, machine.names)
        texts = _collect(kind.__qualname__, partial(kind.warnings, policies, ending))
        found += [f"{key}: {text}" for text in texts]
    return found


def _collect(source: str, warnings: Callable[[], Iterable[str]]) -> list[str]:
    """The warnings of one component or policy.

    If they cannot be made, that is the warning: the run is over, and its result is kept.
    """
    try:
        return [*warnings()]
    except Exception as error:  # noqa: BLE001  (users' own code may raise anything)
        return [f"{source} failed to say what it warns of: {type(error).__name__}: {error}"]
