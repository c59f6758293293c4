"""The names that a user stacks on a model: its own variants, shipped recipes, and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from gpusim.config.layers import Tree, merge, variant_layer, variants_of
from gpusim.config.recipe import (
    Recipe,
    find_recipe,
    is_path,
    is_recipe,
    recipe_names,
    with_bases,
)
from gpusim.config.requires import lacks
from gpusim.config.roles import settings_on
from gpusim.config.stage_placement import placed, without_places
from gpusim.core.errors import UserError, few, nearest
from gpusim.files.toml_document import Document, Key


@frozen(eq=False)
class Laid:
    """A recipe in a stack.

    Attributes:
        recipe: the recipe.
        chain: names that led to it, its own last.
    """

    recipe: Recipe
    chain: Key


def stacked(document: Document, names: Iterable[str]) -> tuple[str, ...]:
    """Names of variants and recipes; ``"a+b"`` stands for a and then b, unless one is called so."""
    variants = variants_of(document)

    def is_one(name: str) -> bool:
        return name in variants or is_recipe(name, Path())

    return tuple(part for name in names for part in split_stack(name, is_one))


def split_stack(names: str, is_one: Callable[[str], bool]) -> Iterator[str]:
    """The parts of ``"a+b"``; of several readings the one with the longest name first counts.

    Args:
        names: of what is stacked.
        is_one: whether there is something of a name that has a ``+`` inside.
    """
    words = names.split("+")
    while words:
        lengths = range(len(words), 1, -1)
        longest = next((n for n in lengths if is_one("+".join(words[:n]))), 1)
        yield "+".join(words[:longest])
        words = words[longest:]


def lay(tree: Tree, document: Document, names: Iterable[str], overrides: Tree) -> None:
    """Lay variants and recipes over a machine, each after those that it is based on.

    Args:
        tree: the machine, which changes.
        document: its model file.
        names: of variants of the model, of recipes, or paths of recipes; the first that there is.
        overrides: what the user will lay above: a recipe's conditions may be met by them.

    Raises:
        UserError: there is no such variant or recipe, it is based on itself, or the machine
            lacks what a recipe requires.
    """
    for name in names:
        for layer in _layers(document, name, ()):
            merge(tree, _on(layer, tree, overrides) if isinstance(layer, Laid) else layer)


def _on(laid: Laid, tree: Tree, overrides: Tree) -> Tree:
    """A recipe as a layer for this machine."""
    recipe = laid.recipe
    seen = _copy(tree)
    merge(seen, overrides)
    missing = list(lacks(recipe.changes, recipe.requires, tree, seen))
    if missing:
        first = laid.chain[0]
        who = f"recipe {recipe.name!r}"
        if len(laid.chain) > 1:
            who = f"{first!r} is based on {who}, which"
        raise UserError("\n".join(f"{who} {one}" for one in missing))
    changes = without_places(recipe.changes)
    return {**settings_on(changes, tree), **placed(recipe.changes, tree)}


def _copy(tree: Tree) -> Tree:
    return {name: _copy(one) if isinstance(one, dict) else one for name, one in tree.items()}


def _layers(document: Document, name: str, chain: Key) -> Iterator[Tree | Laid]:
    variants = variants_of(document)
    folder = document.path.parent if chain else Path()
    refines = chain[-1:] == (name,) and is_recipe(name, folder)  # a recipe of its own name
    if name not in variants or refines:
        for recipe, names in with_bases(_recipe(document, name, folder), chain):
            yield Laid(recipe, names)
            if recipe.name not in chain and _refines(document, recipe.name):
                yield variant_layer(document, recipe.name)
        return
    if name in chain:
        raise UserError(
            f"{document.path}: variant {name!r} is based on itself: {' → '.join((*chain, name))}"
        )
    for base in _based_on(document, name, variants[name].get("based_on", [])):
        yield from _layers(document, base, (*chain, name))
    yield variant_layer(document, name)


def _refines(document: Document, name: str) -> bool:
    """Whether a variant is based on the recipe of its name, and so goes with it everywhere."""
    variants = variants_of(document)
    return name in variants and name in _based_on(
        document, name, variants[name].get("based_on", [])
    )


def _recipe(document: Document, name: str, folder: Path) -> Recipe:
    if is_path(name) or is_recipe(name, folder):
        return find_recipe(name, folder)
    variants = variants_of(document)
    recipes = [one for one in recipe_names() if one not in variants]
    raise UserError(
        f"{document.path}: there is no variant {name!r}{nearest(name, [*variants, *recipes])}; "
        f"allowed: {', '.join(variants) or 'it has none of its own'}; "
        f"for any model: {few(recipes, name)} (gpusim list recipes), or the path of a recipe"
    )


def _based_on(document: Document, name: str, bases: Any) -> list[str]:
    if isinstance(bases, str):
        return [bases]
    if isinstance(bases, list) and all(isinstance(base, str) for base in bases):
        return bases
    raise UserError(
        f"{document.path}: variants.{name}.based_on = {bases!r}: must be the name of a variant "
        "or recipe, or a list of names"
    )
