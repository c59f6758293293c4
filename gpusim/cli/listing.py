"""`gpusim list`: the models, workloads, policies and records that there are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated

import typer

from gpusim.cli.options import Json
from gpusim.errors import UserError, nearest

Row = dict[str, str]

_MIB = 1 << 20


def list_things(
    what: Annotated[str, typer.Argument(help="models, workloads, policies or records")],
    as_json: Json = False,
) -> None:
    """List what a run can be made of."""
    if what not in _LISTS:
        raise UserError(
            f"there is nothing to list named {what!r}{nearest(what, _LISTS)}; "
            f"allowed: {', '.join(_LISTS)}"
        )
    rows = list(_LISTS[what]())
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        _print_table(what, rows)


def _models() -> Iterator[Row]:
    from gpusim.config.document import read_document
    from gpusim.config.layers import variants_of
    from gpusim.datafiles import data_names, find_data

    for name in data_names("models"):
        document = read_document(find_data("models", name))
        yield {
            "name": name,
            "description": str(document.data.get("description", "")),
            "variants": ", ".join(variants_of(document)),
        }


def _workloads() -> Iterator[Row]:
    from gpusim.programs.workload import SCALES, summarize_workload, workload_names

    for name in workload_names():
        workload = summarize_workload(name)
        sizes = (
            f"{getattr(workload.footprint, scale) / _MIB:.3g}" if workload.footprint else "?"
            for scale in SCALES
        )
        yield {
            "name": name,
            "description": workload.description,
            "suite": workload.suite,
            f"MiB ({', '.join(SCALES)})": ", ".join(sizes),
        }


def _policies() -> Iterator[Row]:
    from gpusim.config import check_policies
    from gpusim.registry import Slot, find_policy, policy_names

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
    from gpusim.results.schema import EVENTS, RECORDS

    for name, tables in RECORDS.items():
        yield {
            "name": name,
            "tables": ", ".join(tables),
            "description": " ".join(EVENTS[table].description for table in tables),
        }


_LISTS: Mapping[str, Callable[[], Iterator[Row]]] = {
    "models": _models,
    "workloads": _workloads,
    "policies": _policies,
    "records": _records,
}


def _print_table(title: str, rows: list[Row]) -> None:
    from rich.table import Table
    from rich.text import Text

    from gpusim.cli.console import stdout_console

    table = Table(title=title, header_style="bold")
    for column in rows[0] if rows else ("name",):
        table.add_column(column, overflow="fold", no_wrap=column == "name")
    for row in rows:
        table.add_row(*map(Text, row.values()))
    stdout_console().print(table)
