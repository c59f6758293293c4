"""`gpusim list`: what a run, a sweep or a reproduction can be made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.options import Json, begins
from gpusim.core.errors import UserError, nearest

if TYPE_CHECKING:
    from gpusim.workloads.library import Entry

Row = dict[str, str]

_MIB = 1 << 20


def list_things(
    what: Annotated[
        str,
        typer.Argument(
            help="models, recipes, workloads, policies, records, sweeps, figures, studies, or "
            "maintenance: studies of gpusim itself",
            autocompletion=begins(lambda: _LISTS),
        ),
    ] = "",
    words: Annotated[
        list[str] | None, typer.Argument(help="Only those in which all of these words occur.")
    ] = None,
    paper: Annotated[
        str | None,
        typer.Option(
            help="Only the workloads of a paper, by the names it has for them, such as mask."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List what a run, a sweep or a reproduction can be made of."""
    if not what:
        raise UserError(f"say what to list, such as gpusim list models: {', '.join(_LISTS)}")
    if what not in _LISTS:
        raise UserError(
            f"there is nothing to list named {what!r}{nearest(what, _LISTS)}; "
            f"allowed: {', '.join(_LISTS)}"
        )
    if paper is not None and what != "workloads":
        raise UserError("--paper goes with workloads: gpusim list workloads --paper mask")
    found = _LISTS[what]() if paper is None else _workloads_of(paper)
    rows = [row for row in found if _has_all(row, words or ())]
    if words and not rows and not as_json:
        raise UserError(f"none of the {what} has {' and '.join(map(repr, words))} in it")
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        _print_table(what, rows)


def _has_all(row: Row, words: Sequence[str]) -> bool:
    """Whether all words occur in a row, in any case of letters."""
    text = " ".join(row.values()).casefold()
    return all(word.casefold() in text for word in words)


def _models() -> Iterator[Row]:
    from gpusim.config.layers import variants_of
    from gpusim.files.shipped import data_names, find_data
    from gpusim.files.toml_document import read_document

    for name in data_names("models"):
        document = read_document(find_data("models", name))
        yield {
            "name": name,
            "description": str(document.data.get("description", "")),
            "variants": ", ".join(variants_of(document)),
        }


def _recipes() -> Iterator[Row]:
    from gpusim.cli.recipes import recipe_rows

    yield from recipe_rows()


def _workloads() -> Iterator[Row]:
    from gpusim.workloads.library import (
        find_workload,
        paper_names,
        read_paper,
        referenced_names,
        workload_names,
    )

    papers = {paper: referenced_names(read_paper(paper)) for paper in paper_names()}
    for name in workload_names():
        entry = find_workload(name)
        yield {
            "name": name,
            "suite": entry.table.suite,
            "pattern": entry.table.pattern,
            "papers": ", ".join(paper for paper in papers if name in papers[paper]),
            **_sizes(entry),
            "description": entry.table.description,
        }


def _workloads_of(paper: str) -> Iterator[Row]:
    from gpusim.workloads.library import default_name, paper_workloads

    for entry in paper_workloads(paper):
        applications = entry.table.applications
        asked = [one.instance or (f"{one.share:g}" if one.share else "") for one in applications]
        yield {
            "name": entry.name,
            "applications": ", ".join(
                f"{default_name(one)} {part}".strip()
                for one, part in zip(applications, asked, strict=True)
            ),
            "relaunch": entry.table.relaunch if len(applications) > 1 else "",
            "stated by the paper": ", ".join(
                f"{key} {value}" for key, value in entry.table.stated.items()
            ),
            **_sizes(entry),
        }


def _sizes(entry: Entry) -> Row:
    """Footprint and transactions at each scale; ``~`` before an extrapolated number."""
    from gpusim.workloads.sizes import size_of
    from gpusim.workloads.tables import SCALES

    sizes = [size_of(entry, scale) for scale in SCALES]
    return {
        f"MiB ({', '.join(SCALES)})": ", ".join(
            "?" if size is None else f"{size.footprint / _MIB:.3g}" for size in sizes
        ),
        f"transactions ({', '.join(SCALES)})": ", ".join(
            "?"
            if size is None or size.transactions is None
            else f"{'~' * size.estimated}{_short(size.transactions)}"
            for size in sizes
        ),
    }


def _short(count: int) -> str:
    """A count with three digits and its unit."""
    for limit, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= limit:
            return f"{count / limit:.3g}{unit}"
    return str(count)


def _policies() -> Iterator[Row]:
    from gpusim.core.registry import Slot, find_policy, policy_names
    from gpusim.machine import check_policies

    for slot in Slot:
        for name in policy_names(slot):
            cls = find_policy(slot, name)
            yield {
                "slot": slot.value,
                "name": name,
                "description": (cls.__doc__ or "").strip().partition("\n")[0],
                "options": ", ".join(check_policies.policy_options(cls)),
            }


def _records() -> Iterator[Row]:
    from gpusim.results.event_tables import EVENTS, RECORDS

    for name, tables in RECORDS.items():
        yield {
            "name": name,
            "tables": ", ".join(tables),
            "description": " ".join(EVENTS[table].description for table in tables),
        }


def _sweeps() -> Iterator[Row]:
    from gpusim.files.shipped import data_names
    from gpusim.studies.sweep.spec import read_sweep

    for name in data_names("experiments"):
        sweep = read_sweep(name)
        yield {
            "name": name,
            "description": sweep.title,
            "axes": ", ".join(
                f"{len(values)} × {axis}" for axis, values in sweep.axes.items() if len(values) > 1
            ),
            "scale": sweep.scale,
        }


def _figures() -> Iterator[Row]:
    from gpusim.studies.reproduce.catalog import figures_of
    from gpusim.studies.reproduce.claims import papers

    for paper in papers():
        for figure in figures_of(paper):
            yield {
                "name": figure.id,
                "description": figure.title,
                "claims": ", ".join(claim.id for claim in paper.claims_of(figure.id)),
            }


def _studies(*, maintains: bool) -> Iterator[Row]:
    from gpusim.studies.scripts import studies

    for study in studies():
        if study.maintains == maintains:
            yield {"name": study.name, "description": study.title}


_LISTS: Mapping[str, Callable[[], Iterator[Row]]] = {
    "models": _models,
    "recipes": _recipes,
    "workloads": _workloads,
    "policies": _policies,
    "records": _records,
    "sweeps": _sweeps,
    "figures": _figures,
    "studies": partial(_studies, maintains=False),
    "maintenance": partial(_studies, maintains=True),
}


def _print_table(title: str, rows: list[Row]) -> None:
    """A row a thing; columns that do not fit without broken words are left out."""
    from rich.table import Table
    from rich.text import Text

    from gpusim.cli.console import print_paged, stdout_console

    columns = list(rows[0]) if rows else ["name"]
    if _SECOND in columns:
        columns.remove(_SECOND)
        columns.insert(columns.index("name") + 1, _SECOND)
    shown = _fitting(columns, rows, stdout_console().width)
    table = Table(title=title, header_style="bold")
    for column in shown:
        table.add_column(column, overflow="fold", no_wrap=column == "name")
    for row in rows:
        table.add_row(*(Text(row[column]) for column in shown))
    if left_out := columns[len(shown) :]:
        table.caption = f"in a wider terminal, or with --json: {', '.join(left_out)}"
    print_paged(table)


_SECOND, _LEAST = "description", 28
"""The column that matters most after the name, and letters that it has at least."""


def _fitting(columns: list[str], rows: list[Row], width: int) -> list[str]:
    """The first columns, as many as fit without breaking a word, but two at least."""
    shown = list(columns)
    while len(shown) > _FEWEST and sum(_narrowest(one, rows) for one in shown) + 1 > width:
        shown.pop()
    return shown


_FEWEST = 2
_FRAME = 3


def _narrowest(column: str, rows: list[Row]) -> int:
    """Letters of a column that breaks no word, with its frame; a name stays on its line."""
    cells = [column, *(row[column] for row in rows)]
    words = cells if column == "name" else [word for cell in cells for word in cell.split()]
    least = _LEAST if column == _SECOND else 0
    return max(least, *map(len, words)) + _FRAME
