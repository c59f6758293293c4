"""A sweep as data: which machines, programs and settings a study compares."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import starmap
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from attrs import evolve, field, frozen

from gpusim.core.errors import UserError
from gpusim.core.untrusted import untrusted
from gpusim.core.user_code import refusal
from gpusim.files.shipped import find_data
from gpusim.files.structure import StructureError, structure
from gpusim.files.toml_document import Document, Key, read_document
from gpusim.runs.options import RunOptions, facts_of, run_options
from gpusim.studies.sweep.named_files import place
from gpusim.studies.sweep.pairs import pair_name, pairs_of
from gpusim.studies.sweep.point import BASELINE, COORDINATES, split_keys
from gpusim.studies.sweep.spec_check import SweepError, check_sweep

SAME = "same"
"""In `Sweep.alone`: with the variant of the shared run."""

_LISTS = ("models", "variants", "workloads", "seeds", "record", "alone", "exclude")


def _value(value: Any) -> Any:
    """A value as a TOML file can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return tuple(map(_value, value)) if isinstance(value, list | tuple) else value


def _listed(value: Any) -> tuple[Any, ...]:
    """One value stands for a list of it."""
    single = isinstance(value, str | Mapping | os.PathLike) or not isinstance(value, Iterable)
    return tuple(map(_value, (value,) if single else value))


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys of nested tables: TOML reads ``tlb.L1.entries = …``, unquoted, as three."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _scalars(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _value(value) for key, value in _flat(table)}


def _axes(table: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {key: _listed(values) for key, values in _flat(table)}


def _options(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value) for name, value in table.items()}


def _tables(tables: Any) -> tuple[dict[str, tuple[Any, ...]], ...]:
    return tuple(_axes(table) for table in _listed(tables))


def _plot(plot: Any) -> Any:
    """A dict will do."""
    if not isinstance(plot, Mapping):
        return plot
    try:
        return structure(plot, PlotTable)
    except StructureError as error:
        raise UserError(f"plot: {error}") from error


@frozen(kw_only=True)
class PlotTable:
    """The picture that `gpusim sweep` draws of a sweep.

    Of a sweep with pairs: a matrix of gains in `value`, of which more is better; `x` is
    ``"variant"``, and nothing else is said.

    Attributes:
        value: a headline number, on the y axis.
        x: a coordinate or key, on the x axis.
        lines: one line for each value of it.
        panels: one panel for each value of it.
        relative_to: coordinates and keys with values: the value is divided by that of the run
            which has these, and all others the same.
    """

    value: str
    x: str
    lines: str = ""
    panels: str = ""
    relative_to: Mapping[str, Any] = field(factory=dict, converter=_scalars)


@frozen(kw_only=True)
class Sweep:
    """All combinations of models, variants, workloads, settings and seeds, but some.

    Attributes:
        name: of its files in the folder of results.
        title: what it asks, for tables and pictures.
        models: names of shipped models, or paths.
        variants: each a name of a variant or recipe, a recipe's path, or several joined with
            ``+``; ``"baseline"`` for none.
        pairs: every two variants together, too, where they make one machine
            (`gpusim.studies.sweep.pairs`); the picture is then a matrix of what they gain.
        workloads: names, or paths.
        scale: of the workloads.
        seeds: of everything random.
        shift: a key of the model, such as ``l2.latency``, that should not matter: run by run of
            the seeds it is shifted by 0, +1, -1, +2, … of its unit, so that programs without
            anything random are repeated, too.
        set: axes: key → its values, as for ``--set`` (``workload.KEY`` sets one of the workload).
            Keys that change together are joined with a comma, each value then being a list:
            ``{"tlb.L1.entries, tlb.L1.ways": [[64, 4], [128, 8]]}``.
        exclude: combinations to leave out: tables of some of `COORDINATES` and of the keys of
            `set`, each with a value or a list of values.
        record: event tables that the runs keep.
        run: other options of all runs, by the names of `gpusim.RunOptions`, such as ``until`` or
            ``skip``; the files of runs are named by the sweep.
        alone: of each workload with several applications, run each application alone, too, on
            as many SMs as it has in the shared run; with each of these variants (`SAME`: that of
            the shared run).
        split_step: of each workload with several applications, run all ways to give out the SMs
            in steps of this number; 0: only as the workload says.
        plot: what to draw at the end.

    Raises:
        SweepError: something is empty or of the wrong type; a scale, a table, a coordinate or a
            value of it is unknown; or values that change together are not as many as their keys.
    """

    models: tuple[str, ...] = field(converter=_listed)
    workloads: tuple[str, ...] = field(converter=_listed)
    variants: tuple[str, ...] = field(default=(BASELINE,), converter=_listed)
    pairs: bool = False
    name: str = "sweep"
    title: str = ""
    scale: str = "quick"
    seeds: tuple[int, ...] = field(default=(0,), converter=_listed)
    shift: str = ""
    set: Mapping[str, Any] = field(factory=dict, converter=_axes)
    exclude: tuple[Mapping[str, Any], ...] = field(default=(), converter=_tables)
    record: tuple[str, ...] = field(default=(), converter=_listed)
    run: Mapping[str, Any] = field(factory=dict, converter=_options)
    alone: tuple[str, ...] = field(default=(), converter=_listed)
    split_step: int = 0
    plot: PlotTable | None = field(default=None, converter=_plot)

    def __attrs_post_init__(self) -> None:
        check_sweep(self)

    def options(self, folder: Path) -> RunOptions:
        """Options of each run; relative paths are from `folder`."""
        return run_options({**_run_paths(self.run, folder), "record": self.record})

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """`COORDINATES` and the keys that are set, each with its values."""
        pairs = starmap(pair_name, pairs_of(self.variants)) if self.pairs else ()
        variants = (*self.variants, *pairs)
        lists = (self.models, variants, self.workloads, self.seeds)
        axes = dict(zip(COORDINATES, lists, strict=True))
        for joined, values in self.set.items():
            keys = split_keys(joined)
            rows = [(value,) for value in values] if len(keys) == 1 else values
            axes |= zip(keys, zip(*rows, strict=True), strict=True)
        return axes


def read_sweep(name_or_path: str | os.PathLike[str], scale: str | None = None) -> Sweep:
    """A sweep from its TOML file: the fields of `Sweep` as keys; its name is the file's.

    Args:
        name_or_path: a shipped sweep, or the path of a TOML file.
        scale: instead of the file's.

    Raises:
        UserError: there is no such file, or it is wrong; the message names file, line and key.
    """
    with untrusted(f"sweep {os.fspath(name_or_path)}", "cannot be read"):
        return _read_sweep(find_data("experiments", os.fspath(name_or_path)), scale)


def _read_sweep(path: Path, scale: str | None) -> Sweep:
    document = read_document(path)
    _refuse_code(document)
    data = {
        key: [value] if key in _LISTS and not isinstance(value, list) else value
        for key, value in document.data.items()
    }
    try:
        sweep = structure({"name": path.stem, **data}, Sweep)
    except StructureError as error:
        inner = getattr(error.__cause__, "exceptions", ())
        problems = next((e.problems for e in inner if isinstance(e, SweepError)), error.problems)
        lines = [f"{_line(document, p.key)}: {p.message}" for p in problems]
        raise UserError("\n".join(lines)) from error
    sweep = with_paths(sweep, path.parent)
    return sweep if scale is None else evolve(sweep, scale=scale)


def _refuse_code(document: Document) -> None:
    """What a sweep sets is a file's word, not the user's."""
    waiting: list[tuple[Key, object]] = [((), document.data)]
    while waiting:
        key, value = waiting.pop()
        if why := refusal(value, document.path):
            raise UserError(f"{_line(document, key)} = {value!r}: {why}")
        if isinstance(value, dict):
            waiting += [((*key, name), inner) for name, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(key, inner) for inner in value]


def to_plain(sweep: Sweep) -> dict[str, Any]:
    """A sweep as the tables of its TOML file; paths are absolute."""
    default = Sweep(models=["x"], workloads=["x"])
    plain: dict[str, Any] = attrs.asdict(with_paths(sweep, Path.cwd()))
    return {
        key: value
        for key, value in plain.items()
        if value is not None and getattr(sweep, key) != getattr(default, key)
    }


def with_paths(sweep: Sweep, folder: Path) -> Sweep:
    """A sweep whose relative paths are resolved against `folder`."""

    def table(axes: Mapping[str, Iterable[Any]]) -> dict[str, list[Any]]:
        return {axis: [place(axis, value, folder) for value in axes[axis]] for axis in axes}

    plot = sweep.plot
    if plot is not None:
        relative_to = {axis: place(axis, value, folder) for axis, value in plot.relative_to.items()}
        plot = evolve(plot, relative_to=relative_to)
    return evolve(
        sweep,
        models=table({"model": sweep.models})["model"],
        variants=table({"variant": sweep.variants})["variant"],
        alone=table({"variant": sweep.alone})["variant"],
        workloads=table({"workload": sweep.workloads})["workload"],
        set={
            joined: [_setting_places(split_keys(joined), value, folder) for value in values]
            for joined, values in sweep.set.items()
        },
        exclude=[table(values) for values in sweep.exclude],
        run=_run_paths(sweep.run, folder),
        plot=plot,
    )


def _run_paths(run: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    return {
        name: str(folder / value) if facts_of(name).kind is Path else value
        for name, value in run.items()
    }


def _setting_places(keys: list[str], value: Any, folder: Path) -> Any:
    if len(keys) == 1:
        return place(keys[0], value, folder)
    return [place(key, one, folder) for key, one in zip(keys, value, strict=True)]


def _line(document: Document, key: Key) -> str:
    """``file:line: key``; no line for one of several tables `exclude`."""
    where = f"{document.path}: {'.'.join(key)}"
    tables = document.data.get("exclude")
    if key[:1] == ("exclude",) and isinstance(tables, list) and len(tables) > 1:
        return where
    lines = {".".join(name): note.line for name, note in document.notes.items()}
    names = ".".join(name for name in key if not name.isdigit())
    while names and names not in lines:
        names = names.rpartition(".")[0]
    return f"{document.path}:{lines[names]}: {'.'.join(key)}" if names else where
