"""The catalog of figures, and which of them given ids mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType

from gpusim.core.errors import UserError, nearest
from gpusim.core.module_folders import import_all, import_from_folder
from gpusim.files.shipped import data_folder
from gpusim.studies.reproduce.claims import Paper, papers
from gpusim.studies.reproduce.figure import Figure

PACKAGE = "_gpusim_experiments"
"""The shipped folder of experiments as a package: the user may have one called ``experiments``."""


def figures_of(paper: Paper) -> tuple[Figure, ...]:
    """The figures of a paper in the order of its page: all that the modules of its folder have.

    Raises:
        UserError: a claim is measured by no figure, two figures have one id, one comes after a
            figure that there is not, or choices are to be tried on a workload that no figure runs.
    """
    figures: dict[str, Figure] = {}
    for module in _modules(paper.folder):
        for value in vars(module).values():
            if isinstance(value, Figure) and figures.setdefault(value.id, value) is not value:
                raise UserError(f"{module.__file__}: there are several figures {value.id!r}")
    _check(paper, figures)
    ordered = tuple(_in_order(paper, figures.values()))
    if left := sorted(figures.keys() - {figure.id for figure in ordered}):
        raise UserError(f"experiments/{paper.folder}: come after each other: {', '.join(left)}")
    return ordered


def _modules(folder: str) -> list[ModuleType]:
    """The modules of a paper's folder."""
    package = import_from_folder(data_folder("experiments"), PACKAGE, folder)
    return import_all(package.__name__)


def _check(paper: Paper, figures: Mapping[str, Figure]) -> None:
    measured = {claim for name in figures for claim in paper.claims_of(name)}
    for claim in paper.claim:
        if claim not in measured and not claim.reason:
            raise UserError(
                f"experiments/claims/{paper.name}.toml: {claim.id}: no figure measures it"
                f"{nearest(claim.figure, figures)}; figures: {', '.join(figures)}"
            )
    for figure in figures.values():
        if figure.after and figure.after not in figures:
            raise UserError(
                f"experiments/{paper.folder}: {figure.id} comes after {figure.after!r}"
                f"{nearest(figure.after, figures)}; figures: {', '.join(figures)}"
            )
    programs = {
        name for one in figures.values() for sweep in one.sweeps for name in sweep.workloads
    }
    for name in paper.study.workloads:
        if name not in programs:
            raise UserError(
                f"experiments/claims/{paper.name}.toml: study.workloads: no figure runs {name!r}"
                f"{nearest(name, programs)}"
            )


def _in_order(paper: Paper, figures: Iterable[Figure]) -> Iterator[Figure]:
    """By the first claim of each; those that come after another one right behind it."""
    place = {claim.id: number for number, claim in enumerate(paper.claim)}

    def first_claim(figure: Figure) -> int:
        return min((place[claim.id] for claim in paper.claims_of(figure.id)), default=-1)

    followers: dict[str, list[Figure]] = {}
    for figure in sorted(figures, key=first_claim):
        followers.setdefault(figure.after, []).append(figure)

    def after(name: str) -> Iterator[Figure]:
        for figure in followers.get(name, ()):
            yield figure
            yield from after(figure.id)

    return after("")


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
            if any(means(name, wanted) for name in _names_of(paper, figure))
        ]
        if figures or any(means(claim.id, wanted) for claim in paper.claim):
            chosen.append((paper, figures))
    return chosen


def means(name: str, ids: Iterable[str]) -> bool:
    """Whether some ids mean a figure or a claim; no ids mean all."""
    wanted = list(ids)
    return not wanted or any(_begins(name, one) for one in wanted)


def _names_of(paper: Paper, figure: Figure) -> list[str]:
    return [figure.id, *(claim.id for claim in paper.claims_of(figure.id))]


def _names(paper: Paper) -> list[str]:
    figures = [figure.id for figure in figures_of(paper)]
    return [paper.paper, *figures, *(claim.id for claim in paper.claim)]


def _begins(name: str, beginning: str) -> bool:
    return name == beginning or name.startswith(f"{beginning}.")
