"""Causes of waits: what warps waited for in the end, where they waited for what others held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpusim.core.states import TLB_PREFIX
from gpusim.results.quantity import percent

if TYPE_CHECKING:
    from gpusim.results.result import Result

_BANKS = {"interconnect": "behind", "l2": "at"}
"""States for which stalled L2 banks may be to blame, and how the names of their counters begin."""

_CAUSES = {
    "merge_lists": "full merge lists of L2 banks",
    "mshrs": "L2 banks without a free MSHR",
    "dram": "L2 banks whose way to DRAM is full",
    "replies": "L2 banks whose way back is full",
}
"""Why a bank was stalled, in words, by the names of counters."""

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
"""What a chain ends at, in words, by the names of counters; other ends are left out."""

_LEAST = 0.01
"""A smaller part of a state is left out."""

_LEAST_STATE = 0.02
"""A state that takes a smaller share of all warp-cycles is left out."""


def wait_roots(result: Result) -> Iterator[tuple[str, str]]:
    """States of warps, and what their waits come down to, in words; chains are followed.

    Of the crossbar and the L2 cache it is what stalled L2 banks are to blame for; of MSHRs, store
    credits and the first TLB, what held them; of walkers and walks, the page table's reads.
    """
    cycles: Counter[str] = Counter()
    for states in result.state_cycles.values():
        cycles.update(states)
    tree = result.counter_tree()
    waits = _sums(tree.get("sm", {}))
    yield from _bank_waits(waits, cycles)
    yield from _held_waits(waits, cycles, result.states)
    yield from _walk_waits(_sums(tree.get("walk", {})), cycles)


def _bank_waits(waits: Mapping[str, int], cycles: Counter[str]) -> Iterator[tuple[str, str]]:
    """Parts of waits for the crossbar and the L2 cache."""
    for state, where in _BANKS.items():
        words = {name: f"{where} {why}" for name, why in _CAUSES.items()}
        if parts := _parts(waits, f"{where}_", cycles[state], words):
            yield state, parts


def _held_waits(
    waits: Mapping[str, int], cycles: Counter[str], states: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Parts of waits for what others held."""
    first = next((state for state in states if state.startswith(TLB_PREFIX)), "")
    for state in ("mshr", "credit", first):
        if _is_small(cycles[state], cycles):
            continue
        prefix, holders = _HOLDERS[TLB_PREFIX if state == first else state]
        if parts := _parts(waits, f"{prefix}_", cycles[state], _ROOTS):
            yield state, f"{holders} {parts}"


def _walk_waits(reads: Mapping[str, int], cycles: Counter[str]) -> Iterator[tuple[str, str]]:
    """Parts of the page table's reads."""
    total = sum(count for name, count in reads.items() if name.startswith("reads_"))
    parts = _parts(reads, "reads_", total, {**_ROOTS, "other": "on the way there"})
    if parts and not _is_small(cycles["walker"] + cycles["walk"], cycles):
        yield ("walker and walk" if cycles["walker"] else "walk"), f"page-table reads wait {parts}"


def _is_small(some: int, cycles: Counter[str]) -> bool:
    """Whether some warp-cycles are too small a share of all of them to be mentioned."""
    return some < _LEAST_STATE * max(sum(cycles.values()), 1)


def _parts(counts: Mapping[str, int], prefix: str, whole: int, words: Mapping[str, str]) -> str:
    """Shares of a whole, the largest first: ``"71 % for DRAM, 12 % at L2 banks"``."""
    shares = {text: counts.get(prefix + name, 0) / whole for name, text in words.items() if whole}
    return ", ".join(
        f"{percent(share)} {text}"
        for text, share in sorted(shares.items(), key=lambda one: -one[1])
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
