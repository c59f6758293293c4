"""The dead-page predictor against the histories of its counters; in machines, and refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.core.errors import OptionError, UserError
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.policy import Ending
from gpusim.hardware.tlb import DeadPages, SubEntryArray
from gpusim.hardware.tlb.dead_pages import fold
from gpusim.machine.cost import added_bytes
from gpusim.machine.load import load_model
from gpusim.results.result import Result
from tests.examples import examples
from tests.hardware.sm.requesters import requester
from tests.quick import quick

SMALL = {"region": 8, "region_bits": 2, "page_bits": 1, "counter_bits": 2, "threshold": 1}


def parity(number: int) -> int:
    return number.bit_count() % 2


class Naive:
    """What became of the pages with each pair of hashes, in order: dead, or not."""

    def __init__(self, shadow: int) -> None:
        self.past: dict[tuple[int, int], list[bool]] = {}
        self.bypassed: list[int] = []
        self.shadow = shadow
        self.hit: dict[int, bool] = {}

    def key(self, tag: int) -> tuple[int, int]:
        range_ = tag // 8
        return parity(tag), parity(range_ & 0x5555555555555555) + 2 * parity(
            range_ & 0xAAAAAAAAAAAAAAAA
        )

    def admits(self, tag: int) -> bool:
        if tag in self.bypassed[len(self.bypassed) - self.shadow :]:
            for key, past in self.past.items():
                if key[0] == self.key(tag)[0]:
                    past.append(False)
        dead = 0
        for one in reversed(self.past.get(self.key(tag), [])):
            if not one:
                break
            dead += 1
        if dead > 1:
            self.bypassed.append(tag)
        else:
            self.hit.setdefault(tag, False)
        return dead <= 1

    def evicted(self, tag: int) -> None:
        self.past.setdefault(self.key(tag), []).append(not self.hit.pop(tag))


steps = st.lists(
    st.tuples(
        st.sampled_from(["fill"] * 4 + ["evict"] * 3 + ["use", "use", "shoot", "flush"]),
        st.integers(0, 1),
        st.integers(0, 40),
    ),
    min_size=30,
    max_size=200,
)


@settings(max_examples=examples(200))
@given(steps, st.integers(1, 3))
def test_against_histories(steps: Any, shadow: int) -> None:
    policy, naive = DeadPages(2, 1, 1, shadow=shadow, **SMALL), Naive(shadow)
    for what, app, page in steps:
        tag = app << ASID_SHIFT | page
        there = list(naive.hit)
        if what == "fill":
            admitted = policy.admits(tag, Mapping(tag, 0), [requester(app)], 0)
            assert admitted == naive.admits(tag)
        elif what == "evict" and there:
            policy.evicted(there[page % len(there)])
            naive.evicted(there[page % len(there)])
        elif what == "use":
            policy.used(tag)
            if tag in naive.hit:
                naive.hit[tag] = True
        elif what == "shoot":
            assert not policy.invalidate(tag)
            naive.hit.pop(tag, None)
        elif what == "flush":
            policy.flush()
            naive.hit.clear()
    counted: list[Any] = [policy.counters(app)[0] for app in range(2)]
    assert sum(one.bypassed for one in counted) == len(naive.bypassed)


def test_without_a_shadow_nothing_is_given_up() -> None:
    policy = DeadPages(1, 1, 1, **{**SMALL, "threshold": 0}, shadow=0)
    policy.admits(0, Mapping(0, 0), [requester(0)], 0)
    policy.evicted(0)
    assert [policy.admits(0, Mapping(0, 0), [requester(0)], 0) for _ in range(3)] == [False] * 3


def test_pieces_of_a_number_are_folded() -> None:
    assert [fold(0b1101_0110, bits) for bits in (1, 2, 4, 8)] == [1, 0b01, 0b1011, 0b1101_0110]


SMALL_TLBS = {"tlb.L2.entries": 64, "tlb.L1.entries": 16}


def run(*variants: str, **keys: object) -> Result:
    model = gpusim.load_model("kepler-uvm", variants, overrides=SMALL_TLBS | keys)
    return gpusim.simulate(model, gpusim.load_workload("reduction", "smoke"))


def test_what_leaves_the_array_is_dead_or_live() -> None:
    result = run("tlb-dead-pages")
    rows = result.counters
    level = rows[rows.component == "tlb/L2"].groupby("counter").value.sum()
    assert level["dead"] + level["live"] == level["evictions"]
    assert level["bypassed"] > 0
    assert level["evictions"] + level["bypassed"] <= level["fills"]
    assert result.summary["tlb_L2_dead"] == level["dead"] / level["evictions"]


def test_a_policy_that_never_acted_says_so() -> None:
    policy = DeadPages(1, 1, 1)
    policy.admits(5, Mapping(5, 0), [requester(0)], 0)
    policy.evicted(5)
    (said,) = DeadPages.warnings([policy], Ending("tlb.L2.fill", 10, ["a"]))
    assert "of 1 that left the array, 1 had no hit; set tlb.L2.fill.threshold" in said
    acted = DeadPages(1, 1, 1, threshold=0)
    assert acted.admits(5, Mapping(5, 0), [requester(0)], 0)
    acted.evicted(5)
    assert not acted.admits(5, Mapping(5, 0), [requester(0)], 0)
    assert not list(DeadPages.warnings([policy, acted], Ending("tlb.L2.fill", 10, ["a"])))


def test_what_it_costs() -> None:
    base = load_model("kepler-uvm")
    assert added_bytes(load_model("kepler-uvm", ["tlb-dead-pages"]), base) == {
        "tlb.L2: counters of dead pages": 1024 * 3 / 8,
        "tlb.L2: pages bypassed last": 2 * 36 / 8,
    }


class Mute(SubEntryArray):
    """It does not tell what it evicts."""

    spills = False


def test_an_array_that_does_not_tell_what_it_evicts() -> None:
    keys = {"tlb.L2.array": f"{__name__}:Mute", "tlb.L2.sub_entries": 4}
    with pytest.raises(
        UserError, match=r"tlb.L2.fill.*know what is evicted.*Mute' does not hand on"
    ):
        load_model("kepler-uvm", ["tlb-dead-pages"], overrides=keys)


@pytest.mark.parametrize(
    "keys",
    quick(
        [
            {"tlb.L2.array": "cluster", "tlb.L2.sub_entries": 4},
            {"tlb.L2.sets": "base-delta"},
            {"tlb.L2.hash": "xor"},
            {"tlb.L2.victims": 8},
        ],
        {"tlb.L2.array": "cluster", "tlb.L2.sub_entries": 4},
    ),
)
def test_arrays_of_which_it_knows_dead_pages(keys: dict[str, Any]) -> None:
    with run("tlb-dead-pages", **keys) as result:
        assert 0 < result.summary["tlb_L2_dead"] <= 1


def test_a_threshold_that_no_counter_exceeds() -> None:
    with pytest.raises(OptionError, match="threshold: must be below 3, the most of a counter"):
        DeadPages(1, 1, 1, counter_bits=2, threshold=3)


@pytest.mark.parametrize("option", ["region", "page_bits", "counter_bits"])
def test_options_that_cannot_be(option: str) -> None:
    options: dict[str, Any] = {option: 0}
    with pytest.raises(OptionError, match=f"{option}: must be 1 or more"):
        DeadPages(1, 1, 1, **options)


def test_a_table_that_no_memory_holds() -> None:
    with pytest.raises(OptionError, match="region_bits: with page_bits, must be at most 20"):
        DeadPages(1, 1, 1, region_bits=40)
