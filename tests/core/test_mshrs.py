"""MSHRs against a list of all that waits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.mshr import FULL, MERGED, NEW, Mshrs, SeparateMshrs
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
        assert {k: mshrs.waiting(k) for k in mshrs.outstanding()} == {
            k: [item for key_, item in waiting if key_ == k] for k in {k for k, _ in waiting}
        }
        for k in range(7):
            own = [item for key_, item in waiting if key_ == k]
            assert mshrs.waiting(k) == own
            assert mshrs.holds(k) == mshrs.merges(k) == bool(own)
            assert not own or mshrs.first(k) == own[0]


def test_join_passes_both_limits() -> None:
    mshrs: Mshrs[str] = Mshrs(1, 1)
    assert mshrs.admit(1, "own") == NEW
    mshrs.join(1, "of a twin")
    mshrs.join(2, "of another twin")
    assert len(mshrs) == 2
    assert mshrs.admit(1, "too many") == FULL
    assert mshrs.admit(3, "no register") == FULL
    assert mshrs.release(1) == ["own", "of a twin"]
    assert mshrs.release(2) == ["of another twin"]


def test_what_is_kept_waits_on() -> None:
    mshrs: Mshrs[str] = Mshrs(1, 3)
    for item in ("first", "second", "third"):
        mshrs.admit(1, item)
    waiting = mshrs.release(1)
    assert not mshrs.holds(1)
    mshrs.keep(1, waiting[1:])
    assert mshrs.first(1) == "second"
    assert mshrs.admit(1, "fourth") == MERGED
    assert mshrs.release(1) == ["second", "third", "fourth"]


def test_separate_registers() -> None:
    mshrs: SeparateMshrs[str] = SeparateMshrs(3)
    assert [mshrs.admit(1, item) for item in ("a", "b")] == [NEW, NEW]
    assert not mshrs.merges(1)
    assert mshrs.holds(1)
    mshrs.join(2, "c")
    assert len(mshrs) == 3
    assert mshrs.admit(2, "d") == FULL
    assert mshrs.release(1) == ["a"]
    mshrs.keep(1, ["a"])
    assert mshrs.waiting(1) == ["a", "b"]
    assert [mshrs.release(1), mshrs.release(1), mshrs.release(2)] == [["a"], ["b"], ["c"]]
    assert len(mshrs) == 0
