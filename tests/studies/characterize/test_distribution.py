from collections import Counter
from math import isnan

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusim.studies.characterize import distribution
from gpusim.studies.characterize.distribution import Distribution, Tally

values = st.lists(st.integers(-5, 40), max_size=60)


@given(st.lists(values, max_size=5))
def test_a_tally_counts_like_a_counter(parts):
    tally = Tally()
    for part in parts:
        tally.add(np.array(part, dtype=np.int64))
    found = tally.result()
    assert dict(zip(found.value.tolist(), found.count.tolist(), strict=True)) == Counter(
        value for part in parts for value in part
    )
    assert found.value.tolist() == sorted(found.value.tolist())


def test_a_tally_merges_when_much_waits_and_goes_on(monkeypatch):
    monkeypatch.setattr(distribution, "_MERGE_AT", 4)
    tally = Tally()
    for begin in range(10):
        tally.add(np.arange(begin, begin + 5))
        assert len(tally._parts) <= 4
    assert tally.result().count.tolist() == [1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 4, 3, 2, 1]


@given(values, st.integers(-6, 41), st.floats(0.01, 1))
def test_shares_mean_and_quantiles(listed, bound, share):
    found = Distribution.of(np.array(listed, dtype=np.int64))
    if not listed:
        assert isnan(found.mean)
        assert isnan(found.at_most(bound))
        assert found.quantile(share) is None
        return
    assert found.total == len(listed)
    assert np.isclose(found.mean, np.mean(listed))
    assert found.at_most(bound) == sum(value <= bound for value in listed) / len(listed)
    smallest = next(
        v for v in sorted(listed) if found.at_most(v) * len(listed) >= share * len(listed)
    )
    assert found.quantile(share) == smallest


def test_the_cumulative_shares_end_at_the_first_power_that_covers_all():
    found = Distribution.of(np.array([0, 1, 2, 5, 5]))
    assert found.cumulative() == {1: 0.4, 2: 0.6, 4: 0.6, 8: 1.0}
    assert Distribution.of(np.array([4])).cumulative() == {1: 0.0, 2: 0.0, 4: 1.0}
    assert Distribution.of(np.zeros(0, dtype=np.int64)).cumulative() == {}


def test_most_frequent_and_without():
    found = Distribution.of(np.array([3, 3, -1, -1, 0, 0, 0, 9]))
    assert found.most_frequent(3) == [(0, 3), (-1, 2), (3, 2)]
    assert found.without(0).most_frequent(1) == [(-1, 2)]
