"""The layers of a model: a file, its variants and the user's overrides, laid over each other."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from gpusim.config.document import Document, Key
from gpusim.core.errors import UserError, nearest

VARIANT_KEYS = ("based_on", "description")
"""Keys of a ``[variants.NAME]`` table that say something about it instead of the machine."""


@frozen
class Setting:
    """One value of a model file, not yet checked.

    Attributes:
        value: as TOML gives it.
        origin: the layer that it came from: a file, ``"variant NAME"`` or ``"--set"``.
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
    return _tree(document, origin, (), data)


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


def stacked(document: Document, names: Iterable[str]) -> tuple[str, ...]:
    """Names of variants; ``"a+b"`` stands for a and then b, unless a variant is called so.

    Of several readings the one with the longest name first counts.
    """
    defined = variants_of(document)
    return tuple(part for name in names for part in _split(name, defined))


def _split(name: str, defined: Mapping[str, object]) -> Iterator[str]:
    words = name.split("+")
    while words:
        lengths = range(len(words), 0, -1)
        longest = next((n for n in lengths if "+".join(words[:n]) in defined), 1)
        yield "+".join(words[:longest])
        words = words[longest:]


def variant_layers(document: Document, names: Iterable[str]) -> Iterator[Tree]:
    """The layers of the named variants in order, each after those that it is based on.

    Raises:
        UserError: there is no such variant, or it is based on itself.
    """
    for name in names:
        yield from _variant_layers(document, name, ())


def _variant_layers(document: Document, name: str, chain: Key) -> Iterator[Tree]:
    variants = variants_of(document)
    if name not in variants:
        allowed = ", ".join(variants) or "it has none"
        raise UserError(
            f"{document.path}: there is no variant {name!r}{nearest(name, variants)}; "
            f"allowed: {allowed}"
        )
    if name in chain:
        raise UserError(
            f"{document.path}: variant {name!r} is based on itself: {' → '.join((*chain, name))}"
        )
    table = variants[name]
    for base in _based_on(document, name, table.get("based_on", [])):
        yield from _variant_layers(document, base, (*chain, name))
    data = {key: value for key, value in table.items() if key not in VARIANT_KEYS}
    yield _tree(document, f"variant {name}", ("variants", name), data)


def _based_on(document: Document, name: str, bases: Any) -> list[str]:
    if isinstance(bases, str):
        return [bases]
    if isinstance(bases, list) and all(isinstance(base, str) for base in bases):
        return bases
    raise UserError(
        f"{document.path}: variants.{name}.based_on = {bases!r}: must be a variant's name, "
        "or a list of names"
    )


def override_layer(overrides: Mapping[str, object]) -> Tree:
    """``{"tlb.L2.entries": "1024"}`` as a layer; strings are read as TOML values where they are."""
    layer: Tree = {}
    for dotted, value in overrides.items():
        names = dotted.split(".")
        if not all(names):
            raise UserError(f"--set {dotted}: not a key; write it like tlb.L2.entries=1024")
        single: Tree | Setting = Setting(parse_scalar(value), "--set", "--set", "your own --set")
        for name in reversed(names):
            single = {name: single}
        assert isinstance(single, dict)
        merge(layer, single)
    return layer


def parse_scalar(value: object) -> object:
    """A value given on the command line: a TOML value, else a bare string."""
    if not isinstance(value, str):
        return value
    try:
        parsed = tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
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


def _tree(document: Document, origin: str, key: Key, data: Mapping[str, Any]) -> Tree:
    tree: Tree = {}
    for name, value in data.items():
        inner = (*key, name)
        if isinstance(value, dict):
            tree[name] = _tree(document, origin, inner, value)
            continue
        note = document.note(inner)
        where = f"{document.path}:{note.line}" if note else str(document.path)
        tree[name] = Setting(value, origin, where, document.comment(inner))
    return tree
