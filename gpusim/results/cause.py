"""The likely cause why one run took longer than another, from the numbers of both.

What is looked at: in which states the warp-cycles grew (or shrank) that the slower run has more
of, the headline numbers of the component that these states wait for, and how evenly L2 banks and
DRAM channels were loaded.  Where none of it stands out, the answer says so.
"""

from __future__ import annotations

import math
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from attrs import frozen

from gpusim.core.metrics import FRACTION, INSTRUCTIONS
from gpusim.results.evidence import Evidence
from gpusim.results.load_balance import uneven_loads
from gpusim.results.quantity import format_change, format_quantity, percent
from gpusim.results.wait_reasons import Place, place_of

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result

SAME_LENGTH = 0.01
"""Runs whose lengths differ by a smaller part are as long as each other."""

SAME_WORK = 0.02
"""Runs whose warp instructions differ by a smaller part do the same."""

STANDS_OUT = 0.5
"""A component stands out if warps wait for it in this part of all warp-cycles that changed."""

CHANGED = 0.1
"""A number that changed by a smaller part explains nothing."""

POINTS = 0.03
"""Nor does a rate that changed by less than these 3 percentage points."""

_SHOWN = 3
"""Numbers, hot banks or channels, and components that are named, at most."""


@frozen
class Cause:
    """Why B is slower, or faster, than A.

    Attributes:
        sentence: in plain words; also where nothing stands out.
        waits_for: the component that stands out; empty: none does.
        part: of all warp-cycles that changed that way, those that wait for it; from 0 to 1.
        evidence: numbers of both runs that changed with it.
    """

    sentence: str
    waits_for: str = ""
    part: float = 0.0
    evidence: tuple[Evidence, ...] = ()


def likely_cause(a: Result, b: Result, summary: pd.DataFrame, stalls: pd.DataFrame) -> Cause:
    """The likely cause of the difference between two runs.

    Args:
        a: a run.
        b: the one that is compared with it.
        summary: headline numbers of both, as `Comparison` has them.
        stalls: warp-cycles of both, as `Comparison` has them.
    """
    other_work = _other_work(summary)
    lengths = summary.loc["time"]
    if not lengths.a or not lengths.b or abs(lengths.b / lengths.a - 1) < SAME_LENGTH:
        equally = f"A and B take equally long, to {percent(SAME_LENGTH)}"
        if other_work:  # as runs do that were stopped after a number of cycles
            return Cause(f"{equally}, but do other work: {other_work}; compare their rates.")
        return Cause(f"Nothing to explain: {equally}.")
    if summary.ratio["core_clock"] != 1:
        return Cause("No cause is named: with other clocks, cycles cannot be set side by side.")
    if other_work:
        return Cause(f"Likely cause: B does other work: {other_work}.")
    slower = bool(lengths.b > lengths.a)
    return _by_waits(a, b, summary, stalls, slower)


def _other_work(summary: pd.DataFrame) -> str:
    """How many warp instructions both executed, if that differs."""
    if INSTRUCTIONS not in summary.index:
        return ""
    before, after = (float(summary[run][INSTRUCTIONS]) for run in ("a", "b"))
    if not before > 0 or math.isnan(after) or abs(after / before - 1) < SAME_WORK:
        return ""
    return f"warp instructions {before:,.0f} → {after:,.0f}, {format_change(before, after)}"


def _by_waits(
    a: Result, b: Result, summary: pd.DataFrame, stalls: pd.DataFrame, slower: bool
) -> Cause:
    """The cause by what warps waited for."""
    grew = "grew" if slower else "shrank"
    places = _changes(stalls, slower)
    gross = sum(change for _, change, _, _ in places)
    if not gross:
        return Cause(f"No cause stands out: no state has warp-cycles that {grew}.")
    place, change, before, after = places[0]
    part = change / gross
    if part < STANDS_OUT:
        counts = ", ".join(
            f"{percent(one / gross)} {place.name}" for place, one, *_ in places[:_SHOWN]
        )
        return Cause(
            f"No single cause stands out. Of the warp-cycles that {grew}, by what "
            f"warps wait for: {counts}."
        )
    hot = tuple(uneven_loads(a, b, slower))
    numbers = tuple(_numbers(summary, place, slower))
    waits = f"{before:,} → {after:,} warp-cycles, {percent(part)} of all that {grew}"
    held = ", which are held until what is below is done" if place.held else ""
    texts = [*(text for text, _ in hot), *map(_sentence, numbers)]
    why = "; ".join(texts) or "none of the numbers that could tell why changed much"
    return Cause(
        f"Likely cause: waits for {place.name}{held} ({waits}): {why}.",
        place.name,
        part,
        (*(one for _, one in hot), *numbers),
    )


def _changes(stalls: pd.DataFrame, slower: bool) -> list[tuple[Place, int, int, int]]:
    """What warps waited longer for in the slower run: how much, in A, in B; most first."""
    sums: dict[Place, tuple[int, int]] = {}
    for state, before, after in stalls[["state", "a", "b"]].itertuples(index=False):
        place = place_of(state)
        so_far = sums.get(place, (0, 0))
        sums[place] = so_far[0] + before, so_far[1] + after
    found = [
        (place, (after - before) * (1 if slower else -1), before, after)
        for place, (before, after) in sums.items()
    ]
    return sorted((one for one in found if one[1] > 0), key=lambda one: -one[1])


def _numbers(summary: pd.DataFrame, place: Place, slower: bool) -> list[Evidence]:
    """Headline numbers of a place that got worse in the slower run; the largest changes first."""
    found = []
    for name, row in summary.iterrows():
        fits = any(fnmatchcase(str(name), pattern) for pattern in place.numbers)
        values = (row.a, row.b) if slower else (row.b, row.a)
        if fits and (size := _worse(*values, row.unit)):
            found.append((size, Evidence(row.description, row.a, row.b, row.unit)))
    found.sort(key=lambda one: -one[0])
    return [one for _, one in found[:_SHOWN]]


def _worse(fast: float, slow: float, unit: str) -> float:
    """How much worse a number is in the slower run, for the order; 0: not enough, or unknown.

    Rates, which are all of hits, are better the higher they are; all else, the lower.
    """
    if math.isnan(fast) or math.isnan(slow):
        return 0.0
    if unit == FRACTION:
        return max(fast - slow, 0.0) if fast - slow >= POINTS else 0.0
    if slow <= fast * (1 + CHANGED):
        return 0.0
    return math.log(slow / fast) if fast else math.inf


def _sentence(one: Evidence) -> str:
    (text_a, unit_a), (text_b, unit_b) = (
        format_quantity(value, one.unit) for value in (one.a, one.b)
    )
    first = text_a if unit_a == unit_b else f"{text_a} {unit_a}"
    return f"{one.what} {first} → {text_b} {unit_b}".rstrip()
