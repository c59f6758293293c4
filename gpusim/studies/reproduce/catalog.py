"""Which figures there are, and which of them ids mean."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec

from gpusim.core.errors import UserError, nearest
from gpusim.files.shipped import data_folder
from gpusim.studies.reproduce.claims import Paper, papers
from gpusim.studies.reproduce.figure import Figure

PACKAGE = "_gpusim_experiments"
"""The shipped folder of experiments as a package: the user may have one called ``experiments``."""


def figures_of(paper: Paper) -> tuple[Figure, ...]:
    """The figures of a paper, in the order of its page."""
    if PACKAGE not in sys.modules:
        spec = ModuleSpec(PACKAGE, None, is_package=True)
        spec.submodule_search_locations = [str(data_folder("experiments"))]
        sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
    modules = (importlib.import_module(f"{PACKAGE}.{paper.folder}.{n}") for n in paper.figures)
    return tuple(module.FIGURE for module in modules)


def choose(ids: Iterable[str]) -> list[tuple[Paper, list[Figure]]]:
    """The figures that ids mean, of each paper that has some.

    An id is that of a figure or a claim, or the beginning of one, whole words long; a claim means
    the figure that measures it.  Without ids, all of them.

    Raises:
        UserError: an id means nothing.
    """
    wanted = list(ids)
    known = [name for paper in papers() for name in _names(paper)]
    for one in wanted:
        if not any(_begins(name, one) for name in known):
            names = [figure.id for paper in papers() for figure in figures_of(paper)]
            raise UserError(
                f"there is no figure or claim {one!r}{nearest(one, known)}; "
                f"figures: {', '.join(names)}"
            )
    chosen = []
    for paper in papers():
        figures = [
            figure
            for figure in figures_of(paper)
            if any(means(name, wanted) for name in (figure.id, *figure.claims))
        ]
        if figures or any(means(claim.id, wanted) for claim in paper.claim):
            chosen.append((paper, figures))
    return chosen


def means(name: str, ids: Iterable[str]) -> bool:
    """Whether some ids mean a figure or a claim; no ids mean all."""
    wanted = list(ids)
    return not wanted or any(_begins(name, one) for one in wanted)


def _names(paper: Paper) -> list[str]:
    figures = [figure.id for figure in figures_of(paper)]
    return [paper.paper, *figures, *(claim.id for claim in paper.claim)]


def _begins(name: str, beginning: str) -> bool:
    return name == beginning or name.startswith(f"{beginning}.")
