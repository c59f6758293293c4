"""What stalled L2 banks are to blame for of the warps' waits for the crossbar and the L2 cache."""

from __future__ import annotations

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
    of_sms = result.counters[result.counters.component == "sm"]
    counted = of_sms.groupby("counter")["value"].sum()
    cycles = result.stalls.groupby("state")["warp_cycles"].sum()
    for state, where in _STATES.items():
        whole = int(cycles.get(state, 0))
        parts = {
            words: int(counted.get(f"{where}_{name}", 0)) / whole
            for name, words in _CAUSES.items()
            if whole
        }
        shown = [
            f"{percent(part)} {where} {words} of L2 banks"
            for words, part in sorted(parts.items(), key=lambda one: -one[1])
            if part >= _LEAST
        ]
        if shown:
            yield state, ", ".join(shown)
