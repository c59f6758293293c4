"""A run as a notebook shows it: the answer, one bar of its stalls, and the first numbers."""

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

_LEAST = 0.005
"""Share of a state below which it is no part of the bar."""


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
        return f"<p>{sentence}</p>{_bar(result)}{html_facts(result.provenance.title, numbers)}"


def _bar(result: Result) -> str:
    """The warp-cycles of all applications together, by state, those of a family side by side."""
    sums: dict[str, int] = {}
    for cycles in result.state_cycles.values():
        for state, count in cycles.items():
            sums[state] = sums.get(state, 0) + count
    total = sum(sums.values())
    if not total:
        return ""
    order = sorted(range(len(result.states)), key=lambda state: result.families[state])
    colours = state_colours(result.states, own=True)
    parts = []
    for name in (result.states[state] for state in order):
        share = sums[name] / total
        if share >= _LEAST:
            parts.append(
                f'<span title="{escape(name)} {percent(share, 1)}" style="flex: {share:.4f} 1 0; '
                f'background: {colours[name]}"></span>'
            )
    return (
        f'<div style="display: flex; height: {_HEIGHT}px; max-width: 60rem">{"".join(parts)}</div>'
    )
