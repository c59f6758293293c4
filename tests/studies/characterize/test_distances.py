import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusim.studies.characterize.distances import count_below, distinct_between, previous
from tests.studies.characterize.listed import distances

streams = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), max_size=80)


def arrays(stream):
    table = np.array(stream, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@given(streams)
def test_previous(stream):
    page = arrays(stream)[1]
    found = previous(page)
    for index, number in enumerate(page.tolist()):
        before = np.flatnonzero(page[:index] == number)
        assert found[index] == (before[-1] if before.size else -1)


@given(streams)
def test_distances_between_accesses_of_one_block(stream):
    owner, page = arrays(stream)
    before = previous(owner * 100 + page)
    reuse = np.flatnonzero(before >= 0)
    found = distinct_between(page, before[reuse], reuse)
    assert sorted(found.tolist()) == sorted(distances(stream).elements())


@given(st.lists(st.integers(0, 10**6), max_size=70), st.data())
def test_count_below(values, data):
    size = len(values)
    array = np.array([value % max(size, 1) for value in values], dtype=np.int64)
    queries = data.draw(st.lists(st.tuples(st.integers(0, size), st.integers(0, size))))
    ends, bounds = np.array(queries, dtype=np.int64).reshape(-1, 2).T
    expected = [int((array[:end] < bound).sum()) for end, bound in queries]
    assert count_below(array, ends, bounds).tolist() == expected


def test_a_cyclic_sweep_has_the_distance_of_its_length():
    page = np.tile(np.arange(1000), 50)
    before = previous(page)
    reuse = np.flatnonzero(before >= 0)
    assert set(distinct_between(page, before[reuse], reuse).tolist()) == {999}


def test_pages_accessed_again_and_again_in_a_row_are_at_distance_0():
    page = np.array([7, 7, 7, 8, 7])
    before = previous(page)
    reuse = np.flatnonzero(before >= 0)
    assert distinct_between(page, before[reuse], reuse).tolist() == [0, 0, 1]
