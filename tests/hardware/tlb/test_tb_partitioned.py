"""TLBs dealt out to thread blocks, against a flat list of entries."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.translation import TlbConfig
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import cycles
from gpusim.hardware.tlb import (
    SetAssociativeArray,
    TbPartitionedArray,
    TbPartitionedSharedArray,
)
from gpusim.hardware.tlb.tb_partitioned import owned_sets
from tests.examples import examples
from tests.hardware.tlb.flat_tlb import FlatTlb
from tests.hardware.tlb.numbered import NO_PAGE, Numbered

LATENCY = 3


Event = tuple[str, int, int]
"""What, page (or slot, or blocks), slot."""


@st.composite
def programs(draw: Any) -> list[Event]:
    """Up to three kernels whose blocks use few pages: their sets are full most of the time."""
    program: list[Event] = []
    for blocks in draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)):
        slots = st.integers(0, blocks - 1)
        event = st.one_of(
            *[st.tuples(st.just("insert"), st.integers(0, 7), slots)] * 6,
            *[st.tuples(st.just("lookup"), st.integers(0, 7), slots)] * 4,
            *[st.tuples(st.just("end_block"), slots, st.just(0))] * 2,
            st.tuples(st.just("invalidate"), st.integers(0, 7), st.just(0)),
        )
        program.append(("begin_kernel", blocks, 0))
        program += draw(st.lists(event, min_size=25, max_size=60))
        program += draw(st.sampled_from([[], [("flush", 0, 0)]]))
    return program


shapes = st.builds(
    lambda ways, sets: TlbConfig("sm", ways * sets, ways, latency=cycles(LATENCY)),
    st.integers(1, 3),
    st.sampled_from([1, 2, 4, 8]),
)
partitions = {"parallel_compare": st.booleans(), "flush_on_kernel": st.booleans()}
sharings = partitions | {
    "empty_rule": st.sampled_from(["invalid", "stale"]),
    "shared_alloc": st.sampled_from(["spill", "union"]),
    "wrap": st.booleans(),
}


def call(array: Numbered | FlatTlb, event: Event, number: int, slots: int) -> Any:
    what, value, slot = event
    if what == "insert":
        return array.insert(value, number, slot % slots)
    if what == "lookup":
        return array.lookup(value, slot % slots), array.extra_cycles
    if what == "flush":
        return array.flush()
    if what == "end_block":  # followed by those arrays only whose blocks share sets
        return getattr(array, what, _ignore)(value % slots)
    return getattr(array, what)(value)


def _ignore(slot: int) -> None:
    pass


def play(array: Any, naive: FlatTlb, program: list[Event]) -> None:
    slots = 1
    for number, event in enumerate(program):
        assert call(array, event, number, slots) == call(naive, event, number, slots), event
        if event[0] == "begin_kernel":
            slots = event[1]
        if naive.sharing:
            assert array.flags == naive.flags


@settings(max_examples=examples(100))
@given(shapes, st.fixed_dictionaries(partitions), programs())
def test_partitioned(config: TlbConfig, options: Any, program: Any) -> None:
    play(Numbered(TbPartitionedArray(config, **options)), FlatTlb(config, **options), program)


@settings(max_examples=examples(250))
@given(shapes, st.fixed_dictionaries(sharings), programs())
def test_shared(config: TlbConfig, options: Any, program: Any) -> None:
    play(Numbered(TbPartitionedSharedArray(config, **options)), FlatTlb(config, **options), program)


@given(st.integers(1, 64), st.integers(0, 6))
def test_owned_sets_are_disjoint_and_cover_all(blocks: int, log_sets: int) -> None:
    sets = 1 << log_sets
    owned = [owned_sets(block, blocks, sets) for block in range(blocks)]
    if blocks <= sets:
        assert [at for own in owned for at in own] == list(range(sets))
        assert max(map(len, owned)) - min(map(len, owned)) <= 1
    else:
        assert all(len(own) == 1 for own in owned)
        assert {at for own in owned for at in own} == set(range(sets))


def test_owned_sets_as_the_paper_has_them() -> None:
    assert [list(owned_sets(block, 16, 16)) for block in (0, 7, 15)] == [[0], [7], [15]]
    assert [list(owned_sets(block, 4, 16)) for block in (0, 3)] == [[0, 1, 2, 3], [12, 13, 14, 15]]


@settings(max_examples=examples(100))
@given(shapes, st.fixed_dictionaries(sharings), programs())
def test_flags_change_only_by_spills_and_ended_blocks(
    config: TlbConfig, options: Any, program: Any
) -> None:
    array = Numbered(TbPartitionedSharedArray(config, **options))
    slots = 1
    for number, event in enumerate(program):
        flags, spills = list(array.flags), array.sharing.spills
        call(array, event, number, slots)
        if event[0] == "begin_kernel":
            slots = event[1]
            assert not any(array.flags)
            continue
        risen = [new and not old for old, new in zip(flags, array.flags, strict=True)]
        fallen = [old and not new for old, new in zip(flags, array.flags, strict=True)]
        assert not any(risen) or (event[0] == "insert" and array.sharing.spills == spills + 1)
        assert not any(fallen) or event[0] == "end_block"


@pytest.mark.parametrize("kind", [TbPartitionedArray, TbPartitionedSharedArray])
@given(program=programs(), config=shapes)
def test_one_block_has_a_fully_associative_tlb(kind: Any, program: Any, config: TlbConfig) -> None:
    whole = Numbered(SetAssociativeArray(attrs.evolve(config, ways=config.entries)))
    array = Numbered(kind(config, parallel_compare=True))
    for number, event in enumerate(program):
        if event[0] in ("lookup", "insert", "invalidate", "flush"):
            assert call(array, event, number, 1) == call(whole, event, number, 1)


def test_a_spill_moves_a_whole_translation_and_raises_the_flag() -> None:
    # Two blocks, two sets of one way; block 0's second page pushes its first into block 1's set.
    array = Numbered(TbPartitionedSharedArray(TlbConfig("sm", 2, 1), empty_rule="invalid"))
    array.begin_kernel(2)
    assert array.insert(10, 1, 0) == 0
    assert array.insert(20, 2, 0) == 0
    assert array.flags == [True, False]
    assert (array.lookup(20, 0), array.extra_cycles) == (2, 0)
    assert (array.lookup(10, 0), array.extra_cycles) == (1, 1)
    assert array.lookup(10, 1) == 1  # it lies in block 1's own set
    assert array.sharing.shared_hits == 1
    array.end_block(1)
    assert array.flags == [False, False]
    assert array.lookup(10, 0) == NO_PAGE


def test_stale_ways_count_as_empty_only_by_the_stale_rule() -> None:
    for rule, raised in (("stale", True), ("invalid", False)):
        array = Numbered(TbPartitionedSharedArray(TlbConfig("sm", 2, 1), empty_rule=rule))
        array.begin_kernel(2)
        array.insert(5, 9, 1)
        array.end_block(1)
        array.insert(10, 1, 0)
        assert array.insert(20, 2, 0) == 1  # page 5 or page 10
        assert array.flags[0] is raised
        assert (array.lookup(5, 1) == 9) is not raised


def test_a_page_that_two_blocks_have_is_forgotten_in_both() -> None:
    array = Numbered(TbPartitionedArray(TlbConfig("sm", 8, 2)))
    array.begin_kernel(4)
    array.insert(7, 70, 0)
    array.insert(7, 70, 3)
    assert array.invalidate(7)
    assert [array.lookup(7, slot) for slot in range(4)] == [NO_PAGE] * 4
    assert not array.invalidate(7)


def test_entries_stay_for_the_next_block_in_the_slot() -> None:
    array = Numbered(TbPartitionedSharedArray(TlbConfig("sm", 8, 2)))
    array.begin_kernel(4)
    array.insert(7, 70, 2)
    array.end_block(2)
    assert array.lookup(7, 2) == 70
    array.begin_kernel(4)
    assert array.lookup(7, 2) == 70


@settings(max_examples=examples(100))
@given(programs(), st.booleans(), st.integers(0, 3))
def test_compressed_sets_under_partitions_give_the_right_frames(
    program: Any, sharing: bool, rebase: int
) -> None:
    """Whatever moves where, a hit has the frame that was inserted last."""
    sets = PolicyConfig(
        "base-delta",
        {"rebase": rebase, "delta_vpn_bits": 2, "delta_pfn_bits": 3, "extra_cycles": 1},
    )
    config = TlbConfig("sm", 16, 4, sets=sets)
    kind = TbPartitionedSharedArray if sharing else TbPartitionedArray
    array = Numbered(kind(config))
    slots, known = 1, set()
    for what, value, slot in program:
        if what == "insert":
            array.insert(value, 5 * value, slot % slots)
            known.add(value)
        elif what == "lookup":
            assert array.lookup(value, slot % slots) in (
                {5 * value, NO_PAGE} if value in known else {NO_PAGE}
            )
            assert array.extra_cycles >= 1
        elif what == "begin_kernel":
            array.begin_kernel(value)
            slots = value
        else:
            call(array, (what, value, slot), 0, slots)
            known -= {value} if what == "invalidate" else set()
            known = set() if what == "flush" else known
