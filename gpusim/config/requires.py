"""Requirements of a recipe on a machine: conditions on its keys, and words for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gpusim.config.layers import NONE, Setting, Tree, leaves
from gpusim.config.roles import ROLES, levels_of, missing_roles, on_levels, own_value
from gpusim.config.schema import GpuConfig
from gpusim.config.stage_placement import missing_places
from gpusim.files.structure import Problem, StructureError, default_of
from gpusim.files.toml_document import Key
from gpusim.files.units import is_size, parse_bytes

ANY = "any"
"""A table or value has to be there, whatever it is; `NONE`: it must not be there."""

BOUNDS = {"at_least": "or more", "at_most": "or less"}


def requirement_problems(requires: Tree) -> Iterator[Problem]:
    """Keys that no machine has, and conditions that cannot be."""
    for key, setting in leaves(requires):
        asked, bound = _parted(key)
        try:
            default_of(GpuConfig, asked)
        except StructureError as error:
            yield from error.problems
        if bound and _amount(setting.value) is None:
            yield Problem(key, f"{setting.value!r}: must be a number or a size")
        elif setting.value == []:
            yield Problem(key, "must name what is allowed, not nothing")


def lacks(changes: Tree, requires: Tree, machine: Tree, seen: Tree) -> Iterator[str]:
    """What a machine lacks for a recipe, and what it has instead, for people.

    Args:
        changes: what the recipe sets.
        requires: its conditions.
        machine: what it is to be laid on, whose levels have the roles.
        seen: the same with the user's overrides, whose values are judged.
    """
    roles = [*missing_roles(changes, machine), *missing_roles(requires, machine)]
    missing = [*(ROLES[role].what for role in roles), *missing_places(changes, machine)]
    for what in dict.fromkeys(missing):
        yield f"needs {what}: {_name(machine)}'s {_levels(machine)}"
    for key, setting in leaves(requires):
        asked, bound = _parted(key)
        for own in on_levels(asked, machine):
            value = own_value(seen, own)
            if not _holds(setting.value, bound, value):
                yield f"needs {need(key, setting)}: {_name(machine)} has {_has(own, value)}"


def need(key: Key, setting: Setting) -> str:
    """A condition in words, with the comment beside it."""
    asked, bound = _parted(key)
    name, value = ".".join(asked), setting.value
    if bound:
        words = f"{name} of {value} {BOUNDS[bound]}"
    elif value in (ANY, NONE):
        words = f"{'a' if value == ANY else 'no'} table [{name}]"
    else:
        words = f"{name} = {' or '.join(map(_text, _listed(value)))}"
    return f"{words} ({setting.citation})" if setting.citation else words


def _parted(key: Key) -> tuple[Key, str]:
    """The key of the machine, and the bound if the last name is one."""
    return (key[:-1], key[-1]) if key[-1] in BOUNDS else (key, "")


def _holds(condition: Any, bound: str, value: Any) -> bool:
    absent = value in (None, NONE, {})
    if bound:
        amount, limit = _amount(value), _amount(condition)
        if amount is None or limit is None:
            return False
        return amount >= limit if bound == "at_least" else amount <= limit
    if condition in (ANY, NONE):
        return absent is bool(condition == NONE)
    return any(_plain(value) == _plain(one) for one in _listed(condition))


def _plain(value: Any) -> Any:
    """Sizes in bytes, however they are written."""
    amount = _amount(value)
    return value if amount is None else amount


def _amount(value: Any) -> float | None:
    if isinstance(value, str):
        return parse_bytes(value) if is_size(value) else None
    return value if type(value) in (int, float) else None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _has(key: Key, value: Any) -> str:
    if value is None:
        return "none"
    return "one" if isinstance(value, dict) else f"{'.'.join(key)} = {_text(value)}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _name(machine: Tree) -> str:
    name = machine.get("name")
    return str(name.value) if isinstance(name, Setting) else "the machine"


def _levels(machine: Tree) -> str:
    levels = [f"{name} ({scope})" for name, scope in levels_of(machine)]
    return f"{'levels are' if len(levels) > 1 else 'only level is'} {', '.join(levels) or 'none'}"
