"""What a user should know of a run that went well: what could not do anything in it, above all."""

from __future__ import annotations

from gpusim.core.policy import Ending, Policy
from gpusim.machine.machine import Machine


def warnings_of(machine: Machine, cycles: int) -> list[str]:
    """What components and policies of a machine warn of, each once.

    Args:
        machine: one that has run.
        cycles: length of the run.
    """
    found = [text for component in machine.components() for text in component.warnings()]
    made: dict[tuple[str, type[Policy]], list[Policy]] = {}
    for key, policy in machine.policies():
        if isinstance(policy, Policy):
            made.setdefault((key, type(policy)), []).append(policy)
    for (key, kind), policies in made.items():
        ending = Ending(key, cycles, machine.names)
        found += (f"{key}: {text}" for text in kind.warnings(policies, ending))
    return list(dict.fromkeys(found))
