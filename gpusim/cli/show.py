"""`gpusim show`: the fully resolved machine, and where each value comes from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.options import Json, Model, Settings, Variants, parse_settings
from gpusim.core.errors import UserError
from gpusim.core.terminal_text import shown
from gpusim.core.user_code import Imports, permit

if TYPE_CHECKING:
    from gpusim.config.load import LoadedModel


def show(
    model: Model,
    variant: Variants = None,
    settings: Settings = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print it as a model file.")] = False,
    as_json: Json = False,
) -> None:
    """Print the fully resolved machine: every value, where it comes from, and its source.

    In place of a model, a shipped recipe: what it changes, what it requires, and its source.
    """
    from gpusim.cli.recipes import show_recipe
    from gpusim.config.recipe import recipe_names
    from gpusim.files.shipped import data_names
    from gpusim.machine.load import load_model

    if toml and as_json:
        raise UserError("--toml and --json: choose one of them")
    if model in recipe_names() and model not in data_names("models"):
        if variant or settings or toml:
            raise UserError(f"{model!r} is a recipe: gpusim show MODEL --variant {model}")
        show_recipe(model, as_json=as_json)
        return
    permit(Imports.NOTHING)
    loaded = load_model(model, variant or (), parse_settings(settings))
    if toml:
        print(shown(loaded.to_toml()), end="")
    elif as_json:
        print(json.dumps(_as_json(loaded), indent=2))
    else:
        _print_tables(loaded)


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


def _print_tables(model: LoadedModel) -> None:
    from rich.table import Table
    from rich.text import Text

    from gpusim.cli.console import stdout_console

    title = " + ".join((model.name, *model.variants))
    table = Table(title=title, header_style="bold")
    table.add_column("key", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    table.add_column("source")
    previous = ""
    for value in sorted(model.values, key=lambda value: "." in value.key):
        if value.table != previous:
            table.add_section()
            table.add_row(Text(f"[{value.table}]", style="bold"))
            previous = value.table
        shown = "yes" if value.value is True else "no" if value.value is False else value.value
        cells = (f"  {value.name}" if value.table else value.name, str(shown))
        table.add_row(*map(Text, (*cells, value.origin, value.citation)))
    stdout_console().print(table)
