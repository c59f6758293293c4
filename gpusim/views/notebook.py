"""A run as a notebook shows it: the answer, one bar of its stalls by name, the first numbers."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from gpusim.core.notebook import html_facts
from gpusim.results.answer import answer
from gpusim.results.inconsistent_file import misread
from gpusim.results.quantity import first_names, format_quantity, percent
from gpusim.views.plots.colours import state_colours

if TYPE_CHECKING:
    from gpusim.results.result import Result

_HEIGHT = 22
"""Of the bar, in pixels."""

_BOX = "width: .7em; height: .7em; margin-right: .3em"
"""Of a colour in the legend."""

_NAME = "margin-right: 1rem; white-space: nowrap"

_LEAST = 0.005
"""Share of a state below which it is no part of the bar."""

_LEAST_NAMED = 0.02
"""Share of a state below which the legend leaves it out: pointing at its part names it, too."""


def notebook_view(result: Result) -> str:
    """HTML of a run.

    Raises:
        UserError: the result is damaged.
    """
    with misread(result):
        descriptions, units = result.summary_descriptions, result.summary_units
        numbers = {
            descriptions[name]: " ".join(format_quantity(result.summary[name], units[name])).strip()
            for name in result.summary
            if name in first_names(result.summary)
        }
        sentence = escape(answer(result, measured_by="cost=True"))
        title = f"<b>{escape(result.provenance.title)}</b>"
        return f"<p>{title}<br>{sentence}</p>{_bar(result)}{html_facts('', numbers)}"


def _bar(result: Result) -> str:
    """The warp-cycles of all applications together, by state, those of a family side by side."""
    shares = _shares(result)
    colours = state_colours(result.states, own=True)
    parts, names = [], []
    for name, share in shares.items():
        text, colour = f"{escape(name)} {percent(share, 1)}", f"background: {colours[name]}"
        if share >= _LEAST:
            parts.append(f'<span title="{text}" style="flex: {share:.4f} 1 0; {colour}"></span>')
        if share >= _LEAST_NAMED:
            box = f'<span style="display: inline-block; {_BOX}; {colour}"></span>'
            names.append(
                f'<span style="margin-right: 1rem; white-space: nowrap">{box}{text}</span>'
            )
    bar = f'<div style="display: flex; height: {_HEIGHT}px">{"".join(parts)}</div>'
    return f'<div style="max-width: 60rem">{bar}<div>{" ".join(names)}</div></div>'


def _shares(result: Result) -> dict[str, float]:
    """The shares of states, those of a family side by side; empty: no warp has lived."""
    sums: dict[str, int] = {}
    for cycles in result.state_cycles.values():
        for state, count in cycles.items():
            sums[state] = sums.get(state, 0) + count
    total = sum(sums.values())
    if not total:
        return {}
    order = sorted(range(len(result.states)), key=lambda state: result.families[state])
    return {name: sums[name] / total for name in (result.states[state] for state in order)}
