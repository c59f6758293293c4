"""From an application's table in a workload file to an application that can be started."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import attrs
from attrs import field, frozen
from attrs.validators import gt, le, optional

from gpusim.config.document import Document, Key
from gpusim.config.structure import StructureError, structure
from gpusim.errors import UserError, nearest
from gpusim.programs.catalog import ProgramKind, find_program
from gpusim.programs.graphs.files import read_graph
from gpusim.programs.graphs.generators import GENERATORS, GraphGenerator
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.kernel import Program

T = TypeVar("T")


@frozen
class ApplicationTable:
    """An ``[[applications]]`` table; each scale holds the program's parameters."""

    program: str
    smoke: Mapping[str, Any]
    quick: Mapping[str, Any]
    paper: Mapping[str, Any]
    name: str | None = None
    share: float | None = field(default=None, validator=optional([gt(0), le(1)]))


def place(document: Document, key: Key) -> str:
    """File, line and key; no line where a file with several applications leaves it open."""
    several = len(document.data.get("applications", ())) > 1
    note = None if several else document.note(tuple(name for name in key if not name.isdigit()))
    return f"{document.path}{f':{note.line}' if note else ''}: {'.'.join(key)}"


@frozen(eq=False)
class ApplicationSpec:
    """An application that can be started, as often as needed.

    Attributes:
        name: unique in its workload.
        kind: the program.
        parameters: an instance of ``kind.parameters``.
        graph: its input, if it uses one; shared by all starts.
        seed: for its other input.
        share: share of the SMs that it asks for; None: an equal one.
    """

    name: str
    kind: ProgramKind
    parameters: object
    graph: Graph | None
    seed: int
    share: float | None

    def start(self) -> Program:
        """A fresh application, with freshly initialised arrays.

        Raises:
            UserError: the parameters do not fit the graph.
        """
        try:
            application = self.kind.start(self.parameters, self.graph, self.seed)
        except ValueError as error:
            raise UserError(f"application {self.name!r}: {error}") from error
        application.name = self.name
        return application


class ApplicationBuilder:
    """Collects an application's parameters, then makes its spec."""

    def __init__(self, document: Document, index: int, table: ApplicationTable, scale: str) -> None:
        self._document = document
        self._key: Key = ("applications", str(index))
        try:
            self.kind = find_program(table.program)
        except UserError as error:
            raise UserError(f"{place(document, (*self._key, 'program'))}: {error}") from error
        self.name = table.name or table.program
        self._share = table.share
        self._scale = scale
        self._values: dict[str, object] = dict(getattr(table, scale))
        self._folder = document.path.parent
        self._overridden: set[str] = set()

    @property
    def allowed(self) -> tuple[str, ...]:
        """Names of the program's parameters."""
        names: tuple[str, ...] = tuple(a.name for a in attrs.fields(self.kind.parameters))
        return ("graph", *names) if self.kind.uses_graph else names

    def has(self, name: str) -> bool:
        """Whether the program has this parameter."""
        return name in self.allowed

    def override(self, key: str, value: object) -> None:
        """Replace a parameter, or with ``graph.option`` one option of the graph's generator."""
        name, _, option = key.partition(".")
        if option:
            options = self._values.get(name)
            if not isinstance(options, Mapping):
                raise UserError(f"--set workload.{key}: {name!r} is not made by a generator here")
            value = {**options, option: value}
        elif name == "graph":
            self._folder = Path()
        self._values[name] = value
        self._overridden.add(name)

    def build(self, seed: int) -> ApplicationSpec:
        """The application; `seed` is for all its input.

        Raises:
            UserError: a parameter or the graph is wrong.
        """
        values = dict(self._values)
        graph = None
        if self.kind.uses_graph:
            graph = self._graph(values.pop("graph", None), seed)
        parameters: object = self._structure(values, self.kind.parameters, ())
        return ApplicationSpec(self.name, self.kind, parameters, graph, seed, self._share)

    def _structure(self, values: Mapping[str, object], cls: type[T], prefix: Key) -> T:
        try:
            return structure(values, cls)
        except StructureError as error:
            messages = []
            for problem in error.problems:
                named = re.match(r"'(\w+)' must", problem.message)  # by a validator of attrs
                key = (named[1],) if named and not problem.key else problem.key
                value = values.get(key[0]) if key else None
                shown = "" if value is None else f" = {value!r}"
                where = self._place((*prefix, *key))
                messages.append(f"{where}{shown}: {problem.message}")
            raise UserError("\n".join(messages)) from error

    def _place(self, key: Key) -> str:
        if key and key[0] in self._overridden:
            return f"--set workload.{'.'.join(key)}"
        return place(self._document, (*self._key, self._scale, *key))

    def _graph(self, value: object, seed: int) -> Graph:
        where = self._place(("graph",))
        if isinstance(value, str):
            return read_graph(self._folder / value)
        if not isinstance(value, Mapping) or not isinstance(value.get("generator"), str):
            raise UserError(
                f"{where} = {value!r}: must be the path of a graph file, or a table with the key "
                "`generator`"
            )
        options = dict(value)
        name = options.pop("generator")
        if name not in GENERATORS:
            raise UserError(
                f"{where}.generator = {name!r}: unknown{nearest(name, GENERATORS)}; "
                f"allowed: {', '.join(GENERATORS)}"
            )
        generator: GraphGenerator = self._structure(options, GENERATORS[name], ("graph",))
        try:
            return generator.generate(seed)
        except ValueError as error:
            raise UserError(f"{where}: {error}") from error
