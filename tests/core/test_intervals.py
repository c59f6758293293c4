"""Intervals of means: what is known of them in advance."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim.core.intervals import Interval, bootstrap_interval, student_interval

BOTH = pytest.mark.parametrize("interval", [bootstrap_interval, student_interval])


@BOTH
def test_of_few_values(interval):
    assert interval(np.array([3.0])) == Interval(3, 3, 3, 1)
    assert interval(np.array([3.0, 3.0, np.nan])) == Interval(3, 3, 3, 2)
    assert interval(np.array([1.0, np.nan])) == Interval(1, 1, 1, 1)
    assert np.isnan(interval(np.array([])).mean)


def test_bootstrap_stays_between_the_values_and_is_always_the_same():
    assert bootstrap_interval(np.array([1.0, 3.0])) == Interval(2, 1, 3, 2)
    values = np.array([1.0, 5, 2, 8, 3, 3, 4])
    found = bootstrap_interval(values)
    assert 1 < found.low < found.mean < found.high < 8
    assert bootstrap_interval(values) == found


@BOTH
def test_95_of_100_intervals_hold_the_true_mean(interval):
    random = np.random.default_rng(1)
    found = [interval(random.normal(10, 2, 40)) for _ in range(100)]
    assert 88 <= sum(one.low <= 10 <= one.high for one in found) <= 100
