"""Every recipe on every shipped model: what docs/reference/recipes.md says comes of it."""

from __future__ import annotations

import re

import pytest

from experiments.marked import marked
from experiments.recipe_table import ALL_BUT, Outcome, listing, load, run, table
from gpusim.config.recipe import recipe_names
from gpusim.files.shipped import data_names
from gpusim.machine.load import load_model
from tests import ROOT
from tests.quick import quick

PAGE = ROOT / "docs" / "reference" / "recipes.md"
PAIRS = [(recipe, model) for recipe in recipe_names() for model in data_names("models")]
TOLD = marked(PAGE.read_text(encoding="utf-8"), "recipes")
RUNS_THERE = Outcome()


REWRITE = "gpusim study recipe-table --doc docs/reference/recipes.md"


def test_the_list_is_that_of_the_recipes() -> None:
    assert marked(PAGE.read_text(encoding="utf-8"), "recipe-list") == listing(), REWRITE


def runs_in_the_table(recipe: str, model: str) -> bool:
    """Whether the page says that a recipe runs on a model."""
    rows = (line for line in TOLD.splitlines() if line.startswith("|`"))
    row = next((one for one in rows if f"`{recipe}`" in one.split("|")[1]), None)
    if row is None:
        return True
    for models, _ in re.findall(r"(?:\||; )([^;|]+) \(([\d, ]+)\)", row):
        named = set(models.removeprefix(ALL_BUT).split(", "))
        if (model in named) != models.startswith(ALL_BUT):
            return False
    return True


@pytest.mark.long
@pytest.mark.parametrize("model", ["a100-mig", "kepler-uvm"])
def test_what_runs_on_a_model_runs_in_the_table(model: str) -> None:
    for recipe in recipe_names():
        refused = isinstance(load(model, recipe), Outcome)
        assert runs_in_the_table(recipe, model) != refused, recipe


@pytest.mark.parametrize("recipe", quick(recipe_names(), *recipe_names()[::6]))
def test_every_recipe_runs_on_a_small_machine(recipe: str) -> None:
    outcome = run("tiny", recipe)
    assert runs_in_the_table(recipe, "tiny") == (not outcome.reasons)
    assert all(f". {reason}" in TOLD for reason in outcome.reasons)


@pytest.mark.long
def test_refusals_are_those_of_the_table() -> None:
    """That all others run is a test of every recipe on every model."""
    loaded = {pair: load(pair[1], pair[0]) for pair in PAIRS}
    refused = {pair: one for pair, one in loaded.items() if isinstance(one, Outcome)}
    assert table(dict.fromkeys(PAIRS, RUNS_THERE) | refused) == TOLD, REWRITE


@pytest.mark.parametrize("model", data_names("models"))
@pytest.mark.parametrize("names", ["star+mask-tokens", "sub-entries+star+mask-tokens"])
def test_every_machine_takes_star(model: str, names: str) -> None:
    *_, tlb = load_model(model, [names]).config.tlb.values()
    assert (tlb.array.policy, tlb.fill.policy) == ("star", "mask-tokens")
    assert tlb.sub_entries >= 16
