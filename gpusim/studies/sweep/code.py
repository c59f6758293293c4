"""Code that decides a result: gpusim's own, and the user's policies and programs."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from gpusim.config.load import LoadedModel
from gpusim.core.errors import is_own
from gpusim.core.registry import Slot, find_policy, policy
from gpusim.machine.check_policies import policies_of
from gpusim.programs.catalog import ProgramKind, register
from gpusim.results.digest import encode
from gpusim.workloads.builder import ProgramStart
from gpusim.workloads.workload import Workload

ONLOOKERS = (
    "cli/",
    "data/",
    "machine/cost.py",
    "runs/monitor.py",
    "runs/run_log.py",
    "studies/",
    "views/",
)
"""Parts of gpusim that read results or look on, and decide none."""

OwnPolicy = tuple[Slot, str, type]
"""A policy of the user: its slot, its name, its class."""


@cache
def semantics() -> str:
    """SHA-256 (hex) of the code of the simulator, without comments, docstrings and layout.

    Two versions that can simulate differently have different ones; so may two that cannot.
    """
    root = Path(__file__).parents[2]
    modules: dict[str, str] = {
        path.relative_to(root).as_posix(): _module(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.py"))
        if not path.relative_to(root).as_posix().startswith(ONLOOKERS)
    }
    return hashlib.sha256(encode(modules)).hexdigest()


def own_policies(model: LoadedModel) -> list[OwnPolicy]:
    """Policies of a machine that are not gpusim's, by slot and name."""
    found = [
        (slot, chosen.policy, find_policy(slot, chosen.policy))
        for _, slot, chosen in policies_of(model.config)
    ]
    return [one for one in found if is_own(one[2])]


def own_programs(workload: Workload) -> list[ProgramKind]:
    """Programs of a workload that are not gpusim's."""
    starts = (spec.start for spec in workload.applications)
    kinds = (start.kind for start in starts if isinstance(start, ProgramStart))
    return [kind for kind in kinds if is_own(kind.make)]


def adopt(policies: list[OwnPolicy], programs: list[ProgramKind]) -> None:
    """Make policies and programs of another process known in this one."""
    for slot, name, cls in policies:
        if ":" not in name:
            policy(slot, name)(cls)
    for kind in programs:
        register(kind)


def _module(source: str) -> str:
    words: list[str] = []
    _spell(ast.parse(source), words)
    return " ".join(words)


def _spell(node: object, words: list[str]) -> None:
    """A syntax tree in words: the kinds of nodes and what they hold, but no docstrings.

    Fields that are empty are left out: versions of Python differ in which ones there are.
    """
    if isinstance(node, ast.AST):
        words.append(f"{type(node).__name__}(")
        for name, value in _fields(node):
            words.append(f"{name}=")
            _spell(value, words)
        words.append(")")
    elif isinstance(node, list):
        words.append("[")
        for item in node:
            _spell(item, words)
        words.append("]")
    else:
        words.append(repr(node))


def _fields(node: ast.AST) -> Iterator[tuple[str, object]]:
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(value, list):
            value = [item for item in value if not _is_text(item)]  # noqa: PLW2901
        if value is not None and value != []:
            yield name, value


def _is_text(node: object) -> bool:
    """A statement that is a string: a docstring, or that of an attribute."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
