"""Pages of several sizes that come on demand: in small parts, which become large where they lie."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import gpusim
from gpusim.core.policy import PolicyConfig
from gpusim.core.warp_program import Buffer
from gpusim.files.units import Bytes
from gpusim.hardware.walk import Frames
from gpusim.hardware.walk.mixed_frames import LargestFitFrames
from gpusim.machine import Machine
from tests.hardware.paging.bench import BASE, PAGE, each, paged, run, store
from tests.machine.bench import SMALL, Run, Script, change
from tests.quick import quick

BIG, HUGE = 16, 512
"""Small pages in one of 64 KiB, and in one of 2 MiB."""
FITTING = change(SMALL, memory={"frames": PolicyConfig("largest-fit"), "size": Bytes(64 << 20)})
BLOCK = {"prefetch": PolicyConfig("block"), "eviction_block": Bytes(2 << 20)}
"""64 KiB come with a fault, and leave with their 2 MiB."""


def sizes(machine: Machine, pages: int) -> list[int]:
    """By small page of the array: how large the page is that covers it now; 0: it is not there."""
    first = BASE // PAGE
    found = (machine.pages.find(first + page) for page in range(pages))
    return [0 if mapping is None else mapping.pages for mapping in found]


def ran(*scripts: Script, pages: int, **keys: Any) -> tuple[Run, Machine]:
    kept: list[Machine] = []
    done = run(paged(FITTING, **BLOCK | keys), *scripts, pages=pages, attach=kept.append)
    return done, kept[0]


def test_what_comes_as_a_whole_becomes_a_page_of_64_kib() -> None:
    done, machine = ran(each(0, 15), pages=HUGE)
    assert done.count("paging", "pages_asked") == 1
    assert sizes(machine, HUGE) == [BIG] * BIG + [0] * (HUGE - BIG)


def test_without_prefetch_pages_stay_small_until_nothing_is_missing() -> None:
    none = {"prefetch": PolicyConfig("none")}
    _, machine = ran(each(*range(BIG - 1)), pages=HUGE, **none)
    assert sizes(machine, BIG) == [1] * (BIG - 1) + [0]
    _, machine = ran(each(*range(BIG)), pages=HUGE, **none)
    assert sizes(machine, BIG) == [BIG] * BIG


def test_the_last_64_kib_make_2_mib() -> None:
    """Migration by 64 KiB, a page of 2 MiB in the end: frames lie side by side from the first."""
    _, machine = ran(each(*range(0, HUGE, BIG)), pages=HUGE)
    (page,) = {machine.pages.find(BASE // PAGE + one) for one in range(HUGE)}
    assert page is not None
    assert page.pages == HUGE
    assert page.pfn % HUGE == 0


def test_no_page_is_larger_than_its_array() -> None:
    """560 pages: one of 2 MiB, three of 64 KiB; of an array of 12 all stay small."""
    many = HUGE + 3 * BIG
    _, machine = ran(each(*range(0, many, BIG)), pages=many)
    assert sizes(machine, many) == [HUGE] * HUGE + [BIG] * (3 * BIG)
    _, machine = ran(each(0), pages=12)
    assert sizes(machine, 12) == [1] * 12


def test_a_large_page_takes_one_entry_of_a_tlb() -> None:
    """When all have come, 512 loads hit in one entry; small pages walk again and again."""
    twice = each(*range(0, HUGE, BIG)) + each(*range(0, HUGE, 3))
    large, _ = ran(twice, pages=HUGE)
    small = run(paged(change(SMALL, memory={"size": Bytes(64 << 20)}), **BLOCK), twice, pages=HUGE)
    assert large.count("walk", "walks") < small.count("walk", "walks") / 2
    assert large.count("paging", "resident") == small.count("paging", "resident") == HUGE


def test_a_large_page_leaves_as_a_whole_and_its_frames_with_it() -> None:
    """There is room for one page of 2 MiB: the second takes its place, and the first comes back."""
    whole = {"prefetch": PolicyConfig("tree", {"threshold": 1}), "capacity": Bytes(2 << 20)}
    done, machine = ran([store(0), ("wait",), *each(HUGE, 1)], pages=2 * HUGE, **whole)
    assert done.count("paging", "evictions") == 2
    assert done.count("paging", "pages_out") == 2 * HUGE
    assert done.count("paging", "pages_written_back") == 1
    assert done.count("paging", "resident") == HUGE
    assert sizes(machine, 2 * HUGE) == [HUGE] * HUGE + [0] * HUGE
    allocator = machine.frames[0]
    assert isinstance(allocator, LargestFitFrames)
    assert len(allocator._set_aside) == 1


def test_arrays_that_are_there_at_first_have_the_largest_pages() -> None:
    _, machine = ran(each(0), pages=HUGE + 1, arrays="device")
    assert sizes(machine, HUGE + 1) == [HUGE] * HUGE + [1]


def test_pages_that_are_read_over_the_link_come_and_become_large() -> None:
    """With access counters 64 KiB come after a number of accesses; remote pages stay small."""
    keys = {"migration": "accesses", "threshold": 2, "migration_block": Bytes(64 << 10)}
    loads = [*each(0, 1, 2, 3), ("compute", 60_000), *each(4)]
    done, machine = ran(loads, pages=HUGE, **keys)
    assert done.count("paging", "pages_migrated") == BIG
    assert sizes(machine, HUGE) == [BIG] * BIG + [1] * (HUGE - BIG)


# -- frames --------------------------------------------------------------------------------------


def frames(pages: int = 4 * HUGE) -> LargestFitFrames:
    allocator = LargestFitFrames(pages, 0)
    allocator.page_bytes = PAGE
    allocator.begin(0, [Buffer("a", 0, HUGE * PAGE), Buffer("b", HUGE * PAGE, BIG * PAGE)])
    return allocator


def test_parts_of_a_page_get_its_frames_and_give_them_back_together() -> None:
    allocator = frames()
    allocator.on_demand = True
    first = allocator.allocate(0, 5)
    assert isinstance(first, int)
    assert allocator.allocate(0, 511) == first + 506
    assert allocator.wholes(0, 5) == [BIG, HUGE]
    assert allocator.wholes(0, HUGE + 1) == [BIG]
    assert allocator.wholes(0, HUGE + BIG) == []
    allocator.free(0, 5, first, 1)
    assert allocator.allocate(0, 7) == first + 2, "the page keeps its frames while a part is there"
    for vpn, pfn in ((511, first + 506), (7, first + 2)):
        allocator.free(0, vpn, pfn, 1)
    assert not allocator._set_aside
    assert allocator.allocate(0, 0) == first - 5


def test_what_is_there_from_the_beginning_gets_all_frames_at_once() -> None:
    assert frames().allocate(0, 5) == Frames(0, HUGE)


# -- products ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "page"), quick(product(("v100", "h100"), ("4KiB", "64KiB")), ("v100", "64KiB"))
)
def test_products(model: str, page: str) -> None:
    """A small vector is there in pages of 64 KiB; what they cost is that of the link."""
    keys = {"memory.frames": "largest-fit", "memory.page": page}
    loaded = gpusim.load_model(model, ["demand-paging"], keys)
    workload = gpusim.load_workload("atax", "smoke", overrides={"n": 256, "iterations": 1})
    with gpusim.simulate(loaded, workload) as result:
        rows = result.counters.query("component == 'paging'")
        counted = rows.groupby("counter")["value"].sum()
        assert counted["resident"] > 0
        assert counted["resident"] + counted["pages_out"] == result.summary["pages_in"]
        assert result.summary["walks"] > 0
