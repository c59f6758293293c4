"""Verdicts, from claims and numbers alone."""

import math

import pytest

from gpusim.studies.reproduce.claims import Claim, Role
from gpusim.studies.reproduce.verdict import Measured, Verdict, judge


def claim(direction, *values, **more):
    return Claim(
        id="x.y",
        role=Role.OUTCOME,
        where="",
        statement="",
        direction=direction,
        values=values,
        **more,
    )


def verdict(said, *ours):
    return judge(said, Measured(tuple(map(float, ours))))


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_how_much_higher_or_lower(direction):
    said = claim(direction, 10.0)
    assert verdict(said, 12.5) == Verdict.AGREES
    assert verdict(said, 7.5) == Verdict.AGREES
    assert verdict(said, 12.51) == Verdict.DIRECTION
    assert verdict(said, 0.1) == Verdict.DIRECTION
    assert verdict(said, 0) == Verdict.DIFFERS
    assert verdict(said, -10) == Verdict.DIFFERS


def test_all_values_count():
    said = claim("higher", 10.0, 20.0)
    assert verdict(said, 10, 20) == Verdict.AGREES
    assert verdict(said, 10, 40) == Verdict.DIRECTION
    assert verdict(said, 10, -20) == Verdict.DIFFERS


def test_equal_has_no_direction_of_its_own():
    said = claim("equal", 100.0, tolerance=0.1)
    assert verdict(said, 110) == Verdict.AGREES
    assert verdict(said, 111) == Verdict.DIFFERS


def test_the_larger_tolerance_counts():
    said = claim("equal", 0.5, absolute=2.0)
    assert verdict(said, -1.5) == Verdict.AGREES
    assert verdict(said, 2.6) == Verdict.DIFFERS
    assert verdict(claim("equal", 100.0, absolute=2.0), 120) == Verdict.AGREES


def test_an_order():
    said = claim("ordering", 12.5, 2.1)
    assert verdict(said, 12, 2) == Verdict.AGREES
    assert verdict(said, 3, 1) == Verdict.DIRECTION
    assert verdict(said, 1, 3) == Verdict.DIFFERS
    assert verdict(said, -1, -3) == Verdict.DIRECTION


def test_a_threshold_has_no_upper_end():
    said = claim("at least", 50.0, 50.0)
    assert verdict(said, 50, 99) == Verdict.AGREES
    assert verdict(said, 99, 49) == Verdict.DIFFERS


def test_without_values_it_holds_or_not():
    said = claim("higher")
    assert judge(said, Measured(holds=True)) == Verdict.AGREES
    assert judge(said, Measured(holds=False)) == Verdict.DIFFERS
    with pytest.raises(AssertionError, match=r"x\.y"):
        judge(said, Measured())


def test_what_is_not_measured():
    assert judge(claim("higher", 1.0), None) == Verdict.NOT_MEASURED
    assert verdict(claim("higher", 1.0, 1.0), 1, math.nan) == Verdict.NOT_MEASURED
    said = claim("higher", 1.0, scope="hardware", reason="needs a GPU")
    assert judge(said, Measured((1.0,))) == Verdict.NOT_MEASURED


def test_as_many_numbers_as_the_paper_has():
    with pytest.raises(ValueError, match="longer"):
        verdict(claim("higher", 1.0, 2.0), 1)


def test_beyond_its_bound_a_number_is_not_implied():
    said = claim("higher", 43.6, bound=(14.7,), derivation="d")
    assert verdict(said, 12) == Verdict.NOT_IMPLIED
    assert verdict(said, 40) == Verdict.AGREES
    assert verdict(said, -1) == Verdict.DIFFERS


def test_a_bound_of_nothing_leaves_no_direction():
    assert verdict(claim("higher", 33.0, bound=(0.0,), derivation="d"), -1) == Verdict.NOT_IMPLIED


def test_values_within_their_bounds_are_judged_all_the_same():
    said = claim("higher", 10.0, 40.0, bound=(math.inf, 15.0), derivation="d")
    assert verdict(said, 10, 5) == Verdict.NOT_IMPLIED
    assert verdict(said, 3, 5) == Verdict.DIRECTION
    assert verdict(said, -3, 5) == Verdict.DIFFERS


def test_a_number_or_threshold_beyond_its_bound_has_no_direction():
    for direction in ("equal", "at least"):
        said = claim(direction, 40.0, bound=(15.0,), derivation="d")
        assert verdict(said, 10) == Verdict.NOT_IMPLIED
        assert verdict(said, 41) == Verdict.AGREES
