"""Policies of the driver against naive ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim.machine  # noqa: F401  (registers the policies)
from gpusim.core.errors import UserError
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, make_policy
from gpusim.hardware.paging import DeviceMemory, Eviction, Fault, PagePrefetch
from tests.examples import examples
from tests.hardware.paging.naive import RANK, Event, densest, victim

PAGE = 4096
LEAF, ROOT = 16, 512
"""Pages of 64 KiB, and of 2 MiB."""

many = settings(max_examples=examples(150))
happenings = st.lists(
    st.tuples(st.sampled_from(["came", "accessed", "accessed", "choose"]), st.integers(0, 9)),
    max_size=60,
)


def eviction(name: str, seed: int = 0, **options: object) -> Eviction:
    made: Eviction = make_policy(Slot.EVICTION, PolicyConfig(name, options), seed)
    return made


def prefetch(name: str, **options: object) -> PagePrefetch:
    made: PagePrefetch = make_policy(Slot.PAGE_PREFETCH, PolicyConfig(name, options), PAGE)
    return made


def fault(page: int, sm: int = 0, warp: int = 0) -> Fault:
    return Fault(page, 0, sm, warp, 0)


@many
@given(st.sampled_from(list(RANK)), happenings, st.integers(2, 6))
def test_the_block_that_goes(name: str, drawn: list[Event], most: int) -> None:
    """A block is one page here, so that it comes and goes whole."""
    policy = eviction(name, **({"most": most} if name == "access-counter" else {}))
    memory = DeviceMemory(None, 1, policy)
    events: list[Event] = []
    for what, block in drawn:
        if what == "choose":
            if memory.blocks:
                chosen = memory.victim(())
                assert chosen == victim(name, events, memory.blocks, most)
                assert memory.remove(chosen) == [chosen]
                events.append(("left", chosen))
            continue
        if what == "came":
            if not memory.holds(block):
                memory.reserve(1)
                memory.add(block)
            memory.came(block)
        elif policy.counts:
            memory.accessed(block)
        events.append((what, block))
        assert memory.used == len(list(memory.pages()))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20, unique=True), st.integers(0, 9))
def test_any_block_at_random(blocks: list[int], seed: int) -> None:
    drawn = [eviction("random", seed).choose(blocks) for _ in range(3)]
    assert drawn[0] in blocks
    assert drawn == drawn[:1] * 3, "the seed decides"


def test_random_goes_to_all_blocks() -> None:
    policy = eviction("random")
    assert {policy.choose([3, 4, 5]) for _ in range(60)} == {3, 4, 5}


def test_a_policy_that_chooses_what_it_may_not() -> None:
    class Wrong(Eviction):
        def choose(self, blocks: object) -> int:
            return 7

    memory = DeviceMemory(4, 1, Wrong(0))
    memory.reserve(1)
    memory.add(3)
    with pytest.raises(UserError, match=r"Wrong chose block 7; allowed: one of the 1 that"):
        memory.victim(())


class Array:
    """Pages of an array, some of which are there."""

    def __init__(self, pages: int, there: set[int]) -> None:
        self.pages = range(pages)
        self.pages_there = there

    def there(self, tag: int) -> bool:
        return tag in self.pages_there

    def may_come(self, tag: int) -> bool:
        return tag in self.pages


@many
@given(st.data(), st.integers(1, ROOT), st.integers(1, 100))
def test_tree(data: st.DataObject, pages: int, threshold: int) -> None:
    page = data.draw(st.integers(0, pages - 1))
    leaves = data.draw(st.sets(st.integers(0, (pages - 1) // LEAF)))
    there = {one for leaf in leaves for one in range(leaf * LEAF, leaf * LEAF + LEAF)} | {page}
    array = Array(pages, there)
    found = prefetch("tree", threshold=threshold).pages(fault(page), array)
    assert found == densest(page, there, array.pages, range(ROOT), threshold, LEAF)


def test_half_of_a_node_is_not_enough_and_one_page_more_is() -> None:
    """51 % in NVIDIA's driver: of two leaves one, of four three."""
    policy = prefetch("tree")
    leaf = set(range(LEAF))
    assert policy.pages(fault(0), Array(ROOT, set())) == range(LEAF)
    assert policy.pages(fault(16), Array(ROOT, leaf)) == range(2 * LEAF)
    assert policy.pages(fault(32), Array(ROOT, leaf | set(range(16, 32)))) == range(4 * LEAF)
    assert policy.pages(fault(64), Array(ROOT, leaf)) == range(64, 80)


@given(st.integers(0, 5 * ROOT))
def test_block(page: int) -> None:
    found = list(prefetch("block").pages(fault(page), Array(0, set())))
    assert len(found) == LEAF
    assert found[0] % LEAF == 0
    assert page in found
    assert list(prefetch("none").pages(fault(page), Array(0, set()))) == []


@many
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 6)), max_size=40),
    st.integers(1, 5),
)
def test_stride(faults: list[tuple[int, int, int]], degree: int) -> None:
    policy = prefetch("stride", degree=degree)
    for number, (sm, warp, page) in enumerate(faults):
        found = list(policy.pages(fault(page, sm, warp), Array(0, set())))
        mine = [one for *place, one in faults[: number + 1] if place == [sm, warp]]
        steps = [b - a for a, b in zip(mine[-3:], mine[-2:], strict=False)]
        again = len(steps) == 2 and steps[0] == steps[1] != 0
        assert found == [page + n * steps[-1] for n in range(1, degree + 1) if again]
