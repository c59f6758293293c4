"""Recipes: what a mechanism changes in a machine, and requires of it, as files for any machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from gpusim.config.layers import Tree, leaves, tree_of
from gpusim.config.requires import need, requirement_problems
from gpusim.config.roles import role_problems
from gpusim.config.stage_placement import place_problems
from gpusim.core.errors import UserError, few, nearest
from gpusim.core.untrusted import is_file
from gpusim.files.shipped import data_folder
from gpusim.files.structure import Problem
from gpusim.files.toml_document import Document, Key, read_document

HEADER = ("description", "source", "based_on", "requires")
"""Keys of a recipe that say something about it instead of the machine."""

_NOT_OURS = {
    "name": "a recipe has the name of its file, and leaves the machine's alone",
    "variants": "a recipe has none: another file may be based_on it",
}
"""Keys of a model that a recipe cannot have, and why."""


@frozen(eq=False)
class Recipe:
    """A mechanism for any machine that has what it requires.

    Attributes:
        name: a shipped recipe's, else the name of its file.
        description: what it does, for people.
        source: of the mechanism: a paper and its section.
        based_on: recipes that are laid below it.
        changes: what it sets, TLB levels by their roles.
        requires: conditions on keys of the machine, TLB levels by their roles.
        path: its file.
    """

    name: str
    description: str
    source: str
    based_on: tuple[str, ...]
    changes: Tree
    requires: Tree
    path: Path

    @property
    def needs(self) -> tuple[str, ...]:
        """What it requires of a machine, in words."""
        return tuple(need(key, setting) for key, setting in leaves(self.requires))


def recipe_names() -> tuple[str, ...]:
    """Names of the shipped recipes, sorted."""
    return tuple(sorted(path.stem for path in _folder().glob("*.toml")))


def is_recipe(name: str, folder: Path) -> bool:
    """Whether `find_recipe` finds it."""
    return name in recipe_names() or (is_path(name) and is_file(folder / name))


def is_path(name: str) -> bool:
    """Whether a user means a file, not a name."""
    return name.endswith(".toml")


def find_recipe(name: str, folder: Path) -> Recipe:
    """A shipped recipe by name, or a user's own by path.

    Args:
        name: of either.
        folder: that a path begins in.

    Raises:
        UserError: there is none, or it is wrong; the message names file, line and key.
    """
    if is_path(name):
        path = folder / name
        if not is_file(path):
            raise UserError(f"there is no recipe file {name!r}")
        return _read(path.name, path)
    names = recipe_names()
    if name not in names:
        raise UserError(
            f"there is no recipe {name!r}{nearest(name, names)}; allowed: {few(names, name)}, "
            "or the path of a .toml file"
        )
    return _read(name, _folder() / f"{name}.toml")


def with_bases(
    recipe: Recipe, chain: Key = (), inside: tuple[Path, ...] = ()
) -> Iterator[tuple[Recipe, Key]]:
    """The recipes that one is based on, in the order in which they are laid, and itself.

    Args:
        recipe: the one.
        chain: names that led to it; each recipe comes with its own.
        inside: files of the recipes that led to it.

    Raises:
        UserError: one is not there, or based on itself.
    """
    chain, inside = (*chain, recipe.name), (*inside, recipe.path.resolve())
    for name in recipe.based_on:
        base = find_recipe(name, recipe.path.parent)
        if base.path.resolve() in inside:
            raise UserError(
                f"{recipe.path}: recipe {base.name!r} is based on itself: "
                f"{' → '.join((*chain, base.name))}"
            )
        yield from with_bases(base, chain, inside)
    yield recipe, chain


def _folder() -> Path:
    return data_folder("models") / "recipes"


def _read(name: str, path: Path) -> Recipe:
    document = read_document(path)
    header = {key: document.data[key] for key in HEADER if key in document.data}
    data = {key: value for key, value in document.data.items() if key not in HEADER}
    changes = tree_of(document, f"recipe {name}", (), data)
    _refuse(document, _header_problems(header))
    requires = tree_of(document, "requires", ("requires",), header.get("requires", {}))
    _refuse(document, _problems(changes, requires))
    based_on = header.get("based_on", [])
    return Recipe(
        name=name,
        description=header["description"],
        source=header["source"],
        based_on=(based_on,) if isinstance(based_on, str) else tuple(based_on),
        changes=changes,
        requires=requires,
        path=path,
    )


def _header_problems(header: Mapping[str, Any]) -> Iterator[Problem]:
    for name in ("description", "source"):
        if not isinstance(header.get(name), str) or not header[name]:
            yield Problem((name,), "must be a text" if name in header else "is missing")
    names = header.get("based_on", [])
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        yield Problem(("based_on",), "must be a recipe's name, or a list of names")
    if not isinstance(header.get("requires", {}), dict):
        yield Problem(("requires",), "must be a table [requires]")


def _problems(changes: Tree, requires: Tree) -> Iterator[Problem]:
    for name in changes:
        if name in _NOT_OURS:
            yield Problem((name,), _NOT_OURS[name])
    yield from role_problems(changes)
    yield from place_problems(changes)
    for problem in (*role_problems(requires), *requirement_problems(requires)):
        yield Problem(("requires", *problem.key), problem.message)


def _refuse(document: Document, problems: Iterator[Problem]) -> None:
    lines = []
    for problem in problems:
        note = document.notes.get(problem.key) or document.note(problem.key)
        where = f"{document.path}:{note.line}" if note else str(document.path)
        lines.append(f"{where}: {'.'.join(problem.key)}: {problem.message}")
    if lines:
        raise UserError("\n".join(dict.fromkeys(lines)))
