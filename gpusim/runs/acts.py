"""How often policies acted in a run, of those that say it: counters of results."""

from __future__ import annotations

from typing import Final

from gpusim.core.counters import CounterRow
from gpusim.core.policy import Policy
from gpusim.machine.machine import Machine
from gpusim.results.datasets import ACTS

ACTED: Final = "acted"
"""The counter's name."""


def acts_of(machine: Machine) -> tuple[list[CounterRow], list[str]]:
    """A counter for each key and class of policies that say how often they acted; and warnings.

    What a user's policy raises is a warning: the run is over, and its result is kept.
    """
    totals, warnings = own_acts(machine)
    if machine.apart is not None:
        there, warned = machine.apart.ask("acts")
        totals = {path: total + there[path] for path, total in totals.items()}
        warnings += warned
    about = "times that it decided otherwise than if it were not there"
    rows = [
        CounterRow(path, 0, "", ACTED, total, "1", about, later=True)
        for path, total in totals.items()
    ]
    return rows, list(dict.fromkeys(warnings))


def own_acts(machine: Machine) -> tuple[dict[str, int], list[str]]:
    """How often policies acted in this process, by path; and warnings."""
    totals: dict[str, int] = {}
    warnings = []
    for key, policy in machine.policies():
        if not isinstance(policy, Policy):
            continue
        path = f"{ACTS}{key}/{type(policy).__qualname__}"
        try:
            acted = policy.acted()
        except Exception as error:  # noqa: BLE001  (users' own code may raise anything)
            warnings.append(
                f"{path} failed to say how often it acted: {type(error).__name__}: {error}"
            )
            continue
        if acted is not None:
            totals[path] = totals.get(path, 0) + acted
    return totals, warnings
