"""A model held against what was measured: its points, the curves, and how far apart they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

import pandas as pd
from attrs import field, frozen

from experiments.hardware.measure import TLB_STEPS, UNITS, Point
from experiments.hardware.plateaus import Comparison, Curve, compare
from experiments.hardware.reference import Measured
from experiments.hardware.stride_curves import POINTWISE
from experiments.hardware.tlb_steps import TlbStep
from gpusim.core.errors import UserError

_POINT = ("test", "footprint", "stride", "variant")
"""Columns of a file of points that tell what was measured, as `Point` has them."""


@frozen(eq=False)
class Held:
    """One model.

    Attributes:
        model: its name.
        taken: what it gives, by point.
        curves: measured, of its GPUs.
        steps: measured ends of TLBs, of its GPUs.
    """

    model: str
    taken: Mapping[Point, float]
    curves: list[Measured]
    steps: list[TlbStep] = field(factory=list)

    def own(self, test: str, stride: int = 128, variant: str = "") -> Curve:
        """Our curve."""
        mine = [
            (point.footprint, value)
            for point, value in self.taken.items()
            if (point.test, point.stride, point.variant) == (test, stride, variant)
        ]
        return sorted(mine)

    def tests(self) -> list[tuple[str, int, str]]:
        """Tests, strides and variants of which there is something."""
        return sorted({(point.test, point.stride, point.variant) for point in self.taken})

    def comparisons(self) -> Iterator[tuple[str, str, Comparison]]:
        """All that was measured beside ours: GPU, test, plateau, step or point."""
        for one in self.curves:
            if one.test in POINTWISE:
                own = dict(self.own(one.test, one.stride, one.variant))
                for x, value in one.curve:
                    if x in own:
                        yield one.gpu, one.name, Comparison("point", x, x, value, own[x])
                continue
            for found in compare(one.curve, dict(self.own(one.test, one.stride, one.variant))):
                yield one.gpu, one.name, found
        for step in self.steps:
            footprints = set(step.footprints())
            ours = self.own(TLB_STEPS, step.entry, step.variant)
            for found in step.compare([one for one in ours if one[0] in footprints]):
                yield step.gpu, f"{step.level} TLB", found

    def table(self) -> pd.DataFrame:
        """A row a plateau, step or point."""
        rows = [
            {
                "gpu": gpu,
                "test": test,
                "what": found.what,
                "from": found.first,
                "to": found.last,
                "measured": found.measured,
                "simulated": found.simulated,
                "error": found.error,
            }
            for gpu, test, found in self.comparisons()
        ]
        return pd.DataFrame(rows)

    def points(self) -> pd.DataFrame:
        """A row a measurement of ours."""
        rows = [
            {
                "test": point.test,
                "variant": point.variant,
                "stride": point.stride,
                "footprint": point.footprint,
                "value": value,
                "unit": UNITS.get(point.test, "GB/s"),
            }
            for point, value in self.taken.items()
        ]
        return pd.DataFrame(rows)


def read_points(file: Path) -> dict[Point, float]:
    """What `Held.points` wrote.

    Raises:
        UserError: there is no such file, or it lacks a column.
    """
    try:
        table = pd.read_csv(file, keep_default_na=False)
        rows = zip(*(table[name] for name in (*_POINT, "value")), strict=True)
        return {
            Point(test, int(footprint), int(stride), str(variant)): float(value)
            for test, footprint, stride, variant, value in rows
        }
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{file}: holds no points of a model: {error}") from error


def median_error(table: pd.DataFrame, what: str) -> float | None:
    """The median of the sizes of all errors of plateaus, or of steps."""
    errors = [abs(error) for error in table[table.what == what].error.dropna()]
    return median(errors) if errors else None
