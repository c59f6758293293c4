"""Policies by name."""

from __future__ import annotations

import pytest

from gpusim.core.errors import UserError, nearest
from gpusim.core.registry import Slot, find_policy, policy, policy_names
from gpusim.hardware.sm.schedulers import GreedyThenOldest
from gpusim.hardware.tlb import SetAssociativeArray


def test_names_find_classes() -> None:
    assert find_policy(Slot.TLB_ARRAY, "set-associative") is SetAssociativeArray
    assert find_policy(Slot.WARP_SCHEDULER, "gto") is GreedyThenOldest
    assert {"gto", "lrr"} <= set(policy_names(Slot.WARP_SCHEDULER))


def test_a_misspelt_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UserError) as caught:
        find_policy(Slot.TLB_ARRAY, "set-asociative")
    message = str(caught.value)
    assert "no TLB array named 'set-asociative'; did you mean 'set-associative'?" in message
    assert "allowed: " in message
    assert "sub-entry" in message
    assert "'package.module:Class'" in message


def test_a_name_like_no_other_gets_no_guess() -> None:
    with pytest.raises(UserError) as caught:
        find_policy(Slot.BLOCK_SCHEDULER, "zzz")
    assert "did you mean" not in str(caught.value)
    assert nearest("zzz", ["gto", "lrr"]) == ""
    assert nearest("gtoo", ["gto", "lrr"]) == "; did you mean 'gto'?"


def test_a_slot_does_not_know_the_names_of_another() -> None:
    with pytest.raises(UserError, match="no warp scheduler named 'set-associative'"):
        find_policy(Slot.WARP_SCHEDULER, "set-associative")


def test_a_class_by_its_module() -> None:
    name = "gpusim.hardware.sm.schedulers:GreedyThenOldest"
    assert find_policy(Slot.WARP_SCHEDULER, name) is GreedyThenOldest


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no_such_package.module:Class", "no installed package of that name"),
        ("gpusim.hardware.sm.schedulers:NoSuch", "schedulers has no NoSuch"),
        (":Class", "cannot load"),
        ("gpusim.hardware.sm.schedulers:", "cannot load"),
        ("gpusim.core.registry:policy", "is not a class"),
    ],
)
def test_a_class_that_is_not_there(name: str, why: str) -> None:
    with pytest.raises(UserError, match=why) as caught:
        find_policy(Slot.WARP_SCHEDULER, name)
    assert name in str(caught.value)


def test_a_name_is_given_once() -> None:
    with pytest.raises(ValueError, match="already a warp scheduler named 'gto'"):
        policy(Slot.WARP_SCHEDULER, "gto")(SetAssociativeArray)
    assert find_policy(Slot.WARP_SCHEDULER, "gto") is GreedyThenOldest
    assert policy(Slot.WARP_SCHEDULER, "gto")(GreedyThenOldest) is GreedyThenOldest
