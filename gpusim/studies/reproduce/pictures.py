"""Pictures of figures: the usual kinds, and the paper's numbers below them, beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from gpusim.studies.reproduce.tables import AVERAGE, Change, unchanged
from gpusim.views.plots import (
    Rows,
    Stated,
    bar_groups,
    height_of_dots,
    new_figure,
    save,
    sorted_dots,
    stated_below,
    sweep_lines,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from gpusim.studies.reproduce.run import Judged, Outcome

CROWDED = 20
"""Bars of more programs than this are too thin to read: they become rows of dots."""

HEIGHT = 2.4
"""Inches of a panel."""


@frozen
class Bars:
    """A picture, or a panel of one: programs by designs.

    Attributes:
        label: of the numbers.
        of: what of the figure's table is drawn: a row a program; rows that begin with `AVERAGE`
            are means over them.
        line: a column that is a line at 1, by which the others are divided; None: the numbers
            themselves.
        geomean: geometric means over the programs, too.
        limit: end of the axis; what is beyond tells its value.
        height: of the panel, in inches.
    """

    label: str
    of: Change = unchanged
    line: str | None = None
    geomean: bool = False
    limit: float | None = None
    height: float = HEIGHT

    def __call__(self, table: pd.DataFrame) -> Picture:
        """The picture of this panel alone."""
        return panels(self)(table)


def panels(*parts: Bars) -> Callable[[pd.DataFrame], Picture]:
    """Panels of bars below each other, all of the same programs.

    More than `CROWDED` programs become rows of dots, the panels side by side, sorted by the last
    design of the last one.
    """

    def draw(table: pd.DataFrame) -> Picture:
        shown = [(part, part.of(table)) for part in parts]
        programs, means = _rows(shown[-1][1])
        if len(programs) <= CROWDED:
            return _groups(shown)
        return _dots(shown, [*_by_last(*shown[-1], programs), *means])

    return draw


def _groups(shown: list[tuple[Bars, pd.DataFrame]]) -> Picture:
    figure = new_figure("page", height=sum(part.height for part, _ in shown))
    places = figure.subplots(len(shown), squeeze=False).flat
    for (part, table), axes in zip(shown, places, strict=True):
        bar_groups(
            table,
            baseline=part.line,
            geomean=part.geomean,
            limit=part.limit,
            ylabel=part.label,
            ax=axes,
        )
    return figure


def _dots(shown: list[tuple[Bars, pd.DataFrame]], order: list[str]) -> Picture:
    rows = len(order) + any(part.geomean for part, _ in shown)
    means = [name for name in order if _is_mean(name)]
    figure = new_figure("page", height=height_of_dots(rows))
    places = figure.subplots(1, len(shown), squeeze=False).flat
    for (part, table), axes in zip(shown, places, strict=True):
        sorted_dots(
            table.loc[order],
            baseline=part.line,
            geomean=part.geomean,
            rows=Rows(sort=False, means=means),
            limit=part.limit,
            xlabel=part.label,
            ax=axes,
        )
        axes.set_ylim(rows - 0.4, -0.6)  # as high in all panels
    return figure


def _by_last(part: Bars, table: pd.DataFrame, programs: list[str]) -> list[str]:
    """The programs by the last design."""
    designs = table.drop(columns=part.line or [])
    by_last = designs.loc[programs].sort_values(designs.columns[-1], ascending=False, kind="stable")
    return list(by_last.index)


def _rows(table: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Names of the programs, and of the means over them."""
    means = [name for name in table.index if _is_mean(name)]
    return [name for name in table.index if name not in means], means


def _is_mean(name: object) -> bool:
    return str(name).startswith(AVERAGE)


@frozen
class Lines:
    """A picture: a line a column over a parameter.

    Attributes:
        xlabel: of the parameter.
        ylabel: of the numbers.
        of: what of the figure's table is drawn: a row a value of the parameter.
        height: in inches.
    """

    xlabel: str
    ylabel: str
    of: Change = unchanged
    height: float = HEIGHT

    def __call__(self, table: pd.DataFrame) -> Picture:
        """The picture."""
        figure = new_figure("page", height=self.height)
        sweep_lines(self.of(table), xlabel=self.xlabel, ylabel=self.ylabel, ax=figure.subplots())
        return figure


def save_picture(found: Outcome, folder: Path, kind: str = "png") -> Path | None:
    """Draw a figure as ``ID.KIND``, the paper's numbers beside ours; nothing if it has no table.

    Raises:
        UserError: it cannot be written.
    """
    if found.table is None:
        return None
    path = folder / f"{found.figure.id}.{kind}"
    save(draw_compared(found), path)
    return path


def draw_compared(found: Outcome) -> Picture:
    """The picture of a figure that has a table; below it what the paper states, and ours."""
    assert found.table is not None
    picture = found.figure.draw(found.table)
    rows = [row for one in found.claims for row in stated(one)]
    if rows:
        stated_below(picture, rows)
    return picture


def stated(one: Judged) -> Iterator[Stated]:
    """The numbers of a claim, by its name without those of paper and figure."""
    claim = one.claim
    name = claim.id.rpartition(".")[2].replace("_", " ")
    units = claim.unit.split(", ")
    ours = () if one.measured is None else one.measured.values
    for index, (theirs, mine) in enumerate(
        zip_longest(claim.values, ours[: len(claim.values)], fillvalue=float("nan"))
    ):
        yield Stated(
            f"{name} [{index + 1}]" if len(claim.values) > 1 else name,
            units[index] if len(units) == len(claim.values) else claim.unit,
            theirs,
            mine,
        )
