"""MSHRs against a list of everyone who waits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.mshr import FULL, MERGED, NEW, Mshrs
from tests.examples import examples


@settings(max_examples=examples(200), deadline=None)
@given(
    st.integers(1, 4),
    st.integers(1, 3),
    st.lists(st.tuples(st.booleans(), st.integers(0, 6)), max_size=60),
)
def test_against_a_list(capacity: int, merge: int, calls: list[tuple[bool, int]]) -> None:
    mshrs: Mshrs[int] = Mshrs(capacity, merge)
    waiting: list[tuple[int, int]] = []
    for number, (admit, key) in enumerate(calls):
        own = [item for k, item in waiting if k == key]
        if admit:
            if own:
                expected = MERGED if len(own) < merge else FULL
            else:
                expected = NEW if len({k for k, _ in waiting}) < capacity else FULL
            assert mshrs.admit(key, number) == expected
            if expected != FULL:
                waiting.append((key, number))
        elif own:
            assert mshrs.release(key) == own
            waiting = [(k, item) for k, item in waiting if k != key]
        else:
            with pytest.raises(KeyError):
                mshrs.release(key)
        assert len(mshrs) == len({k for k, _ in waiting})
        assert mshrs.pending == {
            k: [item for key_, item in waiting if key_ == k] for k in {k for k, _ in waiting}
        }
