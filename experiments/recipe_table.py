"""Every recipe on every shipped model: it runs and conserves, or is refused with a reason.

``gpusim study recipe-table`` prints a list of recipes and the table; with ``--doc`` it writes both
into the page docs/reference/recipes.md.  The program is one launch of atax on a small matrix, some
1,500 cycles long.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from attrs import frozen

import gpusim
from experiments.marked import compact, tell
from gpusim.cli.recipes import recipe_rows
from gpusim.config.load import LoadedModel
from gpusim.config.recipe import recipe_names
from gpusim.core.errors import UserError
from gpusim.files.shipped import data_names
from gpusim.workloads.workload import Workload

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

PROGRAM, PARAMETERS = "atax", {"n": 128, "iterations": 1}
ALL_BUT = "all but "


@frozen
class Outcome:
    """What came of a recipe on a model.

    Attributes:
        reasons: why it was refused; empty if it runs.
    """

    reasons: tuple[str, ...] = ()


def load(model: str, *recipes: str) -> LoadedModel | Outcome:
    """The machine with recipes on each other, or why there is none."""
    try:
        return gpusim.load_model(model, recipes)
    except UserError as error:
        return Outcome(tuple(_reasons(str(error), model)))


def run(model: str, *recipes: str) -> Outcome:
    """Run the program; conservation is checked at the end of every run.

    Raises:
        Exception: anything but a refusal.
    """
    machine = load(model, *recipes)
    if isinstance(machine, Outcome):
        return machine
    try:
        gpusim.simulate(machine, _program()).close()
    except UserError as error:
        return Outcome(tuple(_reasons(str(error), model)))
    return Outcome()


@cache
def _program() -> Workload:
    return gpusim.load_workload(PROGRAM, "smoke", overrides=dict(PARAMETERS))


def _reasons(message: str, model: str) -> Iterator[str]:
    """The lines of a refusal without what differs on each model: its name, files, lines, values."""
    for line in message.splitlines():
        need = re.match(r".*?(needs .*)", line)
        place = re.match(r"\S+\.toml(?::\d+)?: (.*)", line)
        line_reason = need[1].partition(f": {model}")[0] if need else place[1] if place else line
        yield re.sub(r"^([\w.]+)(?: = [^:]+)?: ", r"`\1`: ", line_reason)


def table(outcomes: Mapping[tuple[str, str], Outcome]) -> str:
    """Outcomes by recipe and model in Markdown.

    A row has recipes with the same outcomes, and which models refuse them, with numbers of the
    reasons below the table; recipes that run on all models are in none.
    """
    models = data_names("models")
    reasons: dict[str, int] = {}
    rows: dict[tuple[str, ...], list[str]] = {}
    for recipe in recipe_names():
        cells = []
        for model in models:
            why = outcomes[recipe, model].reasons
            numbers = (str(reasons.setdefault(one, len(reasons) + 1)) for one in why)
            cells.append(", ".join(numbers))
        rows.setdefault(tuple(cells), []).append(f"`{recipe}`")
    rows.pop(("",) * len(models), None)
    refusals = [(", ".join(of), _refused(models, cells)) for cells, of in rows.items()]
    numbered = (f"{number}. {one}" for one, number in reasons.items())
    return "\n".join([compact(("recipes", "refused by"), refusals), "", *numbered])


def _refused(models: Sequence[str], cells: Sequence[str]) -> str:
    """Models by their reasons; of more than half of the models those that take the recipe."""
    groups: dict[str, list[str]] = {}
    for model, numbers in zip(models, cells, strict=True):
        if numbers:
            groups.setdefault(numbers, []).append(model)
    found = []
    for numbers, refused in groups.items():
        others = [model for model in models if model not in refused]
        all_but = 2 * len(refused) > len(models)
        named = f"{ALL_BUT}{', '.join(others)}" if all_but else ", ".join(refused)
        found.append(f"{named} ({numbers})")
    return "; ".join(found)


def listing() -> str:
    """All recipes with what they are and where they come from, as a table in Markdown."""
    rows = [(f"`{one['name']}`", one["description"], one["source"]) for one in recipe_rows()]
    return compact(("recipe", "what it is", "source"), rows)


def main() -> None:
    """Try all, and print or write the tables."""
    parser = argparse.ArgumentParser(description="Every recipe on every shipped model.")
    parser.add_argument("--doc", type=Path, help="page whose tables are replaced")
    arguments = parser.parse_args()
    made = table(
        {
            (recipe, model): run(model, recipe)
            for recipe in recipe_names()
            for model in data_names("models")
        }
    )
    tell(arguments.doc, "recipe-list", listing())
    tell(arguments.doc, "recipes", made)


if __name__ == "__main__":
    main()
