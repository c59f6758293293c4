"""Tables that `gpusim reproduce` prints: figures, and claims beside what is measured here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from rich.table import Table
from rich.text import Text

from gpusim.cli.console import stdout_console
from gpusim.studies.reproduce.claims import Paper, Role
from gpusim.studies.reproduce.figure_table import cells_of
from gpusim.studies.reproduce.page import ours, statement_of
from gpusim.studies.reproduce.run import Judged, Outcome
from gpusim.studies.reproduce.verdict import Verdict

_STYLES = {
    Verdict.AGREES: "green",
    Verdict.DIRECTION: "yellow",
    Verdict.DIFFERS: "red",
    Verdict.NOT_IMPLIED: "magenta",
    Verdict.NOT_MEASURED: "dim",
}


def print_outcome(found: Outcome, picture: Path | None) -> None:
    """A figure's table, its claims, and where its picture is; or why there is none."""
    console = stdout_console()
    figure, data = found.figure, found.table
    if data is not None:
        title = f"{figure.id}: {figure.title} (scale {found.scale})"
        table = Table(title=title, header_style="bold")
        table.add_column(str(data.index.name))
        for name in data.columns:
            table.add_column(str(name), justify="right")
        for cells in cells_of(data, figure.cell):
            table.add_row(*map(Text, cells))
        console.print(table)
    for failed in found.failures:
        console.print(Text(f"{figure.id}: failed: {failed.label}: {failed.failure.message}"))
    if found.claims:
        console.print(_claims(found.claims))
    if picture is not None:
        console.print(Text(f"written to {picture}"))


def print_unmeasured(paper: Paper, claims: Iterable[Judged]) -> None:
    """Claims that no figure measures."""
    judged = list(claims)
    if judged:
        stdout_console().print(_claims(judged, f"{paper.paper}: not measured"))


def print_score(claims: Iterable[Judged]) -> None:
    """How many claims of each role have which verdict."""
    judged = list(claims)
    table = Table(title="claims", header_style="bold")
    for name in ("role", "claims", *Verdict):
        is_role = name == "role"
        table.add_column(name, justify="left" if is_role else "right", no_wrap=is_role)
    for role in Role:
        mine = Counter(one.verdict for one in judged if one.claim.role == role)
        counts = (str(mine[verdict] or "") for verdict in Verdict)
        table.add_row(role, str(mine.total()), *counts)
    stdout_console().print(table)


def _claims(claims: Iterable[Judged], title: str | None = None) -> Table:
    table = Table(title=title, header_style="bold", show_lines=True)
    for name in ("claim", "the paper", "here", "verdict"):
        table.add_column(name, overflow="fold", no_wrap=name in ("claim", "verdict"))
    for one in claims:
        here = ours(one.claim, one.measured).replace("**", "")
        table.add_row(
            Text(one.claim.id, style="bold" if one.claim.headline else ""),
            Text(statement_of(one.claim)),
            Text(here),
            Text(one.verdict, style=_STYLES[one.verdict]),
        )
    return table
