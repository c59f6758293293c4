"""Frame allocation: each frame once, in the stated order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import UserError
from gpusim.core.registry import Slot, find_policy, policy_names
from gpusim.hardware.walk import (
    ContiguousFrames,
    FirstTouchFrames,
    FrameAllocator,
    LargestFitFrames,
    MosaicFrames,
    RegionFrames,
    ScatteredFrames,
)
from tests.examples import examples

ALL: list[type[FrameAllocator]] = [ContiguousFrames, FirstTouchFrames, ScatteredFrames]


def everything(allocator: FrameAllocator) -> list[int]:
    found = [allocator.allocate(0, vpn) for vpn in range(allocator.frames)]
    return [frame for frame in found if isinstance(frame, int)]


@pytest.mark.parametrize("policy", ALL)
@settings(max_examples=examples(40), deadline=None)
@given(frames=st.integers(1, 300), seed=st.integers(0, 2**32 - 1))
def test_each_frame_is_handed_out_once(
    policy: type[FrameAllocator], frames: int, seed: int
) -> None:
    allocator = policy(frames, seed)
    assert sorted(everything(allocator)) == list(range(frames))
    with pytest.raises(UserError, match=rf"all {frames} frames.*memory\.size"):
        allocator.allocate(1, 0)


def test_orders() -> None:
    assert everything(FirstTouchFrames(5, 9)) == [0, 1, 2, 3, 4]
    assert everything(ContiguousFrames(5, 9)) == [0, 1, 2, 3, 4]
    assert everything(ScatteredFrames(100, 9)) != list(range(100))


def test_only_contiguous_maps_ahead() -> None:
    assert [policy.eager for policy in ALL] == [True, False, False]


def test_scattering_depends_on_the_seed_alone() -> None:
    one, again, other = (everything(ScatteredFrames(200, seed)) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_all_have_names() -> None:
    found = {name: find_policy(Slot.FRAMES, name) for name in policy_names(Slot.FRAMES)}
    names = {name: one for name, one in found.items() if one.__module__.startswith("gpusim.")}
    small = dict(zip(("contiguous", "first-touch", "scattered"), ALL, strict=True))
    regions = {"region": RegionFrames, "mosaic": MosaicFrames}
    assert names == {**small, **regions, "largest-fit": LargestFitFrames}


def regions(frames: int, kind: type[RegionFrames] = RegionFrames) -> RegionFrames:
    allocator = kind(frames, 0)
    allocator.page_bytes = 64 << 10
    return allocator


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 200)), max_size=60),
    st.sampled_from([RegionFrames, MosaicFrames]),
)
def test_a_region_keeps_the_order_of_one_applications_pages(
    asked: list[tuple[int, int]], kind: type[RegionFrames]
) -> None:
    allocator = regions(32 * 60, kind)
    mapped: dict[tuple[int, int], int] = {}
    for place in asked:
        if place in mapped:
            allocator.free(*place, mapped.pop(place), 1)
        else:
            mapped[place] = allocator.allocate(*place)
        owner: dict[int, tuple[int, int]] = {}
        for (asid, vpn), pfn in mapped.items():
            assert pfn % 32 == vpn % 32
            assert owner.setdefault(pfn // 32, (asid, vpn // 32)) == (asid, vpn // 32)
        assert len(owner) == len(set(owner.values())), "a 2 MiB range has one region"


def test_regions_are_handed_out_from_the_lowest_and_again() -> None:
    allocator = regions(64)
    assert [allocator.allocate(0, 5), allocator.allocate(1, 40), allocator.allocate(0, 0)] == [
        5,
        40,
        0,
    ]
    with pytest.raises(UserError, match=r"memory\.size"):
        allocator.allocate(1, 64)
    allocator.free(0, 5, 5, 1)
    allocator.free(0, 0, 0, 1)
    assert allocator.allocate(1, 64) == 0


def test_a_region_of_mosaic_can_be_one_page() -> None:
    assert regions(64, MosaicFrames).most_pages == 32
    assert (MosaicFrames(64, 0).eager, MosaicFrames(64, 0, ahead=False).eager) == (True, False)
