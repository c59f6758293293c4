"""Recipes as `gpusim list` and `gpusim show` print them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from gpusim.config.layers import Setting, Tree, leaves
from gpusim.config.recipe import Recipe, find_recipe, recipe_names, with_bases
from gpusim.config.roles import ABOUT, AT_LEAST, RELATIVE, TIMES
from gpusim.files.toml_document import Key


def recipe_rows() -> Iterator[dict[str, str]]:
    """A row for each shipped recipe."""
    for name in recipe_names():
        recipe = find_recipe(name, Path())
        needs = [need for one, _ in with_bases(recipe) for need in one.needs]
        yield {
            "name": name,
            "description": recipe.description,
            "based on": ", ".join(recipe.based_on),
            "changes": ", ".join(" = ".join(pair) for pair in _changes(recipe.changes, ())),
            "requires": "; ".join(dict.fromkeys(needs)),
            "source": recipe.source,
        }


def show_recipe(name: str, *, as_json: bool) -> None:
    """Print what a shipped recipe and those that it is based on change and require."""
    recipes = [recipe for recipe, _ in with_bases(find_recipe(name, Path()))]
    if as_json:
        print(json.dumps(_as_json(recipes), indent=2))
    else:
        _print(recipes)


_BEFORE = {TIMES: "× ", ABOUT: "about × ", AT_LEAST: "at least "}
"""Words before what is set beside a machine's own number."""


def _changes(node: Tree | Setting, key: Key) -> Iterator[tuple[str, str]]:
    """Keys and values; of a policy that comes with its options only the name."""
    inner = node
    word = ""
    if isinstance(node, dict):
        word = next((name for name in ("policy", *RELATIVE) if name in node), "")
        inner = node[word] if word else node
    if isinstance(inner, dict):
        for name, one in inner.items():
            yield from _changes(one, (*key, name))
        return
    yield ".".join(key), _BEFORE.get(word, "") + _text(inner)


def _text(setting: Setting) -> str:
    value = setting.value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _as_json(recipes: list[Recipe]) -> dict[str, object]:
    *_, last = recipes
    return {
        "recipe": last.name,
        "description": last.description,
        "source": last.source,
        "based_on": list(last.based_on),
        "requires": [need for recipe in recipes for need in recipe.needs],
        "values": [
            {
                "key": ".".join(key),
                "value": setting.value,
                "origin": setting.origin,
                "source": setting.citation,
            }
            for recipe in recipes
            for key, setting in leaves(recipe.changes)
        ],
    }


def _print(recipes: list[Recipe]) -> None:
    from rich.table import Table
    from rich.text import Text

    from gpusim.cli.console import print_paged

    *_, last = recipes
    needs = dict.fromkeys(need for recipe in recipes for need in recipe.needs)
    lines = (
        Text(f"recipe {last.name}: {last.description}", style="bold"),
        Text(f"source: {last.source}"),
        *(Text(f"requires {need}") for need in needs),
    )
    table = Table(header_style="bold")
    for column in ("key", "value", "from", "source"):
        table.add_column(column, overflow="fold", no_wrap=column == "key")
    for recipe in recipes:
        for key, setting in leaves(recipe.changes):
            cells = (".".join(key), _text(setting), setting.origin, setting.citation)
            table.add_row(*map(Text, cells))
    print_paged(*lines, table)
