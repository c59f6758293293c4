"""The layers of a model: a file, its variants and the user's overrides, laid over each other."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from typing import Any

from attrs import frozen

from gpusim.core.errors import UserError
from gpusim.files.toml_document import MOST_NESTED, Document, Key

VARIANT_KEYS = ("based_on", "description")
"""Keys of a ``[variants.NAME]`` table that say something about it instead of the machine."""

NONE = "none"
"""What a layer writes to take a component away, such as ``tlb.L2 = "none"``."""


OVERRIDE = "--set"
"""Origin of what the user gives beside the files."""


@frozen
class Setting:
    """One value of a model file, not yet checked.

    Attributes:
        value: as TOML gives it.
        origin: the layer that it came from: a file, ``"variant NAME"``, ``"recipe NAME"`` or
            ``"--set"``.
        where: file and line, for messages.
        citation: the comment beside it.
    """

    value: Any
    origin: str
    where: str
    citation: str


Tree = dict[str, "Tree | Setting"]
"""Nested tables, with a `Setting` at every leaf."""


def base_layer(document: Document) -> Tree:
    """The machine of a model file without any variant."""
    data = {key: value for key, value in document.data.items() if key != "variants"}
    origin = f"{document.path.parent.name}/{document.path.name}"
    return tree_of(document, origin, (), data)


def variants_of(document: Document) -> Mapping[str, Mapping[str, Any]]:
    """The ``[variants.*]`` tables by name.

    Raises:
        UserError: `variants` or one of them is not a table.
    """
    variants = document.data.get("variants", {})
    if not isinstance(variants, dict):
        raise UserError(f"{document.path}: variants = {variants!r}: must be tables [variants.NAME]")
    for name, table in variants.items():
        if not isinstance(table, dict):
            raise UserError(f"{document.path}: variants.{name} = {table!r}: must be a table")
    return variants


def variant_layer(document: Document, name: str) -> Tree:
    """What a variant of a model changes, without those that it is based on."""
    table = variants_of(document)[name]
    data = {key: value for key, value in table.items() if key not in VARIANT_KEYS}
    return tree_of(document, f"variant {name}", ("variants", name), data)


def override_layer(overrides: Mapping[str, object]) -> Tree:
    """``{"tlb.L2.entries": "1024"}`` as a layer; strings are read as TOML values where they are.

    A policy is laid before its options, in whatever order they are given.
    """
    layer: Tree = {}
    for dotted, value in sorted(overrides.items(), key=lambda one: _depth(one[0])):
        names = dotted.split(".")
        if not all(names) or len(names) > MOST_NESTED:
            raise UserError(f"--set: {dotted[:80]!r}: not a key; write it like tlb.L2.entries")
        single: Tree | Setting = Setting(parse_scalar(value), OVERRIDE, OVERRIDE, "your own --set")
        for name in reversed(names):
            single = {name: single}
        assert isinstance(single, dict)
        merge(layer, single)
    return layer


def _depth(dotted: str) -> int:
    """How many tables a key is in; that of a policy is where its slot is."""
    return dotted.removesuffix(".policy").count(".")


def own_numbers(overrides: Mapping[str, object] | None) -> dict[str, object]:
    """Overrides whose numbers are Python's own: loops over arrays of numpy have others."""
    return {key: _own_number(value) for key, value in (overrides or {}).items()}


def _own_number(value: object) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def parse_scalar(value: object) -> object:
    """A value given on the command line: a TOML value, else a bare string."""
    if not isinstance(value, str):
        return value
    try:
        parsed = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):  # no TOML, thousands of digits, thousands of brackets
        return value
    return parsed["value"] if len(parsed) == 1 else value


def merge(under: Tree, over: Tree) -> None:
    """Lay `over` over `under`, which changes: tables are merged, values replaced.

    A table that names its `policy` replaces the policy below with its options; one without it
    adds options to the policy there.
    """
    for name, new in over.items():
        old = under.get(name)
        if isinstance(new, Setting) or "policy" in new:
            under[name] = new if isinstance(new, Setting) else dict(new)
            continue
        if isinstance(old, Setting) and isinstance(old.value, str) and old.value != "none":
            old = {"policy": old}
        if not isinstance(old, dict):
            old = {}
        under[name] = old
        merge(old, new)


def tree_of(document: Document, origin: str, key: Key, data: Mapping[str, Any]) -> Tree:
    """Tables of a file, which stand there under `key`, with line and comment of each value."""
    tree: Tree = {}
    for name, value in data.items():
        inner = (*key, name)
        if isinstance(value, dict):
            tree[name] = tree_of(document, origin, inner, value)
            continue
        note = document.note(inner)
        where = f"{document.path}:{note.line}" if note else str(document.path)
        tree[name] = Setting(value, origin, where, document.comment(inner))
    return tree


def find_node(tree: Tree, key: Key) -> Tree | Setting | None:
    """What stands under a key, if anything."""
    node: Tree | Setting | None = tree
    for name in key:
        if not isinstance(node, dict):
            return None
        node = node.get(name)
    return node


def leaves(node: Tree | Setting | None, key: Key = ()) -> Iterator[tuple[Key, Setting]]:
    """Every setting in a tree, with its key below `key`."""
    if isinstance(node, Setting):
        yield key, node
    elif node is not None:
        for name, inner in node.items():
            yield from leaves(inner, (*key, name))
