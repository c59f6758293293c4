"""The place of a recipe's stage of translation among the stages of any machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import evolve

from gpusim.config.layers import NONE, Setting, Tree
from gpusim.config.roles import ROLES, TLB, levels_of, on_levels
from gpusim.config.schema import WALK_STAGE
from gpusim.core.errors import nearest
from gpusim.files.structure import Problem

STAGE, STAGES = "stage", "stages"

BEHIND = "behind"
"""Key of the place before a stage in a recipe: ``"tlb.last"``, a role that one level has, or the
name of another stage."""


def place_problems(changes: Tree) -> Iterator[Problem]:
    """Places that cannot be on any machine."""
    roles = [f"{TLB}.{name}" for name, role in ROLES.items() if not role.several]
    for name, place in _places(changes):
        role = place.value
        if not isinstance(role, str) or (role.startswith(f"{TLB}.") and role not in roles):
            hint = nearest(role, roles) if isinstance(role, str) else ""
            yield Problem(
                (STAGE, name, BEHIND),
                f"{role!r}: not allowed{hint}; allowed: {', '.join(roles)}, or a stage's name",
            )


def missing_places(changes: Tree, machine: Tree) -> Iterator[str]:
    """What a machine lacks that a recipe's stages would stand behind, in words."""
    names = stages_of(machine)
    for name, place in _places(changes):
        if _found(place.value, machine) not in names:
            role = ROLES.get(place.value.removeprefix(f"{TLB}."))
            meant = f"{TLB}.{place.value}" if place.value in ROLES else ""
            hint = f"; did you mean {meant!r}?" if meant else ""
            yield role.what if role else f"a stage {place.value!r}{hint}"
        else:
            names.append(name)


def placed(changes: Tree, machine: Tree) -> Tree:
    """The machine's list of stages with those of a recipe in it, as a layer; empty if it has none.

    A machine that lacks what they stand behind is refused before.
    """
    layer: Tree = {}
    names = stages_of(machine)
    for name, place in _places(changes):
        names.insert(names.index(_found(place.value, machine)) + 1, name)
        layer[STAGES] = evolve(place, value=list(names))
    return layer


def without_places(changes: Tree) -> Tree:
    """What a recipe changes, as keys that a machine has."""
    tables = changes.get(STAGE)
    if not isinstance(tables, dict):
        return changes
    stages: Tree = {
        name: {key: one for key, one in table.items() if key != BEHIND}
        if isinstance(table, dict)
        else table
        for name, table in tables.items()
    }
    return {**changes, STAGE: stages}


def stages_of(machine: Tree) -> list[str]:
    """The stages of a machine as it is laid so far, from the SM outward."""
    written = machine.get(STAGES)
    levels = [name for name, _ in levels_of(machine)]
    if not isinstance(written, Setting) or not written.value:
        return [*levels, WALK_STAGE]
    return [name for name in written.value if not is_gone(machine, name)]


def is_gone(machine: Tree, name: str) -> bool:
    """Whether a layer has taken a stage away."""
    tables = (machine.get(table) for table in (TLB, STAGE))
    nodes: list[Any] = [table.get(name) for table in tables if isinstance(table, dict)]
    return any(isinstance(node, Setting) and node.value == NONE for node in nodes)


def _places(changes: Tree) -> Iterator[tuple[str, Setting]]:
    tables = changes.get(STAGE)
    for name, table in tables.items() if isinstance(tables, dict) else ():
        place = table.get(BEHIND) if isinstance(table, dict) else None
        if isinstance(place, Setting):
            yield name, place


def _found(place: str, machine: Tree) -> str:
    """The stage of a machine that a place names, if it has one."""
    if not place.startswith(f"{TLB}."):
        return place
    levels = on_levels((TLB, place.removeprefix(f"{TLB}.")), machine)
    return levels[0][1] if levels else ""
