"""A sweep as data: which machines, programs and settings a study compares."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs
from attrs import evolve, field, frozen

from gpusim.config.document import Document, Key, read_document
from gpusim.config.structure import StructureError, structure
from gpusim.datafiles import find_data
from gpusim.errors import UserError, nearest
from gpusim.programs.tables import SCALES
from gpusim.results.recorder import check_records
from gpusim.sweep.point import BASELINE

SAME = "same"
"""In `Sweep.alone`: with the variant of the shared run."""

COORDINATES = ("model", "variant", "workload", "seed")
"""Of a combination, beside its settings."""

_LISTS = ("models", "variants", "workloads", "seeds", "record", "alone")
_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."


def _listed(value: Any) -> tuple[Any, ...]:
    """One value stands for a list of it."""
    return (value,) if isinstance(value, str | int | float) else tuple(value)


def _axes(value: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {key: _listed(values) for key, values in value.items()}


def _tables(value: Iterable[Mapping[str, Any]]) -> tuple[dict[str, tuple[Any, ...]], ...]:
    return tuple(_axes(table) for table in value)


@frozen(kw_only=True)
class PlotTable:
    """The picture that `gpusim sweep` draws of a sweep.

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
    relative_to: Mapping[str, Any] = field(factory=dict)


@frozen(kw_only=True)
class Sweep:
    """All combinations of models, variants, workloads, settings and seeds, but some.

    Attributes:
        name: of its files in the folder of results.
        title: what it asks, for tables and pictures.
        models: names of shipped models, or paths.
        variants: each a variant's name, or several joined with ``+``; ``"baseline"`` for none.
        workloads: names, or paths.
        scale: of the workloads.
        seeds: of everything random.
        set: axes: key → its values, as for ``--set`` (``workload.KEY`` sets one of the workload).
            Keys that change together are joined with a comma, each value then being a list:
            ``{"tlb.L1.entries, tlb.L1.ways": [[64, 4], [128, 8]]}``.
        exclude: combinations to leave out: tables of some of `COORDINATES` and of the keys of
            `set`, each with a value or a list of values.
        record: event tables that the runs keep.
        alone: of each workload with several applications, run each application alone, too, on
            as many SMs as it has in the shared run; with each of these variants (`SAME`: that of
            the shared run).
        split_step: of each workload with several applications, run all ways to give out the SMs
            in steps of so many; 0: only as the workload says.
        plot: what to draw at the end.

    Raises:
        UserError: something is empty, a scale, a table or a coordinate is unknown, or values that
            change together are not as many as their keys.
    """

    models: tuple[str, ...] = field(converter=_listed)
    workloads: tuple[str, ...] = field(converter=_listed)
    variants: tuple[str, ...] = field(default=(BASELINE,), converter=_listed)
    name: str = "sweep"
    title: str = ""
    scale: str = "quick"
    seeds: tuple[int, ...] = field(default=(0,), converter=_listed)
    set: Mapping[str, Any] = field(factory=dict, converter=_axes)
    exclude: tuple[Mapping[str, Any], ...] = field(default=(), converter=_tables)
    record: tuple[str, ...] = field(default=(), converter=_listed)
    alone: tuple[str, ...] = field(default=(), converter=_listed)
    split_step: int = 0
    plot: PlotTable | None = None

    def __attrs_post_init__(self) -> None:
        if not self.name or set(self.name) - set(_NAME) or self.name.startswith("."):
            raise UserError(
                f"a sweep cannot be called {self.name!r}: letters, digits, '-', '_' and '.' only"
            )
        for what in ("models", "workloads", "variants", "seeds"):
            if not getattr(self, what):
                raise UserError(f"sweep {self.name!r}: {what} is empty")
        if self.scale not in SCALES:
            raise UserError(
                f"sweep {self.name!r}: there is no scale {self.scale!r}"
                f"{nearest(self.scale, SCALES)}; allowed: {', '.join(SCALES)}"
            )
        if self.split_step < 0:
            raise UserError(f"sweep {self.name!r}: split_step = {self.split_step}: must be >= 0")
        check_records(self.record)
        self._check_axes()
        known = (*COORDINATES, *self.keys)
        for table in self.exclude:
            self._check_names("exclude", table, known)
        if self.plot is not None:
            axes = (self.plot.x, self.plot.lines, self.plot.panels, *self.plot.relative_to)
            self._check_names("plot", filter(None, axes), known)

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that are set."""
        return tuple(key.strip() for keys in self.set for key in keys.split(","))

    def _check_axes(self) -> None:
        keys = self.keys
        for key in keys:
            if not key or keys.count(key) > 1:
                raise UserError(
                    f"sweep {self.name!r}: set: {'a key is empty' if not key else f'{key} twice'}"
                )
        for joined, values in self.set.items():
            if not values:
                raise UserError(f"sweep {self.name!r}: set.{joined!r} has no values")
            count = joined.count(",") + 1
            for value in values:
                if count > 1 and (not isinstance(value, list | tuple) or len(value) != count):
                    raise UserError(
                        f"sweep {self.name!r}: set.{joined!r}: {value!r}: must be a list of "
                        f"{count} values, one for each key"
                    )

    def _check_names(self, where: str, names: Iterable[str], known: Iterable[str]) -> None:
        for name in names:
            if name not in known:
                raise UserError(
                    f"sweep {self.name!r}: {where}: unknown {name!r}{nearest(name, known)}; "
                    f"allowed: {', '.join(known)}"
                )


def read_sweep(name_or_path: str | os.PathLike[str], scale: str | None = None) -> Sweep:
    """A sweep from its TOML file: the fields of `Sweep` as keys; its name is the file's.

    Args:
        name_or_path: a shipped sweep, or the path of a TOML file.
        scale: instead of the file's.

    Raises:
        UserError: there is no such file, or it is wrong; the message names file, line and key.
    """
    path = find_data("experiments", os.fspath(name_or_path))
    document = read_document(path)
    data = dict(document.data)
    for key in _LISTS:
        if key in data and not isinstance(data[key], list):
            data[key] = [data[key]]
    try:
        sweep = structure({"name": path.stem, **data}, Sweep)
    except StructureError as error:
        lines = [f"{_place(document, p.key)}: {p.message}" for p in error.problems]
        raise UserError("\n".join(lines)) from error
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    sweep = evolve(
        sweep, models=_beside(path, sweep.models), workloads=_beside(path, sweep.workloads)
    )
    return sweep if scale is None else evolve(sweep, scale=scale)


def to_plain(sweep: Sweep) -> dict[str, Any]:
    """A sweep as the tables of its TOML file."""
    default = Sweep(models=["x"], workloads=["x"])
    plain: dict[str, Any] = attrs.asdict(sweep)
    return {
        key: value
        for key, value in plain.items()
        if value is not None and getattr(sweep, key) != getattr(default, key)
    }


def _place(document: Document, key: Key) -> str:
    note = document.note(key)
    return f"{document.path}{f':{note.line}' if note else ''}: {'.'.join(key)}"


def _beside(path: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """Paths of files that a sweep's file names: from its own folder."""
    return tuple(str(path.parent / name) if name.endswith(".toml") else name for name in names)
