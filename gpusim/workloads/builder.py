"""Building applications from their tables in a workload file."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

import attrs
from attrs import evolve, field, frozen

from gpusim.core.errors import UserError, is_own, nearest, own_code_errors, own_modules
from gpusim.core.untrusted import memory_bound
from gpusim.core.user_code import refusal
from gpusim.core.warp_program import Application
from gpusim.files.contents import Stamp, content_of, stamps_of
from gpusim.files.structure import StructureError, structure
from gpusim.files.toml_document import Key
from gpusim.programs.catalog import ProgramKind, find_program
from gpusim.programs.graphs.generators import GENERATORS, GraphGenerator, check_size
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.kernel import Program
from gpusim.workloads.library import Entry, default_name, referenced
from gpusim.workloads.sampling import SampledProgram
from gpusim.workloads.tables import SCALES, ApplicationTable

T = TypeVar("T")

SAMPLE = "sample"
"""The parameter that every program has: only one thread block in this many is run."""


@frozen(eq=False)
class ApplicationSpec:
    """An application that can be started, as often as needed.

    Attributes:
        name: unique in its workload.
        start: a fresh application, with freshly initialised arrays; raises `UserError` if its
            parameters do not fit its input.
        share: share of the SMs that it asks for; None: an equal one.
        instance: slices of its MIG instance, in a workload for multi-instance GPUs.
        gpu: the GPU of a node that it runs on; None: all.
        origin: what it is, for the record: its program with all parameters, or its trace.
        inputs: files, and folders of files, that it reads.
        stamps: of the inputs when it was loaded; None: they may have changed since.
        warp_size: threads of a warp, as traced; None: it runs with warps of any size.
    """

    name: str
    start: Callable[[], Application]
    share: float | None = None
    instance: int | None = None
    origin: Mapping[str, object] = field(factory=dict)
    inputs: tuple[Path, ...] = ()
    warp_size: int | None = None
    gpu: int | None = None
    stamps: tuple[tuple[str, Stamp], ...] | None = field()

    @stamps.default
    def _stamps(self) -> tuple[tuple[str, Stamp], ...] | None:
        return stamps_of(self.inputs)

    def content(self) -> str | None:
        """Hash of what it reads besides `origin`; None: not known, so nothing may be kept of it.

        A user's own program may read what it likes, and be defined anew under its name.
        """
        if isinstance(self.start, ProgramStart) and is_own(self.start.kind.make):
            return None
        if self.stamps is None or stamps_of(self.inputs) != self.stamps:
            return None
        hashes = [content_of(path) for path in self.inputs]
        return hashlib.sha256(repr(hashes).encode()).hexdigest()


@frozen(eq=False)
class ProgramStart:
    """Starts a program.

    Attributes:
        name: what the application is called.
        kind: the program.
        parameters: an instance of ``kind.parameters``.
        graph: its input, if it uses one; shared by all starts.
        seed: for its other input.
        sample: one thread block in this many is run.
    """

    name: str
    kind: ProgramKind
    parameters: object
    graph: Graph | None
    seed: int
    sample: int = 1

    def __call__(self) -> Application:
        with own_code_errors(own_modules([self.kind.make])):
            application = self._started()
        application.name = self.name
        return application if self.sample == 1 else SampledProgram(application, self.sample)

    def _started(self) -> Program:
        try:
            with memory_bound():
                return self.kind.start(self.parameters, self.graph, self.seed)
        except (ValueError, OverflowError) as error:
            if is_own(self.kind.make):
                raise
            raise UserError(f"application {self.name!r}: {error}") from error
        except MemoryError as error:
            what = ": ".join(filter(None, ("takes more memory than it may", str(error))))
            raise UserError(f"application {self.name!r}: {what}") from error


class ApplicationBuilder(ABC):
    """Collects an application's parameters, then makes its spec.

    Attributes:
        name: of the application.
        allowed: names of its parameters.
    """

    allowed: tuple[str, ...] = ()

    def __init__(self, outer: ApplicationTable) -> None:
        self.name = default_name(outer)
        self._share = outer.share
        self._gpu = outer.gpu
        self._slices = None if outer.instance is None else int(outer.instance[0])
        self._inputs: list[Path] = []
        self._warp_size: int | None = None

    @abstractmethod
    def override(self, key: str, value: object) -> None:
        """Replace a parameter, or with ``graph.option`` one option of the graph's generator."""

    def build(self, seed: int) -> ApplicationSpec:
        """The application; `seed` is for all its input.

        Raises:
            UserError: a parameter, the graph or the trace is wrong.
        """
        start, origin = self._start(seed)
        return ApplicationSpec(
            self.name,
            start,
            self._share,
            self._slices,
            origin,
            tuple(self._inputs),
            self._warp_size,
            self._gpu,
        )

    @abstractmethod
    def _start(self, seed: int) -> tuple[Callable[[], Application], dict[str, object]]:
        """What starts the application, and its origin.

        Adds to `_inputs` what it reads, and tells in `_warp_size` how wide its warps were traced.
        """


def application_builder(entry: Entry, index: int, scale: str) -> ApplicationBuilder:
    """The builder of an application of a workload.

    Raises:
        UserError: what it refers to is not there, or does not have this scale.
    """
    chain = list(_chain(entry, index))
    home, position = chain[-1]
    if home.table.applications[position].trace is not None:
        return _TraceBuilder(chain)
    return _ProgramBuilder(chain, scale)


class _TraceBuilder(ApplicationBuilder):
    """A trace: its parameters are the options of `gpusim.traces.options`."""

    def __init__(self, chain: list[tuple[Entry, int]]) -> None:
        from gpusim.traces.options import OPTIONS

        super().__init__(_table(*chain[0]))
        self.allowed = OPTIONS
        self._options: dict[str, object] = {}
        self._home, index = chain[-1]
        self._key: Key = ("applications", str(index), "trace")
        for entry, position in chain:
            for scale in SCALES:
                if getattr(_table(entry, position), scale) is not None:
                    where = entry.place(("applications", str(position), scale))
                    raise UserError(f"{where}: a trace has no parameters")

    def override(self, key: str, value: object) -> None:
        self._options[key] = value

    def _start(self, seed: int) -> tuple[Callable[[], Application], dict[str, object]]:
        from gpusim.traces.open_trace import open_trace
        from gpusim.traces.options import trace_options

        name = _table(self._home, int(self._key[1])).trace
        assert name is not None
        trace = open_trace(self._home.path.parent / name, options=trace_options(self._options))
        self._inputs.extend(trace.files)
        applications, self._warp_size = trace.applications, trace.warp_size
        if len(applications) != 1:
            raise UserError(
                f"{self._home.place(self._key)} = {name!r}: holds {len(applications)} "
                "applications; here it must be one"
            )
        start = partial(_renamed, applications[0].start, self.name)
        return start, {"trace": name, **self._options}


def _renamed(start: Callable[[], Application], name: str) -> Application:
    return evolve(start(), name=name)  # type: ignore[misc]


class _ProgramBuilder(ApplicationBuilder):
    """A program: where its table refers to another workload, that one's parameters come first."""

    def __init__(self, chain: list[tuple[Entry, int]], scale: str) -> None:
        super().__init__(_table(*chain[0]))
        self._scale = scale
        self._values: dict[str, object] = {}
        self._homes: dict[str, tuple[Entry, int]] = {}
        self._overridden: set[str] = set()
        self._home = chain[-1]
        self._kind = self._program()
        names = (SAMPLE, *(a.name for a in attrs.fields(self._kind.parameters)))
        self.allowed = ("graph", *names) if self._kind.uses_graph else names
        for home in reversed(chain):
            self._add_layer(*home)

    def _program(self) -> ProgramKind:
        entry, index = self._home
        name, where = _table(entry, index).program or "", ("applications", str(index), "program")
        if why := refusal(name, entry.path):
            raise UserError(f"{entry.place(where)} = {name!r}: {why}")
        try:
            return find_program(name)
        except UserError as error:
            raise UserError(f"{entry.place(where)}: {error}") from error

    def _add_layer(self, entry: Entry, index: int) -> None:
        table = _table(entry, index)
        values = getattr(table, self._scale)
        if values is None and (entry, index) == self._home:
            there = [scale for scale in SCALES if getattr(table, scale) is not None]
            raise UserError(
                f"{entry.place(('applications', str(index)))}: has no table {self._scale!r}; "
                f"there are: {', '.join(there) or 'none'}"
            )
        for name, value in (values or {}).items():
            self._values[name] = _merged(self._values.get(name), value)
            self._homes[name] = entry, index

    def override(self, key: str, value: object) -> None:
        name, _, option = key.partition(".")
        if option:
            options = self._values.get(name)
            if not isinstance(options, Mapping):
                raise UserError(f"--set workload.{key}: {name!r} is not made by a generator here")
            value = {**options, option: value}
        self._values[name] = value
        self._overridden.add(name)

    def _start(self, seed: int) -> tuple[Callable[[], Application], dict[str, object]]:
        values = dict(self._values)
        origin: dict[str, object] = {"program": self._kind.name}
        graph = None
        if self._kind.uses_graph:
            graph, origin["graph"] = self._graph(values.pop("graph", None), seed)
        sample = values.pop(SAMPLE, 1)
        if type(sample) is not int or sample < 1:
            raise UserError(f"{self._place((SAMPLE,))} = {sample!r}: must be a whole number >= 1")
        parameters: object = self._structure(values, self._kind.parameters, ())
        start = ProgramStart(self.name, self._kind, parameters, graph, seed, sample)
        return start, {**origin, SAMPLE: sample, **_plain(parameters)}

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
        entry, index = self._homes.get(key[0] if key else "", self._home)
        return entry.place(("applications", str(index), self._scale, *key))

    def _graph(self, value: object, seed: int) -> tuple[Graph, object]:
        """The graph, and its origin: its file, or its generator with all options."""
        where = self._place(("graph",))
        if isinstance(value, str):
            entry, _ = self._homes.get("graph", self._home)
            folder = Path() if "graph" in self._overridden else entry.path.parent
            self._inputs.append(folder / value)
            from gpusim.programs.graphs.files import read_graph

            return read_graph(folder / value), value
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
            check_size(where, generator)
            with memory_bound():
                return _generated(generator, seed), {"generator": name, **_plain(generator)}
        except (ValueError, OverflowError) as error:
            raise UserError(f"{where}: {error}") from error
        except MemoryError as error:
            raise UserError(f"{where}: takes more memory than it may: {error}") from error


@lru_cache(maxsize=4)
def _generated(generator: GraphGenerator, seed: int) -> Graph:
    """A graph, which is never changed, so that sweeps can share the same few."""
    return generator.generate(seed)


def _table(entry: Entry, index: int) -> ApplicationTable:
    return entry.table.applications[index]


def _chain(entry: Entry, index: int) -> Iterator[tuple[Entry, int]]:
    """An application's table, the one that it refers to, and so on to the one with a program."""
    seen = []
    while True:
        yield entry, index
        if _table(entry, index).workload is None:
            return
        seen.append((entry.path, entry.name))
        where = entry.place(("applications", str(index), "workload"))
        entry, index = referenced(entry, index), 0
        if (entry.path, entry.name) in seen:
            raise UserError(f"{where}: refers to itself")


def _plain(parameters: object) -> dict[str, object]:
    """The fields of an attrs object that have a value."""
    fields: dict[str, object] = attrs.asdict(parameters)  # type: ignore[arg-type]
    return {name: value for name, value in fields.items() if value is not None}


def _merged(old: object, new: object) -> object:
    """`new`, or both where they are tables of which `new` changes only some keys."""
    if isinstance(old, Mapping) and isinstance(new, Mapping) and "generator" not in new:
        return {**old, **new}
    return new
