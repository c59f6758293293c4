"""`load_workload`: which programs run, on which input, at which size."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import tomli_w
from attrs import asdict, evolve, field, fields, frozen

from gpusim.config.layers import own_numbers, parse_scalar
from gpusim.core.errors import UserError, few, nearest
from gpusim.core.notebook import html_facts
from gpusim.core.untrusted import MOST_SEED, brief, is_file, is_folder, untrusted
from gpusim.programs.catalog import ProgramMaker, program_of
from gpusim.workloads.builder import ApplicationBuilder, ApplicationSpec, application_builder
from gpusim.workloads.library import Entry, find_workload
from gpusim.workloads.tables import SCALES, Timed

_NO_TEXT = re.compile(r"[\ud800-\udfff]")
"""Bytes of a file's name that are no text, as Python has them: TOML has no such characters."""

_TIMED = "timed."
"""In front of keys that tell how much of a workload is timed."""


@frozen(eq=False)
class Workload:
    """One or more applications, at one size.

    Attributes:
        name: of its file, or as in ``gpusim list workloads``.
        scale: one of `SCALES`, or what a trace says.
        seed: of everything random in the input.
        applications: in the order of their address spaces.
        relaunch: whether an application that has ended starts again until all have run once.
        overrides: parameters that the caller replaced.
        timed: how much of it is timed.
    """

    name: str
    scale: str
    seed: int
    applications: tuple[ApplicationSpec, ...]
    relaunch: bool = False
    overrides: Mapping[str, object] = field(factory=dict)
    timed: Timed = field(factory=Timed)

    def split(self, shares: Sequence[float]) -> Workload:
        """The same applications with these shares of the SMs."""
        specs = zip(self.applications, shares, strict=True)
        return evolve(self, applications=tuple(evolve(spec, share=share) for spec, share in specs))

    def alone(self, name: str) -> Workload:
        """A workload of that application alone, with the same share or instance."""
        (spec,) = (spec for spec in self.applications if spec.name == name)
        return evolve(self, name=name, applications=(spec,), relaunch=False)

    def _repr_html_(self) -> str:
        """The applications and their parameters, as notebooks show them."""
        facts = {}
        for spec in self.applications:
            own = {key: value for key, value in spec.origin.items() if not isinstance(value, dict)}
            facts[spec.name] = ", ".join(f"{key} = {value}" for key, value in own.items()) or "–"
        return html_facts(f"{self.name} ({self.scale}), seed {self.seed}", facts)

    @property
    def inputs(self) -> list[Path]:
        """Files, and folders of files, that its applications read."""
        return [path for spec in self.applications for path in spec.inputs]

    def to_toml(self) -> str:
        """What is run, for the record: each application with all parameters of its program."""
        applications = []
        for spec in self.applications:
            facts = {
                "name": spec.name,
                "share": spec.share,
                "instance": spec.instance,
                "gpu": spec.gpu,
                "warp_size": spec.warp_size,
                **spec.origin,
            }
            applications.append({key: value for key, value in facts.items() if value is not None})
        whole = {"name": self.name, "scale": self.scale, "seed": self.seed}
        timed = {key: value for key, value in asdict(self.timed).items() if value}
        part = {"timed": timed} if timed else {}
        text = tomli_w.dumps(
            {**whole, "relaunch": self.relaunch, **part, "applications": applications}
        )
        return _NO_TEXT.sub(lambda found: f"\\\\u{ord(found[0]):04x}", text)


def load_workload(
    name_or_path: str | ProgramMaker,
    scale: str = "quick",
    seed: int = 0,
    overrides: Mapping[str, object] | None = None,
) -> Workload:
    """A workload with its input graphs read or generated.

    Args:
        name_or_path: a shipped workload, the path of a TOML file, or that of a trace; a program
            of your own by its registered name, as ``"package.module:program"``, or itself: its
            generator function or class.
        scale: one of `SCALES`; a trace has its own.
        seed: of everything random in the input; from 0 to `MOST_SEED`.  A trace has its own.
        overrides: parameters that replace those of the scale, such as ``{"n": 4096}``,
            ``{"graph": "/path/to/file"}`` or ``{"graph.vertices": 5000}``; ``"NAME.n"`` is meant
            for the application of that name, any other for each that has the parameter;
            ``"timed.sample"`` and the other keys of `gpusim.workloads.tables.Timed` are meant for
            the workload (an empty text: nothing).

    Raises:
        UserError: the workload, its file, the scale, an override or a graph is wrong.
    """
    if scale not in SCALES:
        raise UserError(
            f"there is no scale {scale!r}{nearest(scale, SCALES)}; allowed: {', '.join(SCALES)}"
        )
    seed = _checked(seed)
    if not isinstance(name_or_path, str):
        name_or_path = program_of(name_or_path).name
    with untrusted(f"workload {name_or_path}", "cannot be read"):
        return _load(name_or_path, scale, seed, overrides)


def _checked(seed: object) -> int:
    """A seed, as a number of Python's own."""
    if not isinstance(seed, Integral) or isinstance(seed, bool):
        raise UserError(f"the seed is {seed!r}; must be a whole number")
    number = int(seed)
    if not 0 <= number <= MOST_SEED:
        raise UserError(f"the seed is {brief(number)}; must be 0 or more, and at most {MOST_SEED}")
    return number


def _load(
    name_or_path: str, scale: str, seed: int, overrides: Mapping[str, object] | None
) -> Workload:
    path, given = Path(name_or_path), own_numbers(overrides)
    if _is_trace(path):
        return _trace(path, given)
    entry = find_workload(name_or_path)
    builders = [
        application_builder(entry, index, scale) for index in range(len(entry.table.applications))
    ]
    _check_names([builder.name for builder in builders], entry)
    timed = _placed(getattr(entry.table.timed, scale), entry)
    for key, value in given.items():
        if key.startswith(_TIMED):
            timed = _timed(timed, key, value)
        else:
            _override(builders, key, value)
    specs = tuple(builder.build(seed) for builder in builders)
    relaunch = entry.table.relaunch != "never"
    return Workload(entry.name, scale, seed, specs, relaunch, given, timed)


def _placed(timed: Timed, entry: Entry) -> Timed:
    """With its checkpoint, which lies in the folder of the workload's file."""
    return evolve(timed, start=str(entry.path.parent / timed.start)) if timed.start else timed


def _timed(timed: Timed, key: str, value: object) -> Timed:
    """With one of its keys set; an empty text takes away what the file says."""
    name, text = key.removeprefix(_TIMED), str(value).strip()
    known = [attribute.name for attribute in fields(Timed)]
    if name not in known:
        raise UserError(
            f"--set workload.{key}: unknown key{nearest(name, known)}; allowed: {', '.join(known)}"
        )
    if name == "until":
        return evolve(timed, until=(text,) if text else ())
    changed: dict[str, Any] = {name: text}
    return evolve(timed, **changed)


def _is_trace(path: Path) -> bool:
    if not is_folder(path):
        return path.suffix != ".toml" and is_file(path)
    from gpusim.traces.open_trace import list_in

    return list_in(path) is not None


def _trace(path: Path, given: dict[str, object]) -> Workload:
    from gpusim.traces.open_trace import open_trace
    from gpusim.traces.options import trace_options

    trace = open_trace(path, options=trace_options(given))
    origin: dict[str, object] = {"trace": path.name, **_stated(given)}
    specs = tuple(
        ApplicationSpec(
            one.name,
            one.start,
            one.share,
            one.instance,
            origin,
            trace.files,
            trace.warp_size,
            one.gpu,
        )
        for one in trace.applications
    )
    return Workload(trace.name, trace.scale, trace.seed, specs, trace.relaunch, given)


def _stated(options: Mapping[str, object]) -> dict[str, object]:
    """Options of a trace for the record, without those that say what holds anyway."""
    return {key: value for key, value in options.items() if (key, value) != ("pace", "free")}


def _check_names(names: list[str], entry: Entry) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UserError(
                f"{entry.path}: there are two applications {name!r}; give each its own `name`"
            )


def _override(builders: list[ApplicationBuilder], dotted: str, value: object) -> None:
    """Set a parameter of those applications that have it."""
    first, _, rest = dotted.partition(".")
    chosen = [builder for builder in builders if builder.name == first and rest]
    key = rest if chosen else dotted
    chosen = [one for one in chosen or builders if key.split(".")[0] in one.allowed]
    if not chosen:
        allowed = sorted({name for builder in builders for name in builder.allowed})
        raise UserError(
            f"--set workload.{dotted}: unknown parameter{nearest(key, allowed)}; "
            f"allowed: {few(allowed, key)}"
        )
    for builder in chosen:
        builder.override(key, parse_scalar(value))
