"""The choices of a paper on its page: sources, the calibration by each reading, sensitivities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from gpusim.studies.reproduce.choices import Choice, Reading
from gpusim.studies.reproduce.claims import Claim, Paper, Role
from gpusim.studies.reproduce.markdown import markdown
from gpusim.studies.reproduce.sensitivity import (
    Sensitivity,
    Variation,
    idle_text,
    value_of,
    values_of,
)
from gpusim.studies.reproduce.verdict import Verdict
from gpusim.views.plots import new_figure, style, tornado
from gpusim.views.plots.labels import number_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_MARKS = {
    Verdict.AGREES: "✓",
    Verdict.DIRECTION: "~",
    Verdict.DIFFERS: "✗",
    Verdict.NOT_IMPLIED: "≰",
    Verdict.NOT_MEASURED: "–",
}
_PANELS = 3
"""Tornadoes side by side."""
_LONG = 34


def sources(paper: Paper, table: str) -> Iterator[str]:
    """What is open, how it may be read, what was taken, and how good the sources are.

    Args:
        paper: whose choices they are.
        table: where the table of the sources is, from the page.
    """
    if not paper.choice:
        return
    yield from ("## What the paper leaves open", "")
    frozen = f"Frozen in commit `{paper.frozen}`" if paper.frozen else "Not frozen yet"
    yield (
        f"{frozen}, chosen by *calibration* claims alone. [Sources]({table}): A, released code or "
        "data; B, a paper; C, inferred; D, from memory, or our own."
    )
    yield ""
    rows = [
        (one.name, one.about, _read(one.taken), "; ".join(map(_read, one.others)))
        for one in paper.choice
    ]
    yield from markdown(("choice", "what is open", "taken", "other readings"), rows)


def _read(reading: Reading) -> str:
    return f"{reading.name} ({reading.grade})"


def readings(paper: Paper) -> list[tuple[str, ...]]:
    """Every reading of every choice with its source, and what it sets: a table beside the page."""
    head = ("choice", "what is open", "reading", "taken", "source", "grade", "sets")
    return [head, *(row for choice in paper.choice for row in _rows(choice))]


def _rows(choice: Choice) -> Iterator[tuple[str, ...]]:
    for one in choice.reading:
        sets = ", ".join(f"{key} = {value}" for key, value in {**one.set, **one.variants}.items())
        taken = "yes" if one.taken else ""
        yield choice.name, choice.about, one.name, taken, one.source, one.grade, sets


def sensitivity_part(
    paper: Paper, sensitivity: Sensitivity, scale: str, picture: str, table: str
) -> Iterator[str]:
    """What readings change in the calibration, and what they make of the main results.

    Args:
        paper: which it is.
        sensitivity: of its choices.
        scale: of the programs.
        picture: where it is, from the page.
        table: where the table of the whole calibration is, from the page.
    """
    yield from ("### Calibration", "")
    yield (
        f"Scale {scale}; ✓ agrees, ~ same direction, ✗ differs, ≰ not implied. [Calibration and "
        f"main results under every reading]({table}).{_studied(paper)}"
    )
    yield ""
    for one in sensitivity.refused:
        yield from (f"Refused: *{one.name}*, as {idle_text(one)} in none of its runs.", "")
    if same := ", ".join(f"*{one.name}*" for one in sensitivity.without_effect()):
        yield from (f"No number changes under {same}.", "")
    yield from changed(calibration(sensitivity))
    if main := list(main_results(sensitivity)):
        yield from ("### Sensitivity of the main results", "")
        yield (
            f"One choice at a time; intervals: the mean of {1 + len(sensitivity.shifts)} runs, all "
            "but one with a latency shifted that should not matter (95 %, Student's t)."
        )
        yield ""
        yield from markdown(
            ("main result", "the paper", "here", "interval", "readings give"),
            [_result(sensitivity, claim, index) for claim, index in main],
        )
        yield from (f"![Main results under each reading]({picture})", "")


def calibration(sensitivity: Sensitivity) -> list[tuple[str, ...]]:
    """Calibration claims by readings: a header, a row a claim, and how many agree."""
    role, ids = Role.CALIBRATION, sensitivity.ids(Role.CALIBRATION)
    tried = columns(sensitivity, role)
    return [
        ("claim", *(variation.name for variation in tried)),
        *((name, *cells(sensitivity, role, name)) for name in ids),
        ("agree", *(str(_agreeing(variation, ids)) for variation in tried)),
    ]


def every_reading(sensitivity: Sensitivity) -> list[tuple[str, ...]]:
    """The table of `calibration`, and below it the main results by readings."""
    return [
        *calibration(sensitivity),
        *(
            (
                name,
                *(_cell(variation, name) for variation in columns(sensitivity, Role.CALIBRATION)),
            )
            for name in sensitivity.ids(Role.OUTCOME, headline=True)
        ),
    ]


def changed(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """Claims of a table of `calibration` that have another verdict under some reading."""
    header, *rows, _ = table
    found = [(row[0], row[1], other_verdicts(header, row)) for row in rows]
    moved = [row for row in found if row[2]]
    yield f"{len(moved)} of {len(rows)} claims have another verdict under another reading:"
    yield ""
    yield from markdown(("claim", "taken", "another verdict under"), moved)


def other_verdicts(header: Sequence[str], row: Sequence[str]) -> str:
    """Readings under which a claim of `calibration` has another verdict, with their numbers."""
    _, taken, *others = row
    different = (
        f"{name} → {cell}"
        for name, cell in zip(header[2:], others, strict=True)
        if cell[-1] not in (taken[-1], _MARKS[Verdict.NOT_MEASURED])
    )
    return "; ".join(different)


def _studied(paper: Paper) -> str:
    if not paper.study.workloads:
        return ""
    names = ", ".join(f"`{name}`" for name in paper.study.workloads)
    return (
        f" Tried on {names} alone: numbers are means over these, and claims about all programs "
        "are left out."
    )


def columns(sensitivity: Sensitivity, role: Role) -> list[Variation]:
    """What stands side by side: readings, and of outcomes the shifted runs, too."""
    shifts = sensitivity.shifts if role is Role.OUTCOME else ()
    return [sensitivity.taken, *sensitivity.readings, *shifts]


def cells(sensitivity: Sensitivity, role: Role, claim: str) -> list[str]:
    """A claim's numbers and a mark of its verdict in each of the `columns`."""
    return [_cell(variation, claim) for variation in columns(sensitivity, role)]


def main_results(sensitivity: Sensitivity) -> Iterator[tuple[Claim, int]]:
    """Numbers of main results: a claim and which of its values."""
    for name in sensitivity.ids(Role.OUTCOME, headline=True):
        claim = sensitivity.taken.claims[name].claim
        for index, value in enumerate(values_of(sensitivity.taken, name)):
            if not isnan(value):
                yield claim, index


def draw_sensitivity(sensitivity: Sensitivity) -> Picture | None:
    """A tornado for each number of the main results, with the same rows; None: there is none."""
    main = list(main_results(sensitivity))
    if not main or not sensitivity.readings:
        return None
    readings = by_effect(sensitivity, main)
    rows = -(-len(main) // _PANELS)
    figure = new_figure("page", height=(0.75 + 0.16 * len(readings)) * rows + 0.5)
    axes = figure.subplots(rows, min(_PANELS, len(main)), sharey=True, squeeze=False).flat
    for (claim, index), ax in zip(main, axes, strict=False):  # which takes no ax beyond the last
        interval = sensitivity.interval(claim.id, index)
        taken = value_of(sensitivity.taken, claim.id, index)
        tornado(
            {one.name: value_of(one, claim.id, index) for one in readings},
            taken,
            stated=claim.values[index] if index < len(claim.values) else None,
            interval=None if interval is None else interval[1:],
            title=_title(claim, index),
            xlabel=f"{claim.unit} (as it is: {number_text(taken)})".strip(),
            ax=ax,
        )
    for ax in list(axes):
        ax.set_visible(False)
    _name_lines(figure)
    return figure


def by_effect(sensitivity: Sensitivity, main: Sequence[tuple[Claim, int]]) -> list[Variation]:
    """Readings, those first that move the main results most.

    What a reading moves counts as a share of the most that one moves the same number.
    """
    taken = [value_of(sensitivity.taken, claim.id, index) for claim, index in main]
    found = [
        [value_of(one, claim.id, index) for claim, index in main] for one in sensitivity.readings
    ]
    moved = np.nan_to_num(np.abs(np.subtract(found, taken)))
    most = moved.max(axis=0)
    shares = np.divide(moved, most, out=np.zeros_like(moved), where=most > 0).sum(axis=1)
    return [sensitivity.readings[place] for place in np.argsort(-shares, kind="stable")]


def _name_lines(figure: Picture) -> None:
    """One legend for all: what lines and bands are, each once."""
    named = {
        name: handle
        for ax in figure.axes
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    with style():
        figure.legend([*named.values()], [*named], loc="outside upper center", ncols=len(named))


def _title(claim: Claim, index: int) -> str:
    name = claim.id.partition(".")[2]
    several = f" [{index + 1}]" if len(claim.values) > 1 else ""
    return f"{name}{several}"[:_LONG]


def _result(sensitivity: Sensitivity, claim: Claim, index: int) -> tuple[str, ...]:
    name = claim.id if not index else f"… number {index + 1}"
    stated = f"{claim.values[index]:g}" if index < len(claim.values) else ""
    interval = sensitivity.interval(claim.id, index)
    found = [value_of(one, claim.id, index) for one in sensitivity.readings]
    others = [value for value in found if not isnan(value)]
    return (
        name,
        stated,
        number_text(value_of(sensitivity.taken, claim.id, index)),
        "" if interval is None else "{} ({} to {})".format(*map(number_text, interval)),
        f"{number_text(min(others))} to {number_text(max(others))}" if others else "",
    )


def _cell(variation: Variation, claim: str) -> str:
    one = variation.claims.get(claim)
    if one is None:
        return "–"
    numbers = ", ".join(map(number_text, values_of(variation, claim)))
    return f"{numbers} {_MARKS[one.verdict]}".strip()


def _agreeing(variation: Variation, ids: list[str]) -> int:
    found = (variation.claims[name].verdict for name in ids if name in variation.claims)
    return sum(verdict is Verdict.AGREES for verdict in found)
