"""In the memory of which GPU pages lie, and which blocks GPUs get."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, make_policy
from gpusim.core.warp_program import Buffer
from gpusim.hardware.node import PagePlacement
from gpusim.hardware.sm.block_shares import BlockShares


def _places(placement, pages, gpu=0):
    return [placement.place(0, page, gpu) for page in pages]


def test_interleaved_pages_take_turns_in_runs():
    one = make_policy(Slot.PAGE_PLACEMENT, PolicyConfig("interleave"), 3, 4096)
    two = make_policy(Slot.PAGE_PLACEMENT, PolicyConfig("interleave", {"pages": 2}), 3, 4096)
    assert _places(one, range(6)) == [0, 1, 2, 0, 1, 2]
    assert _places(two, range(8)) == [0, 0, 1, 1, 2, 2, 0, 0]


@pytest.mark.parametrize(("first", "expected"), [(0, [0, 0, 1, 1]), (-1, [2, 2, 0, 0])])
def test_the_first_page_of_an_application_may_name_its_gpu(first, expected):
    config = PolicyConfig("interleave", {"pages": 2, "first": first})
    placement: PagePlacement = make_policy(Slot.PAGE_PLACEMENT, config, 3, 4096)
    placement.begin(0, [Buffer("b", 20 * 4096, 4096), Buffer("a", 10 * 4096, 8 * 4096)])
    assert _places(placement, range(10, 14)) == expected


def test_arrays_lie_in_equal_shares_and_the_last_gpu_has_the_rest():
    placement = make_policy(Slot.PAGE_PLACEMENT, PolicyConfig("by-array"), 3, 4096)
    placement.begin(0, [Buffer("a", 10 * 4096, 8 * 4096), Buffer("b", 20 * 4096, 2 * 4096)])
    assert _places(placement, range(10, 18)) == [0, 0, 1, 1, 2, 2, 2, 2]
    assert _places(placement, range(20, 22)) == [0, 1]
    assert _places(placement, [18, 19]) == [0, 1]  # in no array: in turn


def test_first_touch_is_where_it_is_asked_from():
    placement = make_policy(Slot.PAGE_PLACEMENT, PolicyConfig("first-touch"), 3, 4096)
    assert _places(placement, range(4), gpu=2) == [2] * 4
    assert placement.by_touch


@attrs.define
class _Launch:
    blocks: int


def _dealt(config, blocks, gpus):
    shares: BlockShares = make_policy(Slot.BLOCK_SHARES, config, [4] * gpus)
    return [list(share) for share in shares.deal(_Launch(blocks), gpus)]


def test_blocks_are_dealt_out_in_runs_or_in_turn():
    assert _dealt(PolicyConfig("contiguous"), 7, 3) == [[0, 1], [2, 3], [4, 5, 6]]
    assert _dealt(PolicyConfig("round-robin"), 7, 3) == [[0, 3, 6], [1, 4], [2, 5]]
    runs = PolicyConfig("round-robin", {"blocks": 2})
    assert _dealt(runs, 7, 3) == [[0, 1, 6], [2, 3], [4, 5]]


def test_gpus_get_as_many_blocks_for_each_sm():
    per_sm = PolicyConfig("per-sm")
    assert _dealt(per_sm, 4, 2) == [[0, 1, 2, 3], []]
    assert _dealt(per_sm, 9, 2) == [[*range(8)], [8]]
    assert _dealt(per_sm, 13, 3) == [[*range(8)], [*range(8, 13)], []]


@given(st.integers(1, 2000), st.lists(st.integers(1, 64), min_size=1, max_size=8))
def test_each_block_is_dealt_out_once_and_in_order(blocks, sms):
    shares: BlockShares = make_policy(Slot.BLOCK_SHARES, PolicyConfig("per-sm"), sms)
    dealt = shares.deal(_Launch(blocks), len(sms))
    assert [block for share in dealt for block in share] == list(range(blocks))
    each = -(-blocks // sum(sms))
    assert all(len(share) <= each * count for share, count in zip(dealt, sms, strict=True))
