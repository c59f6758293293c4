"""`gpusim show`: the fully resolved machine, and where each value comes from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.options import (
    Everything,
    Json,
    Model,
    Settings,
    Variants,
    parse_settings,
    refuse_options,
)
from gpusim.core.errors import UserError
from gpusim.core.terminal_text import shown
from gpusim.core.user_code import Imports, permit

if TYPE_CHECKING:
    from gpusim.config.load import LoadedModel
    from gpusim.config.value import Value


def show(
    *,
    model: Model,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Only values in whose lines all of these words occur."),
    ] = None,
    variant: Variants = None,
    settings: Settings = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print it as a model file.")] = False,
    everything: Everything = False,
    as_json: Json = False,
) -> None:
    """Print the fully resolved machine: every value, where it comes from, and its source.

    In place of a model, a shipped recipe: what it changes, what it requires, and its source; or a
    result: what its run printed at its end, with --all all headline numbers.
    """
    if Path(model).suffix in RESULTS:
        reason = f"{model} is a result, which is shown as it is"
        refuse_options(reason, variant=variant, set=settings, toml=toml)
        if words:
            raise UserError(f"{words[0]!r}: {reason}")
        _show_result(Path(model), everything=everything, as_json=as_json)
        return
    from gpusim.cli.recipes import show_recipe
    from gpusim.config.recipe import recipe_names
    from gpusim.files.shipped import data_names
    from gpusim.machine.load import load_model

    if toml and as_json:
        raise UserError("--toml and --json: choose one of them")
    refuse_options(f"is of results, and {model} is none", all=everything)
    if words and (toml or as_json):
        raise UserError(f"{words[0]!r}: words choose lines of the table: without --toml and --json")
    if model in recipe_names() and model not in data_names("models"):
        if variant or settings or toml:
            raise UserError(f"{model!r} is a recipe: gpusim show MODEL --variant {model}")
        if words:
            raise UserError(f"{words[0]!r}: {model} is a recipe, which is shown whole")
        show_recipe(model, as_json=as_json)
        return
    permit(Imports.NOTHING)
    loaded = load_model(model, variant or (), parse_settings(settings))
    if toml:
        print(shown(loaded.to_toml()), end="")
    elif as_json:
        print(json.dumps(_as_json(loaded), indent=2))
    else:
        _print_tables(loaded, words or ())


RESULTS = (".h5", ".hdf5")
"""How the names of results end, and those of models do not."""


def _show_result(path: Path, *, everything: bool, as_json: bool) -> None:
    from gpusim.cli.opening import opened
    from gpusim.cli.summary import print_summary

    with opened(path) as (result,):
        if as_json:
            print(json.dumps(result.to_json()))
        else:
            print_summary(result, everything=everything)


def _as_json(model: LoadedModel) -> dict[str, object]:
    return {
        "model": model.name,
        "path": model.path,
        "variants": list(model.variants),
        "values": {
            value.key: {"value": value.value, "origin": value.origin, "source": value.citation}
            for value in model.values
        },
    }


def _print_tables(model: LoadedModel, words: Sequence[str]) -> None:
    """The values in which all of some words occur, by table."""
    from rich.table import Table
    from rich.text import Text

    from gpusim.cli.console import print_paged, stdout_console

    rows = [value for value in model.values if _has_all(value, words)]
    if not rows:
        raise UserError(f"no value of {model.name} has {' and '.join(map(repr, words))} in it")
    narrow = stdout_console().width < _WIDE
    origins = {value.key: _origin(value, model) if narrow else value.origin for value in rows}
    columns = ["key", "value", *(["from"] if any(origins.values()) else []), "source"]
    title = " + ".join((model.name, *model.variants))
    table = Table(title=title, header_style="bold", expand=narrow)
    for column in columns:
        table.add_column(
            column, overflow="fold", no_wrap=column == "key", ratio=_RATIOS[column] * narrow or None
        )
    if narrow:
        table.caption = f"where nothing else is said, a value is from {model.path}"
    previous = ""
    for value in sorted(rows, key=lambda value: "." in value.key):
        if value.table != previous:
            table.add_section()
            table.add_row(Text(f"[{value.table}]", style="bold"))
            previous = value.table
        shown = "yes" if value.value is True else "no" if value.value is False else value.value
        cells = {
            "key": f"  {value.name}" if value.table else value.name,
            "value": str(shown),
            "from": origins[value.key],
            "source": value.citation,
        }
        table.add_row(*(Text(cells[column]) for column in columns))
    print_paged(table)


_WIDE = 120
"""Columns of a terminal from which on each value has its place."""

_RATIOS = {"key": 0, "value": 4, "from": 3, "source": 9}
"""How a narrow table's columns share what the keys leave."""


def _origin(value: Value, model: LoadedModel) -> str:
    """Where a value comes from; empty: from the model's file."""
    return "" if model.path.endswith(value.origin) else value.origin


def _has_all(value: Value, words: Sequence[str]) -> bool:
    text = f"{value.key} {value.value} {value.origin} {value.citation}".casefold()
    return all(word.casefold() in text for word in words)
