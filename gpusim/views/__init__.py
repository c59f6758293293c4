"""Views of results: timelines, reports, traces for other tools, plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.results.views import register_view

if TYPE_CHECKING:
    from gpusim.results.result import Result
    from gpusim.views.explore import Exploration


def _explore(result: Result, *others: Result, begin: int, end: int | None) -> Exploration:
    """`gpusim.views.explore.explore`, imported when it is called for."""
    from gpusim.views.explore import explore

    return explore(result, *others, begin=begin, end=end)


def _notebook(result: Result) -> str:
    """`gpusim.views.notebook.notebook_view`, imported when it is called for."""
    from gpusim.views.notebook import notebook_view

    return notebook_view(result)


register_view("explore", _explore)
register_view("notebook", _notebook)
