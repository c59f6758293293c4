"""Programs by name: a workload file names a program, or ``"package.module:program"``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeAlias, TypeVar

from attrs import asdict, evolve, frozen

from gpusim.core.errors import UserError, few, nearest
from gpusim.core.module_folders import import_named, import_packages_in
from gpusim.core.registry import same_definition
from gpusim.core.user_code import load_own
from gpusim.core.warp_program import Launch
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.kernel import Program
from gpusim.programs.parameters import parameters_of
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
        by_name: the generator takes each parameter by its name, after the seed.
    """

    name: str
    parameters: type
    uses_graph: bool
    make: ProgramMaker
    by_name: bool = False

    @property
    def given(self) -> tuple[str, ...]:
        """What a generator takes by place."""
        parameters = () if self.by_name else ("parameters",)
        graph = ("graph",) if self.uses_graph else ()
        return ("memory", *parameters, *graph, "seed")

    def start(self, parameters: object, graph: Graph | None, seed: int) -> Program:
        """A fresh application.

        Raises:
            UserError: a generator yields no launch or places no array, or a function makes no
                program.
        """
        arguments = (graph, seed) if self.uses_graph else (seed,)
        if self.by_name:
            by_name = asdict(parameters, recurse=False)  # type: ignore[arg-type]
            return FunctionProgram(self.name, self.make, arguments, by_name)
        arguments = (parameters, *arguments)
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


def program(
    name: str, parameters: type | None = None, uses_graph: bool = False
) -> Callable[[Maker], Maker]:
    """Decorator: makes a program known as `name`; see `ProgramKind`.

    A generator function is a program: it takes its memory (`AddressSpace`), the graph if it uses
    one, the seed, and its parameters, each with a default (`number` says what is allowed); it
    places its arrays, then yields its launches.  After a ``yield`` the launch has drained and its
    results can be read.  It uses a graph if it has an argument of that name.

    Where a frozen attrs class `parameters` is given, an instance of it is the argument after the
    memory instead.  So are `Program` classes made, and functions that make an instance of one.

    What is defined anew, in a notebook's cell that runs again, replaces itself.

    Raises:
        ValueError: another program has the name.
        UserError: a generator function does not take these arguments, or a function that takes its
            memory is no generator function.
    """

    def make_known(make: Maker) -> Maker:
        by_name = parameters is None
        takes = list(inspect.signature(make).parameters)[1:2]
        graph = takes == ["graph"] if by_name else uses_graph
        kind = ProgramKind(name, parameters or object, graph, make, by_name)
        _check(kind)
        if by_name:
            made = parameters_of(name, make, len(kind.given))
            kind = evolve(kind, parameters=made)
            make.Parameters = made  # type: ignore[attr-defined]  # where pickle finds it
        register(kind)
        return make

    return make_known


def register(kind: ProgramKind) -> None:
    """Make a program known.

    Raises:
        ValueError: another program has the name.
    """
    if not same_definition(_PROGRAMS.get(kind.name, kind).make, kind.make):
        raise ValueError(f"there is already a program named {kind.name!r}")
    _PROGRAMS[kind.name] = kind


def _check(kind: ProgramKind) -> None:
    """Whether it can be a program at all."""
    takes = inspect.signature(kind.make)
    if inspect.isgeneratorfunction(kind.make):
        try:
            bind = takes.bind_partial if kind.by_name else takes.bind
            bind(*kind.given)
        except TypeError as error:
            raise UserError(
                f"program {kind.name!r}: {error}; its function takes {', '.join(kind.given)}"
            ) from error
    elif next(iter(takes.parameters), None) == "memory":
        raise UserError(
            f"program {kind.name!r} takes its memory, but yields no launch: write yield "
            "kernel[threads](...), or yield from"
        )
    elif kind.by_name:
        raise UserError(
            f"program {kind.name!r} is no generator function: name the class of its parameters, "
            f"@gpusim.program({kind.name!r}, PARAMETERS)"
        )


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
        f"allowed: {few(names, name)}, or 'package.module:program'"
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
