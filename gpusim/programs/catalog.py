"""Programs by name: a workload file names a program, or ``"package.module:program"``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeAlias, TypeVar

from attrs import frozen

from gpusim.core.errors import UserError, nearest
from gpusim.core.module_folders import import_named, import_packages_in
from gpusim.core.registry import same_definition
from gpusim.core.user_code import load_own
from gpusim.core.warp_program import Launch
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.kernel import Program
from gpusim.programs.program_function import FunctionProgram

ProgramMaker: TypeAlias = Callable[..., Program | Iterator[Launch]]
"""A generator function, a `Program` class, or a function that makes an instance of one."""

Maker = TypeVar("Maker", bound=ProgramMaker)


@frozen
class ProgramKind:
    """A program that can be started.

    Attributes:
        name: as workload files write it.
        parameters: frozen attrs class of its parameters, with defaults.
        uses_graph: whether it also takes the parameter ``graph``.
        make: a generator of its launches, which takes its memory, the parameters, the graph if it
            uses one, and the seed; or a `Program` class, which takes them without the memory.
    """

    name: str
    parameters: type
    uses_graph: bool
    make: ProgramMaker

    def start(self, parameters: object, graph: Graph | None, seed: int) -> Program:
        """A fresh application.

        Raises:
            UserError: a generator yields no launch or places no array, or a function makes no
                program.
        """
        arguments = (parameters, graph, seed) if self.uses_graph else (parameters, seed)
        if inspect.isgeneratorfunction(self.make):
            return FunctionProgram(self.name, self.make, arguments)
        made: Any = self.make(*arguments)
        if not callable(getattr(made, "launches", None)):
            raise UserError(
                f"program {self.name!r} makes {made!r}: it must be a Program, or a generator "
                "function that yields launches"
            )
        started: Program = made
        return started


_PROGRAMS: dict[str, ProgramKind] = {}


def program(name: str, parameters: type, uses_graph: bool = False) -> Callable[[Maker], Maker]:
    """Decorator: makes a program known as `name`; see `ProgramKind`.

    A generator function is a program: it takes its memory (`AddressSpace`), an instance of
    `parameters`, the graph if it uses one, and the seed; it places its arrays, then yields its
    launches.  After a ``yield`` the launch has drained and its results can be read.  So is a
    `Program` class, and a function that makes an instance of one.

    What is defined anew, in a notebook's cell that runs again, replaces itself.

    Raises:
        ValueError: another program has the name.
        UserError: a generator function does not take these arguments, or a function that takes its
            memory is no generator function.
    """

    def register(make: Maker) -> Maker:
        kind = ProgramKind(name, parameters, uses_graph, make)
        if not same_definition(_PROGRAMS.get(name, kind).make, make):
            raise ValueError(f"there is already a program named {name!r}")
        if inspect.isgeneratorfunction(make):
            _check_arguments(name, make, ARGUMENTS if uses_graph else WITHOUT_GRAPH)
        elif next(iter(inspect.signature(make).parameters), None) == ARGUMENTS[0]:
            raise UserError(
                f"program {name!r} takes its memory, but yields no launch: write yield "
                "kernel[threads](...), or yield from"
            )
        _PROGRAMS[name] = kind
        return make

    return register


ARGUMENTS = ("memory", "parameters", "graph", "seed")
"""What the generator function of a program takes."""

WITHOUT_GRAPH = ("memory", "parameters", "seed")


def _check_arguments(name: str, make: Callable[..., object], given: tuple[str, ...]) -> None:
    try:
        inspect.signature(make).bind(*given)
    except TypeError as error:
        raise UserError(
            f"program {name!r}: {error}; its function takes {', '.join(given)}"
        ) from error


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
    import_packages_in("gpusim.programs")


def find_program(name: str) -> ProgramKind:
    """The program that `name` stands for: a registered name, or ``"package.module:program"``.

    Raises:
        UserError: there is no such program.
    """
    if import_named("gpusim.programs", name) and name in _PROGRAMS:
        return _PROGRAMS[name]  # most programs have the name of their module
    names = program_names()
    if name in _PROGRAMS:
        return _PROGRAMS[name]
    if ":" in name:
        return program_of(load_own(name, "program"))
    raise UserError(
        f"there is no program named {name!r}{nearest(name, names)}; "
        f"allowed: {', '.join(names)}, or 'package.module:program'"
    )


def program_of(make: object) -> ProgramKind:
    """The program whose generator function, class or other function it is.

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
