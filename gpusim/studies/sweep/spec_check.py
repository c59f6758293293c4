"""Checks of a sweep's definition, before anything of it is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from gpusim.core.errors import UserError, nearest
from gpusim.files.structure import Problem
from gpusim.results.event_tables import check_records
from gpusim.runs.options import facts_of, option_fields, run_options
from gpusim.studies.sweep.point import BASELINE, COORDINATES, as_text, split_keys
from gpusim.workloads.tables import SCALES

_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")

NAMED_BY_THE_SWEEP = tuple(one.name for one in option_fields() if facts_of(one.name).writes)
"""Options of a run that name a file which it writes."""


class PlotTable(Protocol):
    """What is checked of the picture of a sweep (see `gpusim.studies.sweep.spec.PlotTable`)."""

    @property
    def x(self) -> str: ...
    @property
    def lines(self) -> str: ...
    @property
    def panels(self) -> str: ...
    @property
    def relative_to(self) -> Mapping[str, Any]: ...


class Sweep(Protocol):
    """What is checked of a sweep (see `gpusim.studies.sweep.spec.Sweep`)."""

    @property
    def name(self) -> str: ...
    @property
    def scale(self) -> str: ...
    @property
    def seeds(self) -> tuple[int, ...]: ...
    @property
    def record(self) -> tuple[str, ...]: ...
    @property
    def run(self) -> Mapping[str, Any]: ...
    @property
    def split_step(self) -> int: ...
    @property
    def pairs(self) -> bool: ...
    @property
    def variants(self) -> tuple[str, ...]: ...
    @property
    def set(self) -> Mapping[str, tuple[Any, ...]]: ...
    @property
    def axes(self) -> dict[str, tuple[Any, ...]]: ...
    @property
    def exclude(self) -> tuple[Mapping[str, Any], ...]: ...
    @property
    def plot(self) -> PlotTable | None: ...


class SweepError(UserError):
    """A sweep is wrong.

    Args:
        name: of the sweep.
        problems: each mistake.
    """

    def __init__(self, name: object, problems: list[Problem]) -> None:
        lines = (f"sweep {name!r}: {'.'.join(p.key)}: {p.message}" for p in problems)
        super().__init__("\n".join(lines))
        self.problems = problems


def check_sweep(sweep: Sweep) -> None:
    """Refuse what cannot be meant.

    Raises:
        SweepError: something has the wrong type, is empty, or is not known.
    """
    problems = list(_field_problems(sweep)) or list(_table_problems(sweep))
    if problems:
        raise SweepError(sweep.name, problems)


def _field_problems(sweep: Sweep) -> Iterator[Problem]:
    name = sweep.name
    if not name or set(name) - _NAME or name.startswith("."):
        yield Problem(
            ("name",), f"{name!r} cannot name files: letters, digits, '-', '_' and '.' only"
        )
    for field in ("models", "workloads", "variants", "seeds"):
        if not getattr(sweep, field):
            yield Problem((field,), "is empty")
    for field in ("models", "workloads", "variants", "record", "alone"):
        yield from _of_type(field, getattr(sweep, field), str, "a string")
    yield from _of_type("seeds", sweep.seeds, int, "a whole number")
    if sweep.scale not in SCALES:
        hint = nearest(str(sweep.scale), SCALES)
        yield Problem(
            ("scale",), f"there is no scale {sweep.scale!r}{hint}; allowed: {', '.join(SCALES)}"
        )
    if type(sweep.split_step) is not int or sweep.split_step < 0:
        yield Problem(("split_step",), f"{sweep.split_step!r}: must be a whole number >= 0")
    try:
        check_records(sweep.record)
    except UserError as error:
        yield Problem(("record",), str(error))
    yield from _run_problems(sweep.run)
    yield from _of_type("pairs", (sweep.pairs,), bool, "true or false")
    yield from _set_problems(sweep.set)


def _run_problems(table: Mapping[str, Any]) -> Iterator[Problem]:
    """Options of runs that there are not, or that are of one run."""
    for name in table:
        if name == "record":
            yield Problem(("run", name), "write it as record = …, outside of run")
        elif name in NAMED_BY_THE_SWEEP:
            yield Problem(("run", name), "a sweep names the files of its runs itself")
        else:
            try:
                run_options({name: table[name]})
            except UserError as error:
                yield Problem(("run", name), str(error))


def _of_type(field: str, values: Iterable[object], kind: type, what: str) -> Iterator[Problem]:
    for index, value in enumerate(values):
        if type(value) is not kind:
            yield Problem((field, str(index)), f"{value!r}: must be {what}")


def _set_problems(axes: Mapping[str, tuple[Any, ...]]) -> Iterator[Problem]:
    seen: list[str] = []
    for joined, values in axes.items():
        keys = split_keys(joined)
        for key in keys:
            if not key:
                yield Problem(("set", joined), "a key is empty")
            elif key in seen:
                yield Problem(("set", joined), f"{key} is set twice")
            elif key in COORDINATES:
                yield Problem(
                    ("set", joined), f"is no key of a model; write {key}s, outside of set"
                )
            seen.append(key)
        if not values:
            yield Problem(("set", joined), "has no values")
        for value in values:
            shown = list(value) if isinstance(value, tuple) else value
            if len(keys) == 1 and not _is_scalar(value):
                message = f"{shown!r}: must be a number, a string, true or false"
                yield Problem(("set", joined), message)
            elif len(keys) > 1 and not _is_row(value, len(keys)):
                message = f"{shown!r}: must be a list of {len(keys)} values, one for each key"
                yield Problem(("set", joined), message)


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float)


def _is_row(value: object, count: int) -> bool:
    return isinstance(value, tuple) and len(value) == count and all(map(_is_scalar, value))


def _table_problems(sweep: Sweep) -> Iterator[Problem]:
    axes = sweep.axes
    for index, table in enumerate(sweep.exclude):
        if not table:
            yield Problem(("exclude", str(index)), "is empty")
        for name, values in table.items():
            yield from _value_problems(("exclude", str(index), name), values, axes)
    if sweep.pairs:
        yield from _pair_problems(sweep)
    elif sweep.plot is not None:
        yield from _plot_problems(sweep.plot, sweep)


def _value_problems(
    key: tuple[str, ...], values: Iterable[object], axes: Mapping[str, tuple[Any, ...]]
) -> Iterator[Problem]:
    """Problems of values that one of the axes must have."""
    name = key[-1]
    if name not in axes:
        yield Problem(key, f"unknown{nearest(name, axes)}; allowed: {', '.join(axes)}")
        return
    allowed = dict.fromkeys(map(as_text, axes[name]))
    for value in map(as_text, values):
        if value not in allowed:
            hint = nearest(value, allowed)
            message = f"{value!r} is none of its values{hint}; allowed: {', '.join(allowed)}"
            yield Problem(key, message)


def _pair_problems(sweep: Sweep) -> Iterator[Problem]:
    others = [one for one in sweep.variants if one != BASELINE]
    if len(set(others)) < 2:
        yield Problem(("variants",), "pairs need two of them, beside the model as it is")
    if sweep.plot is None:
        return
    if BASELINE not in sweep.variants:
        yield Problem(("variants",), f"the picture needs {BASELINE!r}, with which all are compared")
    plot = sweep.plot
    if plot.x != "variant" or plot.lines or plot.panels or plot.relative_to:
        yield Problem(
            ("plot",), 'of pairs is a matrix: x = "variant", without lines, panels, relative_to'
        )
    for name, values in sweep.axes.items():
        if len(values) > 1 and name not in ("variant", "workload", "seed"):
            yield Problem(("plot",), f"{name} has several values, which a matrix cannot show")


def _plot_problems(plot: PlotTable, sweep: Sweep) -> Iterator[Problem]:
    axes = sweep.axes
    chosen = {what: getattr(plot, what) for what in ("x", "lines", "panels")}
    chosen = {what: name for what, name in chosen.items() if name or what == "x"}
    for what, name in chosen.items():
        if name not in axes:
            hint = nearest(name, axes)
            message = f"unknown {name!r}{hint}; allowed: {', '.join(axes)}"
            yield Problem(("plot", what), message)
        elif len(set(map(as_text, axes[name]))) == 1:
            yield Problem(("plot", what), f"{name} has only one value")
        elif list(chosen.values()).count(name) > 1:
            yield Problem(("plot", what), f"{name} is used twice")
    if sweep.split_step:
        yield Problem(("split_step",), "cannot be drawn: a plot has no axis for the splits")
    for name, value in plot.relative_to.items():
        yield from _value_problems(("plot", "relative_to", name), (value,), axes)
    together = [split_keys(joined) for joined in sweep.set]
    used = {"seed", *chosen.values()}
    used |= {key for keys in together if used & set(keys) for key in keys}
    for name, values in axes.items():
        if name not in used and len(set(map(as_text, values))) > 1:
            yield Problem(("plot",), f"{name} has several values: use it as x, lines or panels")
