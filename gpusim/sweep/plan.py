"""From a sweep to the runs it needs: every combination once, every run once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from attrs import evolve, frozen

from gpusim.config.load import LoadedModel, load_model
from gpusim.errors import UserError
from gpusim.simulate import sm_counts
from gpusim.sweep.key import content_key
from gpusim.sweep.point import ALONE, Point, WorkloadChoice
from gpusim.sweep.spec import COORDINATES, SAME, Sweep


@frozen(eq=False)
class Run:
    """What is simulated for one or more points.

    Attributes:
        key: its content key.
        point: the first that needs it.
        model: the machine.
        workload: what is run on it.
        record: event tables to keep.
    """

    key: str
    point: Point
    model: LoadedModel
    workload: WorkloadChoice
    record: tuple[str, ...]


@frozen(eq=False)
class Plan:
    """A sweep, worked out.

    Attributes:
        sweep: what was asked for.
        points: every combination, in the order of the sweep, and the key of its run.
        runs: by key, in the order in which points need them.
    """

    sweep: Sweep
    points: tuple[tuple[Point, str], ...]
    runs: Mapping[str, Run]


def make_plan(sweep: Sweep) -> Plan:
    """Every run of a sweep, checked.

    Raises:
        UserError: a model, variant, workload or setting is wrong, in whatever combination; or an
            exclusion leaves nothing out, or everything.
    """
    planner = _Planner(sweep)
    points: dict[Point, str] = {}
    runs: dict[str, Run] = {}
    for point in planner.points():
        try:
            run = planner.run(point)
        except UserError as error:
            raise UserError(f"sweep {sweep.name!r}: {point.label}: {error}") from error
        points[point] = runs.setdefault(run.key, run).key
    if not points:
        raise UserError(f"sweep {sweep.name!r}: everything is excluded")
    return Plan(sweep, tuple(points.items()), runs)


class _Planner:
    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._unused = list(sweep.exclude)
        self._model = cache(_load_model)

    def points(self) -> Iterator[Point]:
        """All points, derived ones after the one that they are derived from."""
        for point in _combinations(self._sweep):
            if self._is_excluded(point):
                continue
            for shared in self._splits(point):
                yield shared
                yield from self._alone(shared)
        if self._unused:
            raise UserError(
                f"sweep {self._sweep.name!r}: exclude {dict(self._unused[0])!r}: no combination "
                "is left out by it"
            )

    def run(self, point: Point) -> Run:
        """What is simulated for a point."""
        model = self._model(point.model, point.variants, tuple(point.model_settings.items()))
        count = model.config.sm.count
        choice = WorkloadChoice(
            point.workload, point.scale, point.seed, point.workload_settings,
            tuple(number / count for number in point.sms), point.application,
        )  # fmt: skip
        record = self._sweep.record
        return Run(content_key(model, choice.load(), record), point, model, choice, record)

    def _is_excluded(self, point: Point) -> bool:
        matching = [table for table in self._sweep.exclude if _matches(point, table)]
        self._unused = [table for table in self._unused if table not in matching]
        return bool(matching)

    def _splits(self, point: Point) -> Iterator[Point]:
        """The point itself, or one for each way to give out the SMs."""
        step = self._sweep.split_step
        applications = len(self._counts(point)) if step else 1
        if applications == 1:
            yield point
            return
        if self._has_instances(point):
            raise UserError(
                f"sweep {self._sweep.name!r}: {point.label}: split_step: its applications have "
                "MIG instances, which cannot be split otherwise"
            )
        total = sum(self._counts(point).values())
        for sms in _splits(total, applications, step):
            yield evolve(point, sms=sms)

    def _alone(self, point: Point) -> Iterator[Point]:
        if not self._sweep.alone:
            return
        counts = self._counts(point)
        if len(counts) == 1:
            return
        variants = [point.variant if name == SAME else name for name in self._sweep.alone]
        for variant, name in product(dict.fromkeys(variants), counts):
            yield evolve(
                point, variant=variant, role=ALONE, application=name,
                sms=() if self._has_instances(point) else tuple(counts.values()),
            )  # fmt: skip

    def _counts(self, point: Point) -> dict[str, int]:
        """SMs of each application."""
        run = self.run(point)
        workload = run.workload.load()
        names = [spec.name for spec in workload.applications]
        return dict(zip(names, sm_counts(run.model, workload), strict=True))

    def _has_instances(self, point: Point) -> bool:
        workload = self.run(point).workload.load()
        return any(spec.instance is not None for spec in workload.applications)


def _load_model(
    name: str, variants: tuple[str, ...], settings: tuple[tuple[str, str], ...]
) -> LoadedModel:
    return load_model(name, variants, dict(settings))


def _combinations(sweep: Sweep) -> Iterator[Point]:
    axes = [
        [tuple(_settings(keys, value)) for value in values] for keys, values in sweep.set.items()
    ]
    for model, variant, workload, seed in product(
        sweep.models, sweep.variants, sweep.workloads, sweep.seeds
    ):
        for chosen in product(*axes):
            settings = tuple(pair for part in chosen for pair in part)
            yield Point(model, variant, workload, sweep.scale, seed, settings)


def _settings(keys: str, value: Any) -> Iterator[tuple[str, str]]:
    names = [key.strip() for key in keys.split(",")]
    values = [value] if len(names) == 1 else value
    for name, one in zip(names, values, strict=True):
        yield name, as_text(one)


def as_text(value: Any) -> str:
    """A value as ``--set`` would be given it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _matches(point: Point, table: Mapping[str, Sequence[Any]]) -> bool:
    values = {**{name: getattr(point, name) for name in COORDINATES}, **dict(point.settings)}
    return all(as_text(values[name]) in map(as_text, wanted) for name, wanted in table.items())


def _splits(total: int, parts: int, step: int) -> Iterator[tuple[int, ...]]:
    """All ways to write `total` as so many numbers, all but the last multiples of `step`."""
    if parts == 1:
        yield (total,)
        return
    for first in range(step, total - (parts - 1) * step + 1, step):
        for rest in _splits(total - first, parts - 1, step):
            yield (first, *rest)
