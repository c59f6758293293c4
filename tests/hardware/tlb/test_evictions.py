"""What an array tells of pages that leave it, against what it finds."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.translation import TlbConfig
from gpusim.core.mapping import Mapping
from gpusim.core.policy import PolicyConfig
from gpusim.hardware.tlb import make_array
from tests.examples import examples
from tests.quick import quick

PAGES = 96
SMALL = TlbConfig("gpu", 16, 4, sub_entries=4)
PLAIN = evolve(SMALL, sub_entries=1)


def star(**options: Any) -> TlbConfig:
    return evolve(SMALL, array=PolicyConfig("star", options))


BASE_DELTA = PolicyConfig("base-delta", {"delta_vpn_bits": 2, "delta_pfn_bits": 3, "rebase": 4})
PACKED = PolicyConfig("base-delta", {**BASE_DELTA.options, "partitioned": False})
ARRAYS: dict[str, TlbConfig] = {
    "plain": PLAIN,
    "sub-entry": evolve(SMALL, array=PolicyConfig("sub-entry")),
    "groups": evolve(SMALL, array=PolicyConfig("sub-entry-groups")),
    "star": star(),
    "star of four": star(bases=4),
    "lazy star": star(relocate="lazy"),
    "cluster": evolve(SMALL, array=PolicyConfig("cluster")),
    "base-delta": evolve(PLAIN, sets=BASE_DELTA),
    "base-delta that overflows": evolve(
        PLAIN, sets=PolicyConfig("base-delta", {**BASE_DELTA.options, "overflow": True})
    ),
    "base-delta without plain ways": evolve(PLAIN, sets=PACKED),
    "ranges": SMALL,
    "ranges in base-delta": evolve(SMALL, sets=BASE_DELTA),
    "hash": evolve(PLAIN, hash="xor"),
    "hash of sub-entries": evolve(SMALL, array=PolicyConfig("sub-entry"), hash="xor"),
    "slices": evolve(SMALL, array=PolicyConfig("sub-entry"), hash="xor-slices"),
    "hash of star": evolve(star(), hash="xor"),
    "victims": evolve(SMALL, array=PolicyConfig("sub-entry"), victims=2),
    "hash and victims": evolve(PLAIN, hash="xor", victims=3),
    "ways": evolve(SMALL, array=PolicyConfig("static-ways", {"ways_of": "4", "of": "star"})),
    "partitioned": evolve(PLAIN, array=PolicyConfig("tb-partitioned")),
    "shared": evolve(PLAIN, array=PolicyConfig("tb-partitioned-shared")),
    "shared base-delta": evolve(
        PLAIN, array=PolicyConfig("tb-partitioned-shared"), sets=BASE_DELTA
    ),
    "partitioned ranges": evolve(SMALL, array=PolicyConfig("tb-partitioned")),
}

operations = st.lists(
    st.tuples(st.sampled_from(["use"] * 6 + ["forget"]), st.integers(0, PAGES - 1)),
    min_size=150,
    max_size=400,
)


@pytest.mark.parametrize("name", quick(ARRAYS, *list(ARRAYS)[::2]))
@settings(max_examples=examples(40))
@given(operations, st.randoms(use_true_random=False))
def test_a_page_is_found_until_it_is_told_to_leave(
    name: str, steps: list[tuple[str, int]], random: Any
) -> None:
    array = make_array(ARRAYS[name])
    spilled: list[dict[int, Mapping]] = []
    array.spill_into(spilled)
    frames = list(range(PAGES))
    random.shuffle(frames)
    mappings = [Mapping(page, frame) for page, frame in enumerate(frames)]
    there: set[int] = set()
    assert array.traits().spills

    def learn() -> None:
        for pages in spilled:
            for page, mapping in pages.items():
                assert mapping is mappings[page]
            there.difference_update(pages)
        spilled.clear()

    for step, page in steps:
        if step == "forget":
            array.invalidate(page)
            there.discard(page)
        else:
            found = array.lookup(page, 0)
            assert (found is not None) == (page in there)
            learn()
            if found is None:
                array.insert(page, mappings[page], 0)
                there.add(page)
        learn()
    assert len(there) < PAGES


def test_a_copy_of_another_block_stays() -> None:
    """Two blocks have the page; that of the first leaves, and later that of the second."""
    config = evolve(PLAIN, entries=2, ways=1, array=PolicyConfig("tb-partitioned"))
    array: Any = make_array(config)
    array.begin_kernel(2)
    spilled: list[dict[int, Mapping]] = []
    array.spill_into(spilled)
    pages = [Mapping(page, page) for page in range(3)]
    for slot in (0, 1):
        array.insert(0, pages[0], slot)
    array.insert(1, pages[1], 0)
    assert spilled == []
    array.insert(2, pages[2], 1)
    assert spilled == [{0: pages[0]}]
