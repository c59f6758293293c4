"""`Spells` against sets of cycles."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.spells import Spells

CYCLES = st.integers(0, 120)
GAPS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), max_size=20)


def made(gaps: list[tuple[int, int]]) -> tuple[Spells, set[int]]:
    """Spells with gaps between them, and the cycles that they consist of."""
    spells, cycles, now = Spells(), set[int](), 0
    for gap, length in gaps:
        begin, now = now + gap, now + gap + length
        spells.add(begin, now)
        cycles.update(range(begin, now))
    return spells, cycles


@given(gaps=GAPS, start=CYCLES, end=CYCLES)
def test_cycles_within_are_those_of_the_set(
    gaps: list[tuple[int, int]], start: int, end: int
) -> None:
    spells, cycles = made(gaps)
    if start <= end:
        assert spells.within(start, end) == len(cycles & set(range(start, end)))


@given(gaps=GAPS, start=CYCLES, end=CYCLES, asked=CYCLES)
def test_those_of_another_are_taken_as_far_as_they_lie_in_the_time(
    gaps: list[tuple[int, int]], start: int, end: int, asked: int
) -> None:
    other, cycles = made(gaps)
    spells = Spells()
    spells.add_those_of(other, start, end)
    kept = cycles & set(range(start, end))
    assert spells.within(0, asked) == len(kept & set(range(asked)))


def test_the_older_half_of_many_is_dropped_and_the_younger_stays() -> None:
    spells = Spells()
    for number in range(5000):
        spells.add(10 * number, 10 * number + 3)
    assert spells.within(10 * 4000, 10 * 5000) == 3 * 1000
    assert spells.within(0, 10 * 5000) < 3 * 5000
