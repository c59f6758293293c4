"""Programs by name: a workload file names a program, or ``"package.module:Class"``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from attrs import frozen

from gpusim.core.errors import UserError, nearest
from gpusim.core.own_code import load_own
from gpusim.core.registry import same_definition
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.kernel import Program

ProgramClass = TypeVar("ProgramClass", bound=Callable[..., Program])


@frozen
class ProgramKind:
    """A program that can be started.

    Attributes:
        name: as workload files write it.
        parameters: frozen attrs class of its parameters, with defaults.
        uses_graph: whether it also takes the parameter ``graph``.
        make: its class, a `Program`; takes the parameters, the graph if it uses one, and the seed.
    """

    name: str
    parameters: type
    uses_graph: bool
    make: Callable[..., Program]

    def start(self, parameters: object, graph: Graph | None, seed: int) -> Program:
        """A fresh application."""
        if self.uses_graph:
            return self.make(parameters, graph, seed)
        return self.make(parameters, seed)


_PROGRAMS: dict[str, ProgramKind] = {}
_SUITES = (
    "amd_sdk",
    "cuda_sdk",
    "dnn_mark",
    "hetero_mark",
    "ispass",
    "micro",
    "pannotia",
    "parboil",
    "polybench",
    "proxy_apps",
    "rodinia",
    "shoc",
)
"""Packages of `gpusim.programs` with a module a program."""


def program(
    name: str, parameters: type, uses_graph: bool = False
) -> Callable[[ProgramClass], ProgramClass]:
    """Class decorator: makes an application class known as `name`; see `ProgramKind`.

    A class that is defined anew, in a notebook's cell that runs again, replaces itself.

    Raises:
        ValueError: another class has the name.
    """

    def register(cls: ProgramClass) -> ProgramClass:
        kind = ProgramKind(name, parameters, uses_graph, cls)
        if not same_definition(_PROGRAMS.get(name, kind).make, cls):
            raise ValueError(f"there is already a program named {name!r}")
        _PROGRAMS[name] = kind
        return cls

    return register


def program_names() -> tuple[str, ...]:
    """Names of gpusim's programs and of those registered since, sorted."""
    _import_suites()
    return tuple(sorted(_PROGRAMS))


def own_program_names() -> tuple[str, ...]:
    """Names of those that are not gpusim's own, sorted: of scripts, notebooks, imported modules."""
    own = (name for name, kind in _PROGRAMS.items() if not _is_shipped(kind))
    return tuple(sorted(own))


def _is_shipped(kind: ProgramKind) -> bool:
    return str(kind.make.__module__).startswith(f"{__package__}.")


@cache
def _import_suites() -> None:
    for suite in _SUITES:
        package = importlib.import_module(f"gpusim.programs.{suite}")
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def find_program(name: str) -> ProgramKind:
    """The program that `name` stands for: a registered name, or ``"package.module:Class"``.

    Raises:
        UserError: there is no such program.
    """
    names = program_names()
    if name in _PROGRAMS:
        return _PROGRAMS[name]
    if ":" in name:
        return program_of(load_own(name, "program"))
    raise UserError(
        f"there is no program named {name!r}{nearest(name, names)}; "
        f"allowed: {', '.join(names)}, or 'package.module:Class'"
    )


def program_of(make: object) -> ProgramKind:
    """The program whose class, or function, it is.

    Raises:
        UserError: it is not registered as one.
    """
    for kind in _PROGRAMS.values():
        if kind.make is make:
            return kind
    name = getattr(make, "__qualname__", repr(make))
    raise UserError(
        f"{name} is no program: mark it with @gpusim.program({name.lower()!r}, PARAMETERS), where "
        "PARAMETERS is the attrs class of its parameters"
    )
