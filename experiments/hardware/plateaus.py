"""Plateaus of a curve and the steps between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

import numpy as np
from attrs import frozen

TOLERANCE = 1.10
"""Values of one plateau: the largest over the least."""

OCTAVES = 0.6
"""Length of a plateau at least, in doublings of the footprint."""

INSIDE, AT_STEP = 3, 6
"""Footprints at which a model is asked on a plateau, and around a step."""

Curve = Sequence[tuple[int, float]]
"""(footprint in bytes, value), footprints rising."""


@frozen
class Plateau:
    """Footprints with about the same value.

    Attributes:
        first, last: footprints, in bytes.
        value: the median.
    """

    first: int
    last: int
    value: float

    def inside(self, count: int) -> list[int]:
        """Footprints in it, evenly spaced on a logarithmic scale, away from its ends."""
        places = (np.arange(count) + 0.5) / count
        return [round(self.first * (self.last / self.first) ** place) for place in places]


def plateaus(curve: Curve) -> list[Plateau]:
    """The plateaus of a curve, from left to right: each as long as it can be."""
    found = []
    first = 0
    while first < len(curve):
        low = high = curve[first][1]
        last = first
        for place in range(first + 1, len(curve)):
            low, high = min(low, curve[place][1]), max(high, curve[place][1])
            if high > TOLERANCE * low:
                break
            last = place
        if np.log2(curve[last][0] / curve[first][0]) >= OCTAVES:
            value = median(value for _, value in curve[first : last + 1])
            found.append(Plateau(curve[first][0], curve[last][0], value))
            first = last + 1
        else:
            first += 1
    return found


def crossing(curve: Curve, before: float, after: float) -> float | None:
    """Where a curve first passes the geometric mean of two values; None: it does not."""
    middle = (before * after) ** 0.5
    rises = after > before
    for (x0, y0), (x1, y1) in pairwise(curve):
        if (y0 < middle <= y1) if rises else (y0 > middle >= y1):
            part = (middle - y0) / (y1 - y0)
            return float(x0 * (x1 / x0) ** part)
    return None


def around(step: tuple[Plateau, Plateau], count: int) -> list[int]:
    """Footprints from before a step to behind it."""
    low, high = step[0].last / 1.6, step[1].first * 1.6
    return [round(low * (high / low) ** (i / (count - 1))) for i in range(count)]


@frozen
class Comparison:
    """A plateau, or a step, measured and simulated.

    Attributes:
        what: "plateau", "step", or "point" of a curve that has neither.
        first, last: of the measured plateau, or the plateaus' ends around the step; the point.
        measured, simulated: value of the plateau; footprint of the step, None if there is none.
    """

    what: str
    first: int
    last: int
    measured: float
    simulated: float | None

    @property
    def error(self) -> float | None:
        """Relative."""
        return None if self.simulated is None else self.simulated / self.measured - 1


def wanted(measured: Curve) -> list[int]:
    """Footprints at which a model has to be asked to be compared with a measured curve."""
    levels = plateaus(measured)
    found = {footprint for level in levels for footprint in level.inside(INSIDE)}
    for step in pairwise(levels):
        found.update(around(step, AT_STEP))
    return sorted(found)


def compare(measured: Curve, simulated: Mapping[int, float]) -> list[Comparison]:
    """Plateaus and steps of a measured curve beside what a model gives at `wanted` footprints.

    A model need not have been asked at all of them.
    """
    levels = plateaus(measured)
    found = []
    ours = []
    for level in levels:
        values = [simulated[x] for x in level.inside(INSIDE) if x in simulated]
        own = median(values) if values else None
        ours.append(own)
        found.append(Comparison("plateau", level.first, level.last, level.value, own))
    for number, step in enumerate(pairwise(levels)):
        before, after = step
        place = crossing(measured, before.value, after.value)
        own_before, own_after = ours[number], ours[number + 1]
        if place is None or own_before is None or own_after is None:
            continue
        curve = [(x, simulated[x]) for x in around(step, AT_STEP) if x in simulated]
        mine = crossing(curve, own_before, own_after)
        found.append(Comparison("step", before.last, after.first, place, mine))
    return found
