"""Means of repeated runs, and how far they may be off: 95 % intervals."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RESAMPLES = 10_000
_LEVEL = 0.95
_TAIL = (1 - _LEVEL) / 2


@frozen
class Interval:
    """A mean, and the ends of its 95 % interval; all are NaN if there are no values.

    Attributes:
        mean: of the values.
        low: end of the interval; the mean where there is only one value.
        high: the other end.
        runs: how many values there are.
    """

    mean: float
    low: float
    high: float
    runs: int


def bootstrap_interval(values: NDArray[np.float64]) -> Interval:
    """The interval of a mean by resampling: percentiles of the means of 10,000 resamples.

    It assumes nothing about how the values are spread, but knows nothing beyond them: with less
    than some ten values it is too narrow, with two it reaches from one to the other.  The
    resamples are the same ones every time.

    Args:
        values: one a run; NaN for a run without.
    """
    there = values[~np.isnan(values)]
    if len(there) < 2 or (there == there[0]).all():
        return _without_spread(there)
    means = there[_resamples(len(there))].mean(axis=1)
    low, high = np.quantile(means, (_TAIL, 1 - _TAIL))
    return Interval(float(there.mean()), float(low), float(high), len(there))


def student_interval(values: NDArray[np.float64]) -> Interval:
    """The interval of a mean by Student's t, for few values that are spread like normal ones.

    Args:
        values: one a run; NaN for a run without.
    """
    from scipy.stats import t as student

    there = values[~np.isnan(values)]
    if len(there) < 2:
        return _without_spread(there)
    mean = float(there.mean())
    quantile = student.ppf(1 - _TAIL, len(there) - 1)
    half = float(quantile * there.std(ddof=1) / len(there) ** 0.5)
    return Interval(mean, mean - half, mean + half, len(there))


@cache
def _resamples(runs: int) -> NDArray[np.int64]:
    """(resamples, runs): the numbers of the runs that each resample draws, with repetitions."""
    return np.random.default_rng(0).integers(runs, size=(_RESAMPLES, runs))


def _without_spread(values: NDArray[np.float64]) -> Interval:
    mean = float(values[0]) if len(values) else float("nan")
    return Interval(mean, mean, mean, len(values))
