"""Roles: how a recipe names TLB levels and auxiliary caches of a machine that it does not know."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from attrs import evolve, frozen

from gpusim.config.auxiliary import SIDE_CACHES
from gpusim.config.layers import NONE, Setting, Tree, find_node, leaves, merge
from gpusim.config.schema import GpuConfig
from gpusim.config.translation import SLICES
from gpusim.core.errors import UserError, nearest
from gpusim.files.structure import Problem, StructureError, default_of
from gpusim.files.toml_document import Key
from gpusim.files.units import format_bytes, is_size, parse_bytes

TLB = "tlb"
"""The table whose inner tables a recipe names by role; all others go by their own names."""

AUXILIARY = "auxiliary"
"""A table of a recipe that stands for the tables of all auxiliary caches that a machine has."""

TIMES = "times"
"""Key of a factor for a machine's own number: ``entries = {times = 2}``."""

ABOUT = "about"
"""Key of a factor whose product is rounded to a whole number from 1: ``count = {about = 0.25}``."""

AT_LEAST = "at_least"
"""Key of a number that replaces a machine's own one if that is less: ``{at_least = 16}``."""

RELATIVE = (TIMES, ABOUT, AT_LEAST)
"""Keys of what a recipe sets beside a machine's own number."""

_WIDE = (SLICES, "instance", "gpu")
"""Scopes of a TLB that all SMs share; with MIG, all SMs of an instance."""


@frozen
class Role:
    """A role that TLB levels can have.

    Attributes:
        what: the level or levels, for people.
        several: whether any number of levels may have it, else one must.
        pick: the levels that have it, of names and scopes of all levels from the SM outward.
    """

    what: str
    several: bool
    pick: Callable[[Sequence[tuple[str, str]]], list[str]]


ROLES: Mapping[str, Role] = {
    "first": Role("a first TLB level", False, lambda levels: [name for name, _ in levels[:1]]),
    "second": Role(
        "a TLB level behind the first", False, lambda levels: [name for name, _ in levels[1:2]]
    ),
    "last": Role("a last TLB level", False, lambda levels: [name for name, _ in levels[-1:]]),
    "shared": Role(
        "a TLB that all SMs share",
        False,
        lambda levels: [name for name, scope in levels if scope in _WIDE][-1:],
    ),
    "all": Role("a TLB level", True, lambda levels: [name for name, _ in levels]),
    "outer": Role(
        "a TLB level behind the first", True, lambda levels: [name for name, _ in levels[1:]]
    ),
    "private": Role(
        "a TLB level that not all SMs share",
        True,
        lambda levels: [name for name, scope in levels if scope not in _WIDE],
    ),
}
"""By name, as the documentation of models explains them."""


def role_problems(tables: Tree) -> Iterator[Problem]:
    """Names of TLB levels that are no roles, and factors that are none."""
    levels = tables.get(TLB, {})
    for name in levels if isinstance(levels, dict) else ():
        if name not in ROLES:
            yield Problem(
                (TLB, name),
                f"is no role of a TLB level{nearest(name, ROLES)}; allowed: {', '.join(ROLES)} "
                "(a recipe is for machines with any levels)",
            )
    if not isinstance(levels, dict):
        yield Problem((TLB,), "must be tables [tlb.ROLE]")
    yield from _auxiliary_problems(tables)
    for key, setting in leaves(tables):
        factor = setting.value
        if key[-1] in (TIMES, ABOUT) and (type(factor) not in (int, float) or factor <= 0):
            yield Problem(key, f"{factor!r}: must be a number above zero")
        if key[-1] == AT_LEAST and type(_whole(factor)) not in (int, float):
            yield Problem(key, f"{factor!r}: must be a number or a size")


def _auxiliary_problems(tables: Tree) -> Iterator[Problem]:
    """Keys that no auxiliary cache has: a machine without any would not find them wrong."""
    caches = tables.get(AUXILIARY)
    if caches is None:
        return
    if not isinstance(caches, dict):
        yield Problem((AUXILIARY,), f"must be a table [{AUXILIARY}]")
        return
    for key, _ in leaves(caches):
        try:
            default_of(GpuConfig, (SIDE_CACHES[0], *key))
        except StructureError as error:
            yield from (Problem((AUXILIARY, *key), one.message) for one in error.problems)


def levels_of(machine: Tree) -> list[tuple[str, str]]:
    """Names and scopes of a machine's TLB levels, from the SM outward."""
    tables = machine.get(TLB)
    if not isinstance(tables, dict):
        return []
    return [(name, _scope(table)) for name, table in tables.items() if isinstance(table, dict)]


def _scope(level: Tree) -> str:
    scope = level.get("scope")
    return str(scope.value) if isinstance(scope, Setting) else ""


def on_levels(key: Key, machine: Tree) -> list[Key]:
    """A recipe's key as keys of a machine: one a level that has the role in it.

    A key of `AUXILIARY` is one of each auxiliary cache.
    """
    if key[0] == AUXILIARY:
        tables = [name for name in SIDE_CACHES if isinstance(machine.get(name), dict)]
        return [(name, *key[1:]) for name in tables]
    if key[0] != TLB or len(key) == 1:
        return [key]
    names = ROLES[key[1]].pick(levels_of(machine))
    return [(TLB, name, *key[2:]) for name in names]


def missing_roles(changes: Tree, machine: Tree) -> list[str]:
    """Roles that a recipe has something to set for, and that no level of a machine has.

    Taking a level away that is not there is done already, if any number of levels may have the
    role.
    """
    tables = changes.get(TLB, {})
    assert isinstance(tables, dict)
    return [
        role
        for role, change in tables.items()
        if not on_levels((TLB, role), machine)
        and not (ROLES[role].several and isinstance(change, Setting) and change.value == NONE)
    ]


def settings_on(changes: Tree, machine: Tree) -> Tree:
    """What a recipe changes, as a layer for a machine that has all its roles.

    Raises:
        UserError: the machine has no number that could be taken ``times`` or ``about`` another one,
            or be ``at_least`` one.
    """
    layer: Tree = {}
    for name, change in changes.items():
        inner = change if name == TLB and isinstance(change, dict) else {name: change}
        for part, node in inner.items():
            own = (TLB, part) if name == TLB else (part,)
            for key in on_levels(own, machine):
                _put(layer, key, _absolute(node, key, machine))
    return layer


def _put(layer: Tree, key: Key, node: Tree | Setting) -> None:
    for name in reversed(key):
        node = {name: node}
    assert isinstance(node, dict)
    merge(layer, node)


def _absolute(node: Tree | Setting, key: Key, machine: Tree) -> Tree | Setting:
    """A copy for one level, in which ``{times = …}`` and the like are numbers."""
    if isinstance(node, Setting):
        return node
    if len(node) == 1 and (word := next(iter(node))) in RELATIVE:
        setting = node[word]
        assert isinstance(setting, Setting)
        own = own_value(machine, key)
        return evolve(setting, value=_MAKERS[word](setting, own, key))
    return {name: _absolute(inner, (*key, name), machine) for name, inner in node.items()}


def own_value(machine: Tree, key: Key) -> Any:
    """A machine's value, as it is written or by default; None: it has none.

    Of a policy it is the name, of another table the table itself.
    """
    node = find_node(machine, key)
    if isinstance(node, dict):
        policy = node.get("policy")
        return policy.value if isinstance(policy, Setting) else node
    if isinstance(node, Setting):
        return node.value
    return default_of(GpuConfig, key) if isinstance(find_node(machine, key[:-1]), dict) else None


def _product(factor: Setting, value: object, key: Key) -> int | str:
    whole = _whole(value)
    if type(whole) is int:
        product = whole * Fraction(str(factor.value))
        if product.denominator == 1:
            return format_bytes(int(product)) if isinstance(value, str) else int(product)
    raise UserError(
        f"{factor.where}: {'.'.join(key)} = {{{TIMES} = {factor.value}}}: the machine has "
        f"{value!r}, and the product is no whole number or size"
    )


def _rounded(factor: Setting, value: object, key: Key) -> int | str:
    whole = _whole(value)
    if type(whole) is int:
        product = max(int(whole * Fraction(str(factor.value)) + Fraction(1, 2)), min(whole, 1))
        return format_bytes(product) if isinstance(value, str) else product
    raise UserError(
        f"{factor.where}: {'.'.join(key)} = {{{ABOUT} = {factor.value}}}: the machine has "
        f"{value!r}, which is no whole number or size"
    )


def _larger(bound: Setting, value: Any, key: Key) -> Any:
    own: Any = _whole(value)
    least: Any = _whole(bound.value)
    if type(own) not in (int, float) or isinstance(value, str) != isinstance(bound.value, str):
        raise UserError(
            f"{bound.where}: {'.'.join(key)} = {{{AT_LEAST} = {bound.value}}}: the machine has "
            f"{value!r}, which is no such number or size"
        )
    return value if own >= least else bound.value


_MAKERS: Mapping[str, Callable[[Setting, Any, Key], Any]] = {
    TIMES: _product,
    ABOUT: _rounded,
    AT_LEAST: _larger,
}
"""What makes a value of a machine's own one, by its key."""


def _whole(value: object) -> object:
    """A size in bytes; what is none stays as it is."""
    return parse_bytes(value) if isinstance(value, str) and is_size(value) else value
