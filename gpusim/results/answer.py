"""The answer of a run in sentences: what translation cost it, or how long warps waited for it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpusim.core.metrics import FRACTION
from gpusim.core.states import TLB_PREFIX
from gpusim.results.quantity import format_quantity

if TYPE_CHECKING:
    from gpusim.results.result import Result

_PARTS = {"cost_faults": "page faults", "cost_walks": "page walks", "cost_tlbs": "TLBs"}
_SHARE = "share_translation"
_MOST = 0.5
"""From this share of the waits for translation on, what they are for is most of them."""


def answer(result: Result, measured_by: str = "--cost") -> str:
    """What a run says of translation, in one or two sentences.

    A cost is stated only where it was measured (`gpusim.RunOptions.cost`); else the sentence says
    in which share of their cycles warps waited, which is no cost: warps wait at the same time.

    Args:
        result: the run.
        measured_by: the option that measures it, as the reader writes it.
    """
    summary = result.summary
    share = summary.get(_SHARE)
    if share is None:
        return "No warp lived in this run."
    waits = _waits(result, share)
    if "cost_translation" not in summary:
        if not share:
            return "No warp waits for translation in this run."
        return f"{waits} What that costs the run is measured with {measured_by}."
    return f"{_cost(result)} {waits}"


def _cost(result: Result) -> str:
    """The measured cost, and its parts."""
    summary = result.summary
    cycles, ideal = (
        format_quantity(summary[name], "cycles")[0]
        for name in ("cycles", "cycles_without_translation")
    )
    parts = [
        f"{words} {_share(summary[name])}" for name, words in _PARTS.items() if name in summary
    ]
    return (
        f"Translation costs this run {_share(summary['cost_translation'])} of its "
        f"cycles{_of_apps(result, 'cost_translation')}: {cycles} with it, {ideal} without; "
        f"of that, {', '.join(parts)}.{_links(summary)}"
    )


def _links(summary: Mapping[str, float]) -> str:
    """What the links of a node cost, which are no part of translation."""
    if "cost_remote" not in summary:
        return ""
    return f" The links between its GPUs cost {_share(summary['cost_remote'])}."


def _waits(result: Result, share: float) -> str:
    """In which share of their cycles warps waited, and for what most."""
    if not share:
        return "No warp waits for it."
    what, part = _largest(result)
    most = "most of it" if part > _MOST else "the largest part"
    return (
        f"Warps wait for translation in {_share(share)} of their "
        f"cycles{_of_apps(result, _SHARE)}, {most} for {what}."
    )


def _of_apps(result: Result, number: str) -> str:
    """A share of each of several applications, in brackets; empty if there is one."""
    each = [
        f"{_share(value)} of {name.rpartition('/')[0]}'s"
        for name, value in result.summary.items()
        if name.endswith(f"/{number}")
    ]
    return f" ({', '.join(each)})" if each else ""


def _share(value: float) -> str:
    return " ".join(format_quantity(value, FRACTION))


def _largest(result: Result) -> tuple[str, float]:
    """For what warps wait longest of all waits for translation, in words, and its part of them."""
    names = [result.states[state] for state in result.translation_states]
    cycles = {name: sum(sums[name] for sums in result.state_cycles.values()) for name in names}
    largest = max(cycles, key=cycles.__getitem__)
    return _words(result, largest), cycles[largest] / max(sum(cycles.values()), 1)


def _words(result: Result, state: str) -> str:
    if state.startswith(TLB_PREFIX):
        return f"the {state.removeprefix(TLB_PREFIX)} TLB"
    if state == "walker":
        walkers = tomllib.loads(result.config_toml).get("walk", {}).get("walkers", 0)
        return f"one of {walkers} walkers" if walkers > 1 else "the walker"
    return {"walk": "page walks under way", "fault": "page faults"}.get(state, state)
