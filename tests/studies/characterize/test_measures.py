"""Blocks, placement, intensity and locality, each against a count one access at a time."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.hardware.sm.block_placement import RoundRobinPlacement
from gpusim.studies.characterize import intensity
from gpusim.studies.characterize.blocks import Geometry, distinct_per_group, run_block
from gpusim.studies.characterize.intensity import (
    BlockPages,
    bin_of,
    inter_block_bins,
    intra_block_bins,
    sample_blocks,
)
from gpusim.studies.characterize.locality import WINDOW, shared_upper_bits, strides
from gpusim.studies.characterize.placement import place_blocks, sm_stream, touch_order
from tests.studies.characterize.listed import (
    BASE,
    PAGE,
    ListedLaunch,
    block_accesses,
    inter_bins,
    intra_bins,
    pages,
    sm_accesses,
    steps,
)

GEOMETRY = Geometry(warp_size=32, line_bytes=128, page_bytes=PAGE)

addresses = st.integers(0, 40).map(lambda number: BASE + number * 1024)
instructions = st.lists(addresses, min_size=1, max_size=6)
warps = st.lists(instructions, max_size=4)
launches = st.lists(st.lists(warps, min_size=1, max_size=2), min_size=1, max_size=8)


def run_all(listed):
    launch = ListedLaunch(listed)
    return [run_block(launch, index, GEOMETRY) for index in range(launch.blocks)]


@given(launches)
def test_blocks(listed):
    for block, found in zip(listed, run_all(listed), strict=True):
        accesses = block_accesses(block)
        assert list(zip(found.step.tolist(), found.page.tolist(), strict=True)) == accesses
        assert found.steps == steps(block)
        expected = [len({a // PAGE for a in one}) for warp in block for one in warp]
        assert found.instruction_pages.tolist() == expected


def test_instructions_are_counted_without_waits():
    launch = ListedLaunch([[[pages(1), pages(2, 3)], [pages(4)]]], compute=5)
    assert run_block(launch, 0, GEOMETRY).warp_instructions == 3 * (1 + 5)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9))))
def test_distinct_per_group(pairs):
    group, value = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    expected = [len({v for g, v in pairs if g == index}) for index in range(5)]
    assert distinct_per_group(group, value, 5).tolist() == expected


@given(launches, st.integers(1, 3), st.integers(1, 2))
def test_an_sm_sees_its_blocks_step_by_step(listed, sms, per_sm):
    blocks = run_all(listed)
    lengths = [block.steps for block in blocks]
    placed = place_blocks(ListedLaunch(listed), lengths, sms, per_sm, RoundRobinPlacement())
    if all(lengths):  # how long blocks without accesses occupy a slot is not defined
        for sm, expected in enumerate(sm_accesses(listed, sms, per_sm)):
            stream = sm_stream(blocks, placed, sm)
            assert list(zip(stream.owner.tolist(), stream.page.tolist(), strict=True)) == expected
            assert (np.diff(stream.step) >= 0).all()
    accesses = [
        (placed.start[index] + step, placed.sm[index], index, position, page)
        for index, block in enumerate(listed)
        for position, (step, page) in enumerate(block_accesses(block))
    ]
    order = dict.fromkeys(page for *_, page in sorted(accesses))
    assert touch_order(blocks, placed).tolist() == list(order)


@given(launches.filter(lambda listed: any(warp for block in listed for warp in block)))
def test_reuse_intensity(listed):
    found = BlockPages.of(run_all(listed))
    assert intra_block_bins(found).tolist() == intra_bins(listed)
    assert inter_block_bins(found).tolist() == inter_bins(listed)


def test_bounds_of_bins_belong_to_the_upper_one():
    part = np.array([0, 1, 2, 3, 4, 5, 199, 200])
    whole = np.array([5, 5, 5, 5, 5, 5, 1000, 1000])
    assert bin_of(part, whole).tolist() == [0, 1, 2, 3, 4, 4, 0, 1]


def test_of_many_blocks_some_are_drawn(monkeypatch):
    monkeypatch.setattr(intensity, "MAX_BLOCKS", 5)
    listed = [[[pages(number, number + 1)]] for number in range(12)]
    found = BlockPages.of(run_all(listed))
    drawn = sample_blocks(found, np.random.default_rng(3))
    assert len(drawn.total) == 5
    first = drawn.page[drawn.bounds[:-1]] - BASE // PAGE
    assert (np.diff(first) > 0).all()
    expected = inter_bins([listed[index] for index in first.tolist()])
    assert inter_block_bins(drawn).tolist() == expected
    again = sample_blocks(found, np.random.default_rng(3))
    assert again.page.tolist() == drawn.page.tolist()
    assert sample_blocks(drawn, np.random.default_rng(3)) is drawn


@given(st.lists(st.integers(0, 2**36 - 1), min_size=1, max_size=5), st.integers(0, 2**32))
def test_shared_upper_bits(numbers, seed):
    rng = np.random.default_rng(seed)
    array = rng.choice(np.array(numbers, dtype=np.int64), 2 * WINDOW + 7)
    found = shared_upper_bits(array, 36)
    expected = []
    for begin in (0, WINDOW):
        words = [f"{number:036b}" for number in array[begin : begin + WINDOW].tolist()]
        shared = 0
        while shared < 36 and len({word[: shared + 1] for word in words}) == 1:
            shared += 1
        expected.append(shared)
    assert found.tolist() == expected


@pytest.mark.parametrize("length", [0, 1, WINDOW - 1])
def test_less_than_a_window_has_no_shared_bits(length):
    assert shared_upper_bits(np.arange(length), 36).size == 0


def test_strides():
    assert Counter(strides(np.array([5, 5, 6, 3])).tolist()) == {0: 1, 1: 1, -3: 1}
