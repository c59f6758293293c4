"""What stalled L2 banks are to blame for of the warps' waits for the crossbar and the L2 cache."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusim.results.quantity import percent

if TYPE_CHECKING:
    from gpusim.results.result import Result

_STATES = {"interconnect": "behind", "l2": "at"}
"""The states that have such parts, and how the names of their counters begin."""

_CAUSES = {
    "merge_lists": "full merge lists",
    "mshrs": "MSHRs that were all taken",
    "dram": "a way to DRAM that was full",
    "replies": "a way back that was full",
}
"""Why a bank was stalled, in words, by the names of its counters."""

_LEAST = 0.01
"""A smaller part of a state is left out."""


def bank_waits(result: Result) -> Iterator[tuple[str, str]]:
    """States of warps, and which part of each stalled L2 banks are to blame for, in words."""
    counted: Counter[str] = Counter()
    for by_app in result.counter_tree().get("sm", {}).values():
        for counters in by_app.values():
            counted.update(counters)
    cycles: Counter[str] = Counter()
    for states in result.state_cycles.values():
        cycles.update(states)
    for state, where in _STATES.items():
        whole = cycles[state]
        parts = {
            words: counted[f"{where}_{name}"] / whole for name, words in _CAUSES.items() if whole
        }
        shown = [
            f"{percent(part)} {where} {words} of L2 banks"
            for words, part in sorted(parts.items(), key=lambda one: -one[1])
            if part >= _LEAST
        ]
        if shown:
            yield state, ", ".join(shown)
