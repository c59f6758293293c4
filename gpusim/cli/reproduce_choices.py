"""`gpusim reproduce --choices`: other readings of what papers leave open."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from gpusim.cli.console import stdout_console
from gpusim.core.errors import UserError
from gpusim.studies.reproduce.claims import Paper, Role
from gpusim.studies.reproduce.page import PICTURES, choices_id, write_page
from gpusim.studies.reproduce.run import Execution, reproduce, run_ahead
from gpusim.studies.reproduce.sensitivity import (
    Sensitivity,
    changes_of,
    idle_text,
    values_of,
    vary_choices,
)
from gpusim.studies.reproduce.sensitivity_page import cells, columns, draw_sensitivity
from gpusim.views.plots import save

if TYPE_CHECKING:
    from gpusim.studies.reproduce.figure import Figure


def try_papers(
    chosen: Iterable[tuple[Paper, list[Figure]]],
    execution: Execution,
    docs: Path,
    kind: str,
    *,
    as_json: bool,
) -> None:
    """Try the choices of papers by some of their figures; print and write what comes out.

    Args:
        chosen: papers, and of each the figures that are made.
        execution: where and how.
        docs: folder of the pages and their pictures.
        kind: of the pictures: ``"png"`` or ``"svg"``.
        as_json: print an object instead of tables.

    Raises:
        UserError: a paper has no choices, or as `reproduce`.
    """
    plain = []
    for paper, figures in chosen:
        if not paper.choice:
            raise UserError(f"{paper.name}: its claims file states no choices that could be tried")
        wanted = [figure for figure in figures if _matters(paper, figure)]
        run_ahead(paper, wanted, execution, [overlay for _, _, overlay in changes_of(paper)])
        sensitivity = vary_choices(paper, partial(reproduce, paper, wanted, execution))
        picture = draw_sensitivity(sensitivity)
        if picture is not None:
            save(picture, docs / PICTURES / f"{choices_id(paper)}.{kind}")
        write_page(paper, [], docs, (sensitivity, execution.scale), kind)
        if as_json:
            plain.append(_plain(paper, sensitivity))
        else:
            _print(paper, sensitivity)
    if as_json:
        print(json.dumps(plain))


def _matters(paper: Paper, figure: Figure) -> bool:
    """Whether a figure measures calibration or a main result."""
    return any(
        claim.role == Role.CALIBRATION or claim.headline for claim in paper.claims_of(figure.id)
    )


def _print(paper: Paper, sensitivity: Sensitivity) -> None:
    for role, headline in ((Role.CALIBRATION, False), (Role.OUTCOME, True)):
        table = Table(title=f"{paper.paper}: {role}", header_style="bold")
        table.add_column("claim", overflow="fold")
        for variation in columns(sensitivity, role):
            table.add_column(variation.name, overflow="fold")
        for name in sensitivity.ids(role, headline=headline):
            table.add_row(Text(name), *map(Text, cells(sensitivity, role, name)))
        stdout_console().print(table)
    for one in sensitivity.refused:
        text = f"refused: {one.name}: {idle_text(one)} in none of its runs"
        stdout_console().print(Text(text, style="red"))


def _plain(paper: Paper, sensitivity: Sensitivity) -> dict[str, Any]:
    everything = (sensitivity.taken, *sensitivity.readings, *sensitivity.shifts)
    return {
        "paper": paper.paper,
        "trials": [
            {
                "choice": variation.choice,
                "reading": variation.reading,
                "claims": {
                    name: {"here": list(values_of(variation, name)), "verdict": str(one.verdict)}
                    for name, one in variation.claims.items()
                },
            }
            for variation in everything
        ],
        "refused": [
            {"choice": one.choice, "reading": one.reading, "idle": list(one.idle)}
            for one in sensitivity.refused
        ],
    }
