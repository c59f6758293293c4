"""Loading a model: a TOML file, variants, recipes and overrides become a checked `GpuConfig`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from gpusim.config.bases import with_bases
from gpusim.config.check import check_machine
from gpusim.config.check_memory import check_memory
from gpusim.config.check_virtual import check_virtual_l2
from gpusim.config.field_facts import optional_keys
from gpusim.config.layers import (
    NONE,
    OVERRIDE,
    Setting,
    Tree,
    leaves,
    merge,
    override_layer,
    own_numbers,
)
from gpusim.config.schema import GpuConfig
from gpusim.config.stack import lay, stacked
from gpusim.config.stage_placement import STAGES, is_gone
from gpusim.config.toml import to_toml
from gpusim.config.value import Value
from gpusim.core.errors import UserError
from gpusim.core.notebook import html_facts
from gpusim.core.policy import PolicyConfig
from gpusim.core.untrusted import untrusted
from gpusim.core.user_code import refusal
from gpusim.files.shipped import find_data
from gpusim.files.structure import (
    Problem,
    StructureError,
    attributes_of,
    structure,
    unstructure,
)
from gpusim.files.toml_document import Key, read_document
from gpusim.files.units import format_bytes, format_hertz

MADE = {"stages": "the TLB levels in the order of their tables, then the walkers"}
"""Values that follow from others where no layer sets them, and how."""

FOLLOWS = "follows"
"""Origin of a value that follows from others."""

DEFAULT = "default"
"""Origin of a value that no layer sets."""


OPTIONAL = optional_keys(GpuConfig)
"""Tables and keys that a machine may do without: `NONE` takes them away."""

Check = Callable[[GpuConfig], Iterable[Problem]]
"""Finds what is wrong with a machine."""


@frozen
class LoadedModel:
    """A machine, ready to be built, and where it comes from.

    Attributes:
        name: of the model.
        config: the machine.
        path: the model file.
        variants: those that were applied, in order.
        overrides: those that were applied, as they were given.
        values: every value of the machine, in the order of the schema.
    """

    name: str
    config: GpuConfig
    path: str
    variants: tuple[str, ...]
    overrides: Mapping[str, object]
    values: tuple[Value, ...]

    @property
    def origins(self) -> Mapping[str, str]:
        """Dotted key → where its value comes from."""
        return {value.key: value.origin for value in self.values}

    def to_toml(self) -> str:
        """The machine as a model file without variants, citations included."""
        return to_toml(self.values)

    def _repr_html_(self) -> str:
        """The machine in a few lines, as notebooks show it."""
        config = self.config
        tlbs = (f"{name} {tlb.entries:,} entries a {tlb.scope}" for name, tlb in config.tlb.items())
        facts = {
            "what": config.description,
            "SMs": f"{config.sm.count} at {format_hertz(config.clock)}",
            "TLBs": ", ".join(tlbs),
            "walkers": f"{config.walk.walkers}",
            "page": format_bytes(config.memory.page),
            "caches": f"L1 {format_bytes(config.l1.size)} an SM, L2 {format_bytes(config.l2.size)}",
            "set": ", ".join(f"{key} = {value}" for key, value in self.overrides.items()) or "–",
        }
        return html_facts(" + ".join((self.name, *self.variants)), facts)


def read_model(
    name_or_path: str,
    variants: Iterable[str],
    overrides: Mapping[str, object] | None,
    check: Check,
) -> LoadedModel:
    """Read a model, lay variants and recipes over it in the given order, then overrides.

    Args:
        name_or_path: a shipped model (``"kepler-uvm"``) or a TOML file.
        variants: each a name of its ``[variants.*]`` tables, of a recipe, or a recipe's path;
            ``"a+b"`` stands for a and then b.
        overrides: dotted key → value; strings are read like TOML values where they are any.
        check: further problems of a machine, found by the code that builds it.

    Raises:
        UserError: no such file, variant or recipe, a machine that lacks what a recipe requires, or
            a key or value that cannot be; the message names the place, the key, the value, what
            is allowed and the nearest name.
    """
    with untrusted(f"model {name_or_path}", "cannot be read"):
        return _read_model(name_or_path, variants, overrides, check)


def _read_model(
    name_or_path: str,
    variants: Iterable[str],
    overrides: Mapping[str, object] | None,
    check: Check,
) -> LoadedModel:
    path = find_data("models", name_or_path)
    document = read_document(path)
    names = stacked(document, (variants,) if isinstance(variants, str) else variants)
    given = own_numbers(overrides)
    tree, above = with_bases(document), override_layer(given)
    lay(tree, document, names, above)
    merge(tree, above)
    _remove_absent(tree)
    try:
        config = structure(_plain(tree), GpuConfig)
        config = evolve(config, stages=config.stage_names)
    except StructureError as error:
        raise _refusal(error.problems, tree, str(path)) from error
    problems = list(check_memory(config)) + list(_named_code(config, tree, str(path)))
    problems = problems or _problems(config, (check_machine, check_virtual_l2, check))
    if problems:
        raise _refusal(problems, tree, str(path))
    return LoadedModel(
        name=config.name,
        config=config,
        path=str(path),
        variants=names,
        overrides=given,
        values=tuple(_values(unstructure(config), tree, ())),
    )


def _named_code(config: GpuConfig, tree: Tree, path: str) -> Iterator[Problem]:
    """Policies that files name which may not; what the user typed is the user's own."""
    for key, _, policy in attributes_of(config):
        if not isinstance(policy, PolicyConfig):
            continue
        setting = _setting(tree, key)
        file = path if setting is None else setting.where.rpartition(":")[0] or setting.where
        own = setting is not None and setting.origin == OVERRIDE
        if not own and (why := refusal(policy.policy, file)):
            yield Problem(key, why)


def _problems(config: GpuConfig, checks: Iterable[Check]) -> list[Problem]:
    """All that is wrong; what later checks make of a value that was refused is of no interest."""
    found: list[Problem] = []
    try:
        for check in checks:
            for problem in check(config):
                found.append(problem)  # noqa: PERF402  (those before an error count)
    except (ArithmeticError, LookupError, ValueError):
        if not found:
            raise
    return found


def _remove_absent(tree: Tree) -> None:
    """Take away what a layer has set to `NONE`, also from a list of stages that a layer wrote."""
    if isinstance(stages := tree.get(STAGES), Setting) and isinstance(stages.value, list):
        tree[STAGES] = evolve(
            stages, value=[name for name in stages.value if not is_gone(tree, name)]
        )
    for key in OPTIONAL:
        _remove(tree, key.split("."))


def _remove(tree: Tree, key: Sequence[str]) -> None:
    """Take a key away where it is set to `NONE`; ``*`` stands for any name."""
    name, *rest = key
    for one in list(tree) if name == "*" else [name]:
        inner = tree.get(one)
        if rest and isinstance(inner, dict):
            _remove(inner, rest)
        elif not rest and isinstance(inner, Setting) and inner.value == NONE:
            del tree[one]


def _plain(tree: Tree) -> dict[str, Any]:
    return {
        name: inner.value if isinstance(inner, Setting) else _plain(inner)
        for name, inner in tree.items()
    }


def _values(tables: Mapping[str, Any], tree: Tree, key: Key) -> Iterator[Value]:
    for name, value in tables.items():
        inner = (*key, name)
        if isinstance(value, dict):
            yield from _values(value, tree, inner)
            continue
        setting = _setting(tree, inner)
        if setting is None:
            yield Value(
                ".".join(inner), value, FOLLOWS if name in MADE else DEFAULT, MADE.get(name, "")
            )
        else:
            yield Value(".".join(inner), value, setting.origin, setting.citation)


def _setting(tree: Tree, key: Key) -> Setting | None:
    """The setting behind a key; a policy may be written as a string or as a table."""
    node: Tree | Setting | None = tree
    for name in (*key, "policy"):
        if not isinstance(node, dict):
            break
        node = node.get(name)
    return node if isinstance(node, Setting) else None


def _refusal(problems: Iterable[Problem], tree: Tree, path: str) -> UserError:
    lines = []
    for problem in problems:
        setting = _setting(tree, problem.key)
        key = ".".join(problem.key)
        if setting is None:
            lines.append(f"{_where(tree, problem.key, path)}: {key}: {problem.message}")
        else:
            lines.append(f"{setting.where}: {key} = {setting.value!r}: {problem.message}")
    return UserError("\n".join(dict.fromkeys(lines)))


def _where(tree: Tree, key: Key, path: str) -> str:
    """A place for a key without a value of its own: the override that it came with, or the file."""
    node: Tree | Setting | None = tree
    for name in key:
        if not isinstance(node, dict) or name not in node:
            break
        node = node[name]
    places = {setting.where for _, setting in leaves(node)} if node is not tree else set()
    return places.pop() if len(places) == 1 else path
