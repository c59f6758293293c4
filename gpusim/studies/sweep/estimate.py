"""Estimates of how long runs will take, from the times of earlier runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from gpusim.studies.sweep.point import Point


class Estimates:
    """Mean seconds of runs of the same program and machine, else program, else scale."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, ...], float] = defaultdict(float)
        self._counts: Counter[tuple[str, ...]] = Counter()

    def add(self, point: Point, seconds: float) -> None:
        """A run has taken so long."""
        for kind in _kinds(point):
            self._sums[kind] += seconds
            self._counts[kind] += 1

    def seconds(self, point: Point) -> float | None:
        """What a run will take; None if nothing is known."""
        for kind in _kinds(point):
            if count := self._counts[kind]:
                return self._sums[kind] / count
        return None

    def total(self, points: Iterable[Point]) -> float | None:
        """What runs will take one after the other; None if nothing is known of one."""
        seconds = [self.seconds(point) for point in points]
        return None if None in seconds else sum(one for one in seconds if one is not None)


def _kinds(point: Point) -> tuple[tuple[str, ...], ...]:
    program = (point.workload, point.scale, point.application)
    return (*program, point.model), program, (point.scale,)
