"""Policies say how often they acted: results keep it, and users' mistakes cost no result."""

from __future__ import annotations

import pytest

import gpusim
from gpusim.hardware.tlb import SetAssociativeArray
from gpusim.results import Result
from tests.whole.running import run


class Counting(SetAssociativeArray):
    """A user's array that says how often it acted."""

    def acted(self) -> int:
        return 3


class Mistaken(SetAssociativeArray):
    """A user's array with a mistake in what it says."""

    def acted(self) -> int:
        raise LookupError("of nothing")


def small(model: str, *variants: str, **overrides: object) -> Result:
    more = {key.replace("__", "."): value for key, value in overrides.items()}
    return run(model, "atax", *variants, overrides=more, parameters={"n": "256"})


def test_most_machines_have_no_policy_that_says_it() -> None:
    assert small("tiny").acts == {}


@pytest.mark.parametrize(
    ("variant", "policy"),
    [
        ("scheduling", "block_scheduler/ThrashingAwarePlacement"),
        ("partitioning-sharing", "tlb.L1.array/TbPartitionedSharedArray"),
        ("compression", "tlb.L2.sets/BaseDeltaSets"),
        ("compression-l1+partitioning-sharing", "tlb.L1.sets/BaseDeltaSets"),
    ],
)
def test_mechanisms_of_papers_say_it(variant: str, policy: str) -> None:
    assert policy in small("kepler-uvm", *variant.split("+")).acts


def test_a_compressed_tlb_acts_when_a_translation_matches_its_base() -> None:
    result = small("kepler-uvm", "compression")
    rows = result.counters
    matched = rows[rows["counter"] == "compressed_inserts"]["value"].sum()
    assert result.acts["tlb.L2.sets/BaseDeltaSets"] == matched > 0


def test_a_policy_that_never_acts_has_a_count_of_zero() -> None:
    tokens = {"policy": "mask-tokens", "token_policy": "hillclimb", "accesses": 10**9}
    assert small("tiny", tlb__L2__fill=tokens).acts == {"tlb.L2.fill/MaskTokens": 0}


def test_users_policies_may_say_it_and_a_mistake_costs_no_result() -> None:
    with small("tiny", tlb__L1__array=f"{__name__}:Counting") as result:
        sms = gpusim.load_model("tiny").config.sm.count
        assert result.acts == {"tlb.L1.array/Counting": 3 * sms}
        mistaken = small("tiny", tlb__L1__array=f"{__name__}:Mistaken")
        assert mistaken.acts == {}
        assert mistaken.summary == result.summary
        (warning,) = mistaken.warnings
        assert warning == (
            "policies/tlb.L1.array/Mistaken failed to say how often it acted: "
            "LookupError: of nothing"
        )
