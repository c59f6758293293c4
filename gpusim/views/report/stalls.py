"""Where the cycles went: a bar for each application, and a table of states by family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.states import TLB_PREFIX, State
from gpusim.results.quantity import percent
from gpusim.results.wait_roots import wait_roots
from gpusim.views.plots import state_colours
from gpusim.views.report.table import Cell, Group, Row, Table, whole

if TYPE_CHECKING:
    from gpusim.results import Result

_WORDS = {
    "working": "working, or ready to",
    "sm": "waiting inside the SM",
    "memory": "waiting for memory",
    "translation": "waiting for translation",
}
_MEANINGS: Mapping[int, str] = {
    State.ISSUING: "issues a memory, barrier or shared-memory instruction",
    State.COMPUTING: "issues arithmetic",
    State.READY: "could issue, but its scheduler chose another warp",
    State.LSU: "waits for the load/store unit",
    State.BARRIER: "waits for the other warps of its block",
    State.SHARED: "waits for shared memory",
    State.CREDIT: "has too many stores on their way",
    State.MSHR: "waits for a free MSHR",
    State.CACHE: "waits for the L1 cache",
    State.INTERCONNECT: "waits for the crossbar, both directions",
    State.L2: "waits for an L2 bank",
    State.DRAM_QUEUE: "waits in the queue of a DRAM channel",
    State.DRAM: "waits for DRAM commands and data",
    State.WALKER: "its page walk waits for a free walker",
    State.WALK: "its page walk is under way",
}
_TLB_MEANING = "waits for this TLB level: its ports, its queue, its latency"
_OWN_MEANING = "a state that a component of the user's own adds"

_LETTER = 0.0075
"""Width of a letter in a bar, in widths of the bar."""

_DARK = 0.4
"""Brightness below which a colour needs white letters."""


@frozen
class Part:
    """A part of a bar; `start` and `width` are in percent of it.

    Attributes:
        name: of the state.
        share: of the bar, for the eye.
        start: where it begins.
        width: how long it is.
        colour: of the state.
        ink: colour of letters on it.
        hatched: whether it is a wait for translation.
        fits: whether there is room for its name.
    """

    name: str
    share: str
    start: float
    width: float
    colour: str
    ink: str
    hatched: bool
    fits: bool


@frozen
class Bar:
    """The warp-cycles of an application; `text` tells the shares of the families in words."""

    app: str
    text: str
    parts: list[Part]


def stall_bars(result: Result) -> list[Bar]:
    """A bar an application, in the order of the table; without those that had no warps."""
    bars = []
    for app, cycles in _by_app(result).items():
        total = cycles.sum()
        if total:
            text = ", ".join(
                f"{name} {percent(cycles[states].sum() / total, 1)}"
                for name, states in _families(result).items()
            )
            bars.append(Bar(app, text, _parts(result, cycles / total)))
    return bars


def stall_table(result: Result) -> Table:
    """Warp-cycles and shares by family and state; states that no warp was in are left out."""
    apps = _by_app(result)
    colours = state_colours(result.states, own=True)
    groups, waits = [], _roots(result)
    for name, states in _families(result).items():
        rows: list[Row] = []
        for state in _ordered(result, states):
            label = Cell(
                result.states[state],
                colour=colours[result.states[state]],
                hatched=state in result.translation_states,
            )
            parts = waits.get(result.states[state])
            addition = f"; {parts}" if parts else ""
            rows.append((label, _meaning(result, state) + addition, *_amounts(apps, [state])))
        if rows:
            groups.append(Group(rows, name, _amounts(apps, states)))
    before = [f"{app} " if len(apps) > 1 else "" for app in apps]
    return Table(
        "Where the warps’ cycles went",
        ("state", "a warp in it"),
        tuple(f"{app}{number}" for app in before for number in ("warp-cycles", "share")),
        groups,
    )


def _parts(result: Result, shares: NDArray[np.float64]) -> list[Part]:
    colours = state_colours(result.states, own=True)
    parts, start = [], 0.0
    for states in _families(result).values():
        for state in _ordered(result, states):
            share = float(shares[state])
            name = result.states[state]
            parts.append(
                Part(
                    name=name,
                    share=percent(share, 1),
                    start=round(100 * start, 4),
                    width=round(100 * share, 4),
                    colour=colours[name],
                    ink="#fff" if _brightness(colours[name]) < _DARK else "#000",
                    hatched=state in result.translation_states,
                    fits=share > _LETTER * (len(name) + 1),
                )
            )
            start += share
    return parts


def _by_app(result: Result) -> dict[str, NDArray[np.int64]]:
    """Warp-cycles in each state, by application."""
    sums = result.stall_sums.sum("sm")
    return {str(app): sums.sel(app=app).to_numpy() for app in sums.app.to_numpy()}


def _families(result: Result) -> dict[str, list[int]]:
    """The states that have something in common, by what that is."""
    return {
        words: [state for state, family in enumerate(result.families) if family == name]
        for name, words in _WORDS.items()
    }


def _roots(result: Result) -> dict[str, str]:
    """What the waits of states come down to, by state."""
    return {state: text for names, text in wait_roots(result) for state in names.split(" and ")}


def _meaning(result: Result, state: int) -> str:
    if result.states[state].startswith(TLB_PREFIX):
        return _TLB_MEANING
    return _MEANINGS.get(state, _OWN_MEANING)


def _ordered(result: Result, states: Sequence[int]) -> list[int]:
    """States of a family that some warp was in, the largest first."""
    cycles = result.stall_sums.sum(("sm", "app")).to_numpy()
    present = [state for state in states if cycles[state]]
    return sorted(present, key=lambda state: -int(cycles[state]))


def _amounts(apps: Mapping[str, NDArray[np.int64]], states: Sequence[int]) -> list[str]:
    """Warp-cycles of some states together and their share, for each application."""
    amounts = []
    for cycles in apps.values():
        spent = int(cycles[list(states)].sum())
        amounts += [whole(spent), percent(spent / max(int(cycles.sum()), 1), 1)]
    return amounts


def _brightness(colour: str) -> float:
    """How bright a colour ``#RRGGBB`` looks, 0 to 1 (ITU-R BT.601)."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255
