"""A figure's picture, with the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from gpusim.views.plots import Stated, stated_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from gpusim.studies.reproduce.run import Judged, Outcome


def draw(found: Outcome) -> Picture:
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
