"""Pairs of recipes on every shipped model: which run, and why the others are refused.

``gpusim study pairs-on-models`` takes the recipes of experiments/compositions.toml, lays them on
each model alone and in pairs, and runs a launch of atax on each machine (see
`experiments.recipe_table`); with ``--doc`` it writes the table into docs/compositions.md.  Page
walks read memory on all models (recipe memory-walks), as MASK needs it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from attrs import field, frozen

from experiments.compositions import SPEC
from experiments.marked import compact, tell
from experiments.recipe_table import run
from gpusim.core.errors import UserError
from gpusim.files.shipped import data_names
from gpusim.studies.sweep.pairs import Machines, pair_name
from gpusim.studies.sweep.point import BASELINE
from gpusim.studies.sweep.spec import read_sweep

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

UNDER = "memory-walks"
AGAIN = {"mask-quick": f"{UNDER}+mask-quick"}
"""What is laid for a recipe: vc-opt lets walkers read DRAM, and MASK the L2 cache again."""


@frozen
class Found:
    """What runs on a model.

    Attributes:
        alone: recipes that run.
        pairs: pairs of these that run, of how many.
        refused: why a recipe, or a pair of such as run alone, is refused, by its name.
    """

    alone: tuple[str, ...]
    pairs: tuple[int, int]
    refused: Mapping[str, tuple[str, ...]] = field(factory=dict)


def try_model(model: str, recipes: Sequence[str]) -> Found:
    """Run each recipe on a model, and each pair of those that run.

    Raises:
        Exception: anything but a refusal.
    """
    refused: dict[str, tuple[str, ...]] = {}
    alone = []
    for recipe in recipes:
        outcome = run(model, UNDER, *_laid(recipe))
        if outcome.reasons:
            refused[recipe] = outcome.reasons
        else:
            alone.append(recipe)
    machines, ran = Machines(model, (UNDER,)), 0
    pairs = list(combinations(alone, 2))
    for first, second in pairs:
        reasons = tuple(_why_not(machines, model, first, second))
        if reasons:
            refused[pair_name(first, second)] = reasons
        else:
            ran += 1
    return Found(tuple(alone), (ran, len(pairs)), refused)


def _why_not(machines: Machines, model: str, first: str, second: str) -> Iterator[str]:
    one, other = (AGAIN.get(name, name) for name in (first, second))
    try:
        reason = machines.why_not(one, other)
    except UserError as error:
        reason = str(error)
    if reason.startswith("both decide"):
        yield reason
    else:
        yield from run(model, UNDER, *_laid(first), *_laid(second)).reasons


def _laid(recipe: str) -> Sequence[str]:
    return AGAIN.get(recipe, recipe).split("+")


def table(found: Mapping[str, Found]) -> str:
    """A row in Markdown for models of which the same runs, reasons numbered below."""
    numbers: dict[str, int] = {}
    rows: dict[tuple[str, str, str], list[str]] = {}
    for model, of_model in found.items():
        grouped: dict[tuple[int, ...], list[str]] = {}
        for name, reasons in of_model.refused.items():
            why = tuple(numbers.setdefault(one, len(numbers) + 1) for one in reasons)
            grouped.setdefault(why, []).append(f"`{name}`")
        ran, tried = of_model.pairs
        refused = "; ".join(
            f"{', '.join(names)} ({', '.join(map(str, why))})" for why, names in grouped.items()
        )
        same = (str(len(of_model.alone)), f"{ran} of {tried}", refused)
        rows.setdefault(same, []).append(f"`{model}`")
    head = ("models", "recipes that run", "pairs of these that run", "refused (why)")
    below = [f"{number}. {reason}" for reason, number in numbers.items()]
    lines = [(", ".join(models), *same) for same, models in rows.items()]
    return "\n".join([compact(head, lines), "", *below])


def main() -> None:
    """Try all, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--doc", type=Path, help="page whose table is replaced")
    parser.add_argument("--model", action="append", help="these only; default: all")
    arguments = parser.parse_args()
    recipes = [one for one in read_sweep(SPEC).variants if one != BASELINE]
    models = arguments.model or data_names("models")
    tell(arguments.doc, "pairs on models", table({one: try_model(one, recipes) for one in models}))


if __name__ == "__main__":
    main()
