"""`gpusim cost`: the storage that a variant adds to a machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.options import AllowCode, Json, Model, Settings, Variants, parse_settings
from gpusim.core.user_code import Imports, permit

if TYPE_CHECKING:
    from gpusim.machine.cost import Difference, Part


def cost(
    model: Model,
    variant: Variants = None,
    settings: Settings = None,
    base: Annotated[
        list[str] | None,
        typer.Option(help="Variant to compare with (default: the model without variants)."),
    ] = None,
    allow_code: AllowCode = False,
    as_json: Json = False,
) -> None:
    """Show what storage a machine's policies need in hardware, and how much more than its base."""
    if allow_code:
        permit(Imports.ALL)
    from gpusim.machine.cost import compare_storage
    from gpusim.machine.load import load_model

    overrides = parse_settings(settings)
    machine, other = load_model(model, variant or (), overrides), load_model(model, base or ())
    rows = compare_storage(machine, other)
    if as_json:
        print(json.dumps([_to_json(row) for row in rows]))
    else:
        _print(rows, " + ".join((machine.name, *machine.variants)))


def _print(rows: list[Difference], title: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from gpusim.cli.console import stdout_console

    table = Table(title=f"storage: {title}", header_style="bold")
    console = stdout_console()
    columns = _COLUMNS if console.width >= _WIDE else [one for one in _COLUMNS if one not in _MORE]
    for name in columns:
        number = name in _NUMBERS
        table.add_column(
            name, justify="right" if number else "left", no_wrap=number, overflow="fold"
        )
    for row in rows:
        part = row.part
        each = row.added_bits // part.instances
        where = part.where if part.instances == 1 else f"{part.instances} × {part.where}"
        cells = {
            "component": where,
            "structure": part.storage.name if part.storage else "?",
            "entry": _entry(part),
            "bits": f"{row.new.bits:,}" if row.new else "–",
            "added": _growth(row),
            "added to each": _amount(each),
            "added in all": _amount(row.added_bits),
        }
        table.add_row(*(Text(cells[name]) for name in columns))
    table.add_section()
    total = {"component": "all", "added in all": _amount(sum(row.added_bits for row in rows))}
    table.add_row(*(total.get(name, "") for name in columns))
    if len(columns) < len(_COLUMNS):
        table.caption = f"in a wider terminal, or with --json: {', '.join(_MORE)}"
    console.print(table)


_WIDE = 110
_NUMBERS = ("bits", "added", "added to each", "added in all")
_COLUMNS = ("component", "structure", "entry", *_NUMBERS)
_MORE = ("entry", "added to each")
"""Columns for which a terminal of 80 has no room."""


def _growth(row: Difference) -> str:
    if row.old is None or not row.old.bits or not row.added_bits:
        return ""
    return f"{row.added_bits / row.old.bits:+.1%}".replace("%", " %")


def _entry(part: Part) -> str:
    if part.storage is None:
        return "not stated by its policy"
    fields = " + ".join(f"{bits} {name}" for name, bits in part.storage.fields.items())
    return f"{part.storage.count} × ({fields})"


def _amount(bits: int) -> str:
    return f"{bits:+,} b = {bits / 8:+,.10g} B" if bits else "0"


def _to_json(row: Difference) -> dict[str, object]:
    part = row.part
    return {
        "component": part.where,
        "instances": part.instances,
        "structure": part.storage.name if part.storage else None,
        "entries": part.storage.count if part.storage else None,
        "entry_bits": dict(part.storage.fields) if part.storage else None,
        "bits": row.new.bits if row.new else 0,
        "base_bits": row.old.bits if row.old else 0,
        "added_bits": row.added_bits,
        "added_bytes": row.added_bits / 8,
    }
