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
from gpusim.cli.sweep_view import sweep_progress
from gpusim.core.errors import UserError
from gpusim.studies.reproduce.choices_page import cells, columns, draw_trials
from gpusim.studies.reproduce.claims import Paper, Role
from gpusim.studies.reproduce.page import PICTURES, choices_id, write_page
from gpusim.studies.reproduce.run import reproduce, run_ahead
from gpusim.studies.reproduce.trials import Trials, changes_of, try_choices, values_of
from gpusim.views.plots import save

if TYPE_CHECKING:
    from gpusim.studies.reproduce.figure import Figure


def try_papers(
    chosen: Iterable[tuple[Paper, list[Figure]]],
    runs: Path,
    docs: Path,
    scale: str,
    kind: str,
    *,
    jobs: int | None,
    dask: str | None,
    as_json: bool,
) -> None:
    """Try the choices of papers by some of their figures; print and write what comes out.

    Raises:
        UserError: a paper has no choices, or as `reproduce`.
    """
    told = []
    for paper, figures in chosen:
        if not paper.choice:
            raise UserError(f"{paper.name}: its claims file states no choices that could be tried")
        wanted = [figure for figure in figures if _matters(paper, figure)]
        changes = [laid for _, _, laid in changes_of(paper)]
        run_ahead(
            paper, wanted, runs, scale, changes, jobs=jobs, dask=dask, progress=sweep_progress
        )
        make = partial(
            reproduce, paper, wanted, runs, scale, jobs=jobs, dask=dask, progress=sweep_progress
        )
        trials = try_choices(paper, make)
        picture = draw_trials(trials)
        if picture is not None:
            save(picture, docs / PICTURES / f"{choices_id(paper)}.{kind}")
        write_page(paper, [], docs, (trials, scale), kind)
        if as_json:
            told.append(_plain(paper, trials))
        else:
            _print(paper, trials)
    if as_json:
        print(json.dumps(told))


def _matters(paper: Paper, figure: Figure) -> bool:
    """Whether a figure measures calibration or a main result."""
    return any(
        claim.role == Role.CALIBRATION or claim.headline
        for claim in paper.claim
        if claim.id in figure.claims
    )


def _print(paper: Paper, trials: Trials) -> None:
    for role, headline in ((Role.CALIBRATION, False), (Role.OUTCOME, True)):
        table = Table(title=f"{paper.paper}: {role}", header_style="bold")
        table.add_column("claim", overflow="fold")
        for trial in columns(trials, role):
            table.add_column(trial.name, overflow="fold")
        for name in trials.ids(role, headline=headline):
            table.add_row(Text(name), *map(Text, cells(trials, role, name)))
        stdout_console().print(table)


def _plain(paper: Paper, trials: Trials) -> dict[str, Any]:
    everything = (trials.taken, *trials.readings, *trials.shifts)
    return {
        "paper": paper.paper,
        "trials": [
            {
                "choice": trial.choice,
                "reading": trial.reading,
                "claims": {
                    name: {"here": list(values_of(trial, name)), "verdict": str(one.verdict)}
                    for name, one in trial.claims.items()
                },
            }
            for trial in everything
        ],
    }
