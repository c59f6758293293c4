"""`gpusim reproduce`: figures and claims of papers, made again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpusim.cli.options import (
    SCALES,
    Dask,
    Jobs,
    Json,
    Picture,
    PictureKind,
    RetryFailed,
    begins,
)
from gpusim.core.errors import WriteError

if TYPE_CHECKING:
    from gpusim.studies.reproduce.claims import Paper
    from gpusim.studies.reproduce.figure import Figure
    from gpusim.studies.reproduce.run import Execution, Judged, Outcome


def _ids() -> Iterable[str]:
    from gpusim.studies.reproduce.catalog import figures_of
    from gpusim.studies.reproduce.claims import papers

    for paper in papers():
        yield paper.paper
        yield from (figure.id for figure in figures_of(paper))


_Ids = Annotated[
    list[str] | None,
    typer.Argument(
        help="Papers, figures or claims: orch, orch.fig11, ... (default: all).",
        autocompletion=begins(_ids),
    ),
]


def reproduce(
    ids: _Ids = None,
    scale: Annotated[
        str,
        typer.Option(
            help="Size of the programs' inputs: smoke, quick or paper.", autocompletion=SCALES
        ),
    ] = "quick",
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Folder of runs, which figures and sweeps can share."),
    ] = Path("gpusim-runs"),
    docs: Annotated[Path, typer.Option(help="Folder of the pages and their pictures.")] = Path(
        "gpusim-pages"
    ),
    jobs: Jobs = None,
    dask: Dask = None,
    retry_failed: RetryFailed = False,
    choices: Annotated[
        bool,
        typer.Option(
            "--choices", help="Try other readings of what papers leave open, instead of figures."
        ),
    ] = False,
    kind: Picture = PictureKind.PNG,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if a main result has the wrong direction.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Reproduce figures of papers, and compare their claims with what is measured here."""
    from gpusim.cli.sweep_view import sweep_progress
    from gpusim.studies.reproduce.catalog import choose
    from gpusim.studies.reproduce.page import PICTURES
    from gpusim.studies.reproduce.run import Execution

    wanted = ids or []
    chosen = choose(wanted)
    _make(docs / PICTURES)
    execution = Execution(
        folder=output,
        scale=scale,
        jobs=jobs,
        dask=dask,
        retry_failed=retry_failed,
        progress=sweep_progress,
    )
    if choices:
        from gpusim.cli.reproduce_choices import try_papers

        try_papers(chosen, execution, docs, kind, as_json=as_json)
        return
    found = _make_papers(chosen, wanted, execution, docs, kind, as_json)
    if any(outcome.failures for outcome in found) or (check and _wrong(found, wanted)):
        raise typer.Exit(1)


def _make_papers(
    chosen: Iterable[tuple[Paper, list[Figure]]],
    wanted: list[str],
    execution: Execution,
    docs: Path,
    kind: str,
    as_json: bool,
) -> list[Outcome]:
    """Make figures, their pictures and pages; print what comes out."""
    from gpusim.cli.reproduce_tables import print_outcome, print_score, print_unmeasured
    from gpusim.studies.reproduce.catalog import means
    from gpusim.studies.reproduce.page import PICTURES, write_page
    from gpusim.studies.reproduce.pictures import save_picture
    from gpusim.studies.reproduce.run import reproduce, unmeasured

    found: list[Outcome] = []
    plain: list[dict[str, Any]] = []
    left_out: list[Judged] = []
    for paper, figures in chosen:
        for outcome in reproduce(paper, figures, execution):
            picture = save_picture(outcome, docs / PICTURES, kind)
            write_page(paper, [outcome], docs, kind=kind)
            found.append(outcome)
            if as_json:
                plain.append(_plain(outcome, picture))
            else:
                print_outcome(outcome, picture)
        reasons = [one for one in unmeasured(paper) if means(one.claim.id, wanted)]
        left_out += reasons
        if as_json:
            plain.append({"paper": paper.paper, "claims": [_judged(one) for one in reasons]})
        else:
            print_unmeasured(paper, reasons)
    if as_json:
        print(json.dumps(plain))
    else:
        print_score([*(one for outcome in found for one in outcome.claims), *left_out])
    return found


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"cannot write {folder}: {error.strerror}") from error


def _wrong(found: Iterable[Outcome], wanted: list[str]) -> bool:
    """Whether a main result that is meant has the wrong direction."""
    from gpusim.studies.reproduce.catalog import means
    from gpusim.studies.reproduce.verdict import Verdict

    return any(
        one.claim.headline and one.verdict is Verdict.DIFFERS
        for outcome in found
        for one in outcome.claims
        if means(outcome.figure.id, wanted) or means(one.claim.id, wanted)
    )


def _plain(outcome: Outcome, picture: Path | None) -> dict[str, Any]:
    table = outcome.table
    return {
        "paper": outcome.paper.paper,
        "figure": outcome.figure.id,
        "title": outcome.figure.title,
        "scale": outcome.scale,
        "table": None if table is None else json.loads(table.to_json(orient="index")),
        "claims": [_judged(one) for one in outcome.claims],
        "failures": [one.label for one in outcome.failures],
        "picture": None if picture is None else str(picture),
    }


def _judged(one: Judged) -> dict[str, Any]:
    claim, measured = one.claim, one.measured
    return {
        "id": claim.id,
        "role": claim.role,
        "statement": claim.statement,
        "headline": claim.headline,
        "paper": list(claim.values),
        "unit": claim.unit,
        "bound": [value if isfinite(value) else None for value in claim.bound],
        "here": [] if measured is None else list(measured.values),
        "text": claim.reason if measured is None else measured.text,
        "verdict": str(one.verdict),
    }
