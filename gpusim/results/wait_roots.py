"""Chains of waits: what warps waited for in the end, where they waited for what others held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gpusim.core.states import TLB_PREFIX
from gpusim.results.bank_waits import bank_waits
from gpusim.results.quantity import percent

if TYPE_CHECKING:
    from gpusim.results.result import Result

_HOLDERS = {
    "mshr": ("mshr", "lines that hold the MSHRs wait"),
    "credit": ("credit", "stores that hold the credits wait"),
    TLB_PREFIX: ("tlb", "translations that hold its MSHRs wait"),
}
"""States for what others hold, with how their counters begin, and the holders in words."""

_ROOTS = {
    "crossbar": "in the crossbar",
    "l2": "at L2 banks",
    "dram": "for DRAM",
    "walkers": "for walkers",
    "walks": "for page walks under way",
}
"""What a chain ends at, in words, by the names of counters; the rest is not told."""

_LEAST = 0.01
"""A smaller part of a state is left out."""

_LEAST_STATE = 0.02
"""A state that takes a smaller share of all warp-cycles is left out."""


def wait_roots(result: Result) -> Iterator[tuple[str, str]]:
    """States of warps, and what their waits come down to, in words; chains are followed.

    Of the crossbar and the L2 cache it is what stalled L2 banks are to blame for; of MSHRs, store
    credits and the first TLB, what held them; of walkers and walks, the page table's reads.
    """
    yield from bank_waits(result)
    cycles: Counter[str] = Counter()
    for states in result.state_cycles.values():
        cycles.update(states)
    whole = max(sum(cycles.values()), 1)
    tree = result.counter_tree()
    held = _sums(tree.get("sm", {}))
    first = next((state for state in result.states if state.startswith(TLB_PREFIX)), "")
    for state in ("mshr", "credit", first):
        if cycles[state] < _LEAST_STATE * whole:
            continue
        prefix, holders = _HOLDERS[TLB_PREFIX if state == first else state]
        parts = _parts(held, f"{prefix}_", cycles[state])
        if parts:
            yield state, f"{holders} {parts}"
    walking = cycles["walker"] + cycles["walk"]
    reads = _sums(tree.get("walk", {}))
    total = sum(count for name, count in reads.items() if name.startswith("reads_"))
    parts = _parts(reads, "reads_", total, {**_ROOTS, "other": "on the way there"})
    if walking >= _LEAST_STATE * whole and parts:
        yield ("walker and walk" if cycles["walker"] else "walk"), f"page-table reads wait {parts}"


def _parts(
    counts: Mapping[str, int], prefix: str, whole: int, roots: Mapping[str, str] = _ROOTS
) -> str:
    """Shares of a whole, the largest first: ``"71 % for DRAM, 12 % at L2 banks"``."""
    shares = {words: counts.get(prefix + root, 0) / whole for root, words in roots.items() if whole}
    return ", ".join(
        f"{percent(share)} {words}"
        for words, share in sorted(shares.items(), key=lambda one: -one[1])
        if share >= _LEAST
    )


def _sums(instances: Mapping[int | str, Any]) -> Counter[str]:
    """Counters of a component, summed over instances and applications.

    Components below it, such as the walkers of a prefetcher, stand beside its instances by name.
    """
    counted: Counter[str] = Counter()
    for instance, by_app in instances.items():
        if isinstance(instance, int):
            for counters in by_app.values():
                counted.update(counters)
    return counted
