"""A model held against what was measured: its points, the curves, and how far apart they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median

import pandas as pd
from attrs import frozen

from experiments.hardware.measure import UNITS, Point
from experiments.hardware.plateaus import Comparison, Curve, compare
from experiments.hardware.reference import Measured


@frozen(eq=False)
class Held:
    """One model.

    Attributes:
        model: its name.
        taken: what it gives, by point.
        curves: measured, of its GPUs.
    """

    model: str
    taken: Mapping[Point, float]
    curves: list[Measured]

    def own(self, test: str, stride: int = 128) -> Curve:
        """Our curve."""
        mine = [
            (point.footprint, value)
            for point, value in self.taken.items()
            if (point.test, point.stride) == (test, stride)
        ]
        return sorted(mine)

    def tests(self) -> list[tuple[str, int]]:
        """Tests and strides of which there is something."""
        return sorted({(point.test, point.stride) for point in self.taken})

    def comparisons(self) -> Iterator[tuple[Measured, Comparison]]:
        """All measured curves beside ours."""
        for one in self.curves:
            for found in compare(one.curve, self._simulated(one)):
                yield one, found

    def _simulated(self, curve: Measured) -> Mapping[int, float]:
        return dict(self.own(curve.test, curve.stride))

    def table(self) -> pd.DataFrame:
        """A row a plateau or step."""
        rows = [
            {
                "gpu": one.gpu, "test": one.name, "what": found.what, "from": found.first,
                "to": found.last, "measured": found.measured, "simulated": found.simulated,
                "error": found.error,
            }
            for one, found in self.comparisons()
        ]  # fmt: skip
        return pd.DataFrame(rows)

    def points(self) -> pd.DataFrame:
        """A row a measurement of ours."""
        rows = [
            {
                "test": point.test, "stride": point.stride, "footprint": point.footprint,
                "value": value, "unit": UNITS.get(point.test, "GB/s"),
            }
            for point, value in self.taken.items()
        ]  # fmt: skip
        return pd.DataFrame(rows)


def median_error(table: pd.DataFrame, what: str) -> float | None:
    """Of the sizes of all errors of plateaus, or of steps."""
    errors = [abs(error) for error in table[table.what == what].error.dropna()]
    return median(errors) if errors else None
