"""The plan of a sweep: the runs that it needs, every combination once, every run once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError
from gpusim.machine.load import load_model
from gpusim.programs.catalog import ProgramKind
from gpusim.runs.options import RunOptions
from gpusim.runs.tenants import sm_counts
from gpusim.studies.sweep.code import own_programs
from gpusim.studies.sweep.key import content_key, workload_digest
from gpusim.studies.sweep.named_files import place
from gpusim.studies.sweep.pairs import refusals
from gpusim.studies.sweep.point import (
    ALONE,
    COORDINATES,
    WORKLOAD,
    Point,
    WorkloadChoice,
    as_text,
    split_keys,
)
from gpusim.studies.sweep.shift import shifted_value
from gpusim.studies.sweep.spec import SAME, Sweep
from gpusim.workloads.builder import ProgramStart
from gpusim.workloads.workload import Workload, load_workload


@frozen(eq=False)
class Run:
    """What is simulated for one or more points.

    Attributes:
        key: its content key.
        point: the first that needs it.
        model: the machine.
        workload: what is run on it.
        options: of the run.
        programs: those of the user in the workload.
    """

    key: str
    point: Point
    model: LoadedModel
    workload: WorkloadChoice
    options: RunOptions
    programs: tuple[ProgramKind, ...]


@frozen(eq=False)
class Plan:
    """A sweep, worked out.

    Attributes:
        sweep: what was asked for.
        points: every combination, in the order of the sweep, and the key of its run.
        runs: by key, in the order in which points need them.
        refused: pairs of variants that do not make one machine, by model and pair, and why.
    """

    sweep: Sweep
    points: tuple[tuple[Point, str], ...]
    runs: Mapping[str, Run]
    refused: Mapping[tuple[str, str], str] = field(factory=dict)


def make_plan(sweep: Sweep) -> Plan:
    """Every run of a sweep, checked.

    Raises:
        UserError: a model, variant, workload or setting is wrong, in whatever combination; an
            exclusion leaves nothing out, or everything; or there is nothing to split or to run
            alone.
    """
    planner = _Planner(sweep)
    points: dict[Point, str] = {}
    runs: dict[str, Run] = {}
    for point in planner.points():
        if point not in points:
            run = planner.run(point)
            points[point] = runs.setdefault(run.key, run).key
    if not points:
        raise UserError(f"sweep {sweep.name!r}: everything is excluded")
    return Plan(sweep, tuple(points.items()), runs, planner.refused)


def plan_together(name: str, sweeps: Sequence[Sweep]) -> Plan:
    """The runs of several sweeps as those of one.

    Args:
        name: of its table.
        sweeps: at least one.

    Raises:
        UserError: as `make_plan`.
    """
    plans = [make_plan(sweep) for sweep in sweeps]
    points = dict.fromkeys(pair for plan in plans for pair in plan.points)
    runs = {key: run for plan in plans for key, run in plan.runs.items()}
    return Plan(evolve(sweeps[0], name=name), tuple(points), runs)


class _Planner:
    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._unused = list(sweep.exclude)
        self.refused = refusals(sweep) if sweep.pairs else {}
        self._has_mix = False
        self._load_model = cache(_load_model)
        self._load_outline = cache(_load_outline)

    def points(self) -> Iterator[Point]:
        """All points, derived ones after the one that they are derived from."""
        for point in _combinations(self._sweep):
            if (point.model, point.variant) not in self.refused and not self._is_excluded(point):
                yield from map(self._shifted, self._derived(point))
        if self._unused:
            table = {name: list(values) for name, values in self._unused[0].items()}
            raise self._error(f"exclude {table}: no combination is left out by it")
        for what in ("alone", "split_step"):
            if getattr(self._sweep, what) and not self._has_mix:
                raise self._error(f"{what}: no workload has several applications")

    def run(self, point: Point) -> Run:
        """What is simulated for a point."""
        model, choice, workload = self._resolve(point)
        options = self._sweep.options(Path.cwd())
        try:
            key = content_key(model, workload, options)
        except UserError as error:
            raise self._error(f"{point.label}: {error}") from error
        return Run(key, point, model, choice, options, tuple(own_programs(workload)))

    def _is_excluded(self, point: Point) -> bool:
        matching = [table for table in self._sweep.exclude if _matches(point, table)]
        self._unused = [table for table in self._unused if table not in matching]
        return bool(matching)

    def _shifted(self, point: Point) -> Point:
        """The point, with the value of the key that is shifted with the seeds."""
        key, number = self._sweep.shift, self._sweep.seeds.index(point.seed)
        if not key or not number:
            return point
        try:
            model = self._load_model(point.model, point.variants, point.model_settings)
            value = shifted_value(model, key, number)
        except UserError as error:
            raise self._error(f"{point.label}: {error}") from error
        return evolve(point, shift=((key, value),))

    def _derived(self, point: Point) -> Iterator[Point]:
        """The point, or one for each way to give out the SMs; after each, its runs alone."""
        model, _, workload = self._resolve(point)
        counts = sm_counts(model, workload)
        if len(counts) == 1:
            yield point
            return
        self._has_mix = True
        placed = any(
            spec.instance is not None or spec.gpu is not None for spec in workload.applications
        )
        for sms in self._splits(point, counts, placed):
            shared = evolve(point, sms=sms)
            yield shared
            variants = [point.variant if name == SAME else name for name in self._sweep.alone]
            for variant, spec in product(dict.fromkeys(variants), workload.applications):
                yield evolve(
                    shared,
                    variant=variant,
                    role=ALONE,
                    application=spec.name,
                    sms=() if placed else sms or tuple(counts),
                )

    def _splits(self, point: Point, counts: list[int], placed: bool) -> Iterator[tuple[int, ...]]:
        """SMs of each application; empty: as the workload says."""
        step = self._sweep.split_step
        if not step:
            yield ()
        elif placed:
            raise self._error(
                f"{point.label}: split_step: its applications name their MIG instances or GPUs, "
                "which cannot be split otherwise"
            )
        elif step * len(counts) > sum(counts):
            raise self._error(
                f"{point.label}: split_step = {step}: {sum(counts)} SMs are too few for "
                f"{len(counts)} applications"
            )
        else:
            yield from _compositions(sum(counts), len(counts), step)

    def _resolve(self, point: Point) -> tuple[LoadedModel, WorkloadChoice, Workload]:
        """The machine, and the workload without its input."""
        here = Path.cwd()  # a worker's may be another one
        name = place("workload", point.workload, here)
        settings = tuple(
            (key.removeprefix(WORKLOAD), place(key, value, here))
            for key, value in point.workload_settings
        )
        try:
            model = self._load_model(point.model, point.variants, point.model_settings)
            outline, digest = self._load_outline(name, point.scale, point.seed, settings)
            shares = tuple(number / model.config.sms for number in point.sms)
            choice = WorkloadChoice(
                name, point.scale, point.seed, settings, shares, point.application, digest
            )
            workload = choice.part_of(outline)
            counts = sm_counts(model, workload)
        except UserError as error:
            raise self._error(f"{point.label}: {error}") from error
        if 0 in counts:
            raise self._error(f"{point.label}: an application gets no SM")
        return model, choice, workload

    def _error(self, message: str) -> UserError:
        return UserError(f"sweep {self._sweep.name!r}: {message}")


def _load_outline(
    name: str, scale: str, seed: int, settings: tuple[tuple[str, str], ...]
) -> tuple[Workload, str]:
    """A workload without its graphs, which may be large, and its digest."""
    workload = load_workload(name, scale, seed, dict(settings))
    specs = (
        evolve(spec, start=evolve(spec.start, graph=None))
        if isinstance(spec.start, ProgramStart)
        else spec
        for spec in workload.applications
    )
    return evolve(workload, applications=tuple(specs)), workload_digest(workload)


def _load_model(
    name: str, variants: tuple[str, ...], settings: tuple[tuple[str, str], ...]
) -> LoadedModel:
    return load_model(name, variants, dict(settings))


def _combinations(sweep: Sweep) -> Iterator[Point]:
    axes = [
        [tuple(_settings(keys, value)) for value in values] for keys, values in sweep.set.items()
    ]
    for model, variant, workload, seed in product(
        sweep.models, sweep.axes["variant"], sweep.workloads, sweep.seeds
    ):
        for chosen in product(*axes):
            settings = tuple(pair for part in chosen for pair in part)
            yield Point(model, variant, workload, sweep.scale, seed, settings)


def _settings(keys: str, value: Any) -> Iterator[tuple[str, str]]:
    names = split_keys(keys)
    values = [value] if len(names) == 1 else value
    for name, one in zip(names, values, strict=True):
        yield name, as_text(one)


def _matches(point: Point, table: Mapping[str, Sequence[Any]]) -> bool:
    values = {**{name: getattr(point, name) for name in COORDINATES}, **dict(point.settings)}
    return all(as_text(values[name]) in map(as_text, wanted) for name, wanted in table.items())


def _compositions(total: int, parts: int, step: int) -> Iterator[tuple[int, ...]]:
    """All ways to write `total` as a sum of `parts`, all but the last multiples of `step`."""
    if parts == 1:
        yield (total,)
        return
    for first in range(step, total - (parts - 1) * step + 1, step):
        for rest in _compositions(total - first, parts - 1, step):
            yield (first, *rest)
