"""Latencies of single accesses through virtual caches, worked out by hand.

The machine (`VIRTUAL`): L1 cache 4 cycles, crossbar 8 either way and 32 bytes a cycle, L2 cache 10,
trip to the IOMMU 10, its TLB 5, the table 5, trip of a replay 10, fixed walk 500, DRAM 100.
"""

from __future__ import annotations

from typing import Any

import attrs

from gpusim.config.schema import GpuConfig
from gpusim.config.translation import TlbConfig
from gpusim.machine import Machine
from tests.hardware.fbt.virtual_machines import FBT, IOMMU, VIRTUAL
from tests.machine.bench import Run, Script, change
from tests.machine.test_latency import BASE, CROSSBAR, DRAM, ISSUE, L1, L2, LINE_FLITS, WALK

TRIP, TLB, TABLE = 10, 5, 5
THERE = ISSUE + L1 + CROSSBAR + L2
"""From the issue to the outcome of the lookup in the L2 bank."""
BACK = CROSSBAR + LINE_FLITS - 1
ASK = TRIP + TLB + TABLE

SMALL_TLB = attrs.evolve(IOMMU, entries=1, ways=1)
PAGE, OTHER = BASE, BASE + 4096


def loads(*addresses: int) -> Script:
    """Loads one after the other."""
    return [step for address in addresses for step in (("load", address), ("wait",))]


def with_tlb(tlb: TlbConfig, **keys: Any) -> GpuConfig:
    return attrs.evolve(VIRTUAL, tlb={"L2": tlb}, fbt=attrs.evolve(FBT, **keys))


def test_a_hit_in_the_l1_cache_asks_nobody() -> None:
    run = Run(VIRTUAL, loads(PAGE, PAGE))
    assert run.latencies[1] == ISSUE + L1 == 5
    assert run.count("tlb/L2", "lookups") == run.count("fbt", "lookups") == 1


def test_a_hit_in_the_l2_cache_asks_nobody() -> None:
    small = change(VIRTUAL, l1={"size": 128, "ways": 1})
    run = Run(small, loads(PAGE, OTHER, PAGE))
    assert run.latencies[2] == THERE + BACK == 34
    assert run.count("fbt", "lookups") == 2


def test_a_miss_that_walks() -> None:
    run = Run(VIRTUAL, loads(PAGE))
    assert run.latencies == [THERE + TRIP + TLB + WALK + TABLE + DRAM + BACK] == [654]


def test_a_miss_that_hits_the_shared_tlb() -> None:
    run = Run(VIRTUAL, loads(PAGE, PAGE + 128))
    assert run.latencies[1] == THERE + ASK + DRAM + BACK == 154


def test_a_miss_that_hits_the_forward_table() -> None:
    run = Run(with_tlb(SMALL_TLB, second_level=True), loads(PAGE, OTHER, PAGE + 128))
    walk = THERE + TRIP + TLB + TABLE + WALK + TABLE + DRAM + BACK
    assert run.latencies == [walk, walk, THERE + ASK + TABLE + DRAM + BACK]
    assert run.latencies[2] == 159
    assert run.count("walk", "walks") == 2
    assert run.count("tlb/FBT", "hits") == 1


def test_without_it_the_same_miss_walks() -> None:
    run = Run(with_tlb(SMALL_TLB), loads(PAGE, OTHER, PAGE + 128))
    assert run.latencies[2] == THERE + ASK + WALK + DRAM + BACK
    assert run.count("walk", "walks") == 3


def synonyms(config: GpuConfig, *scripts: Script) -> Run:
    """A run in which OTHER has the frame of PAGE from the begin."""
    build = Machine._build_page_table

    def build_with_synonym(self: Machine, seed: int) -> None:
        build(self, seed)
        table = self.page_table
        table.remap(0, OTHER >> 12, table.translate(0, PAGE >> 12))

    Machine._build_page_table = build_with_synonym  # type: ignore[method-assign]
    try:
        return Run(config, *scripts)
    finally:
        Machine._build_page_table = build  # type: ignore[method-assign]


def test_a_synonym_of_a_cached_line_is_replayed() -> None:
    run = synonyms(VIRTUAL, loads(PAGE, OTHER, OTHER))
    replay = TRIP + L2  # under the leading name, at the L2 bank
    assert run.latencies[1] == THERE + TRIP + TLB + WALK + TABLE + replay + BACK
    assert run.latencies[2] == THERE + ASK + replay + BACK == 74  # it misses every time
    assert run.count("fbt", "replays") == run.count("l2", "replays") == 2
    assert run.count("dram", "data_reads") == 1


def test_a_synonym_of_a_line_that_is_not_there_fetches_it_under_the_leading_name() -> None:
    run = synonyms(VIRTUAL, loads(PAGE, OTHER + 128, PAGE + 128))
    assert run.latencies[1] == THERE + TRIP + TLB + WALK + TABLE + DRAM + BACK
    assert run.latencies[2] == ISSUE + L1  # the L1 cache has it under the leading name, too
    assert run.count("dram", "data_reads") == 2


def test_stores_to_synonyms_and_loads_after_stores_are_faults() -> None:
    for script, faults in (
        ([("load", PAGE), ("wait",), ("store", OTHER)], 1),
        ([("store", PAGE), ("compute", 2000), ("load", OTHER), ("wait",)], 1),
        ([("store", OTHER), ("compute", 2000), ("store", OTHER)], 0),
        ([("load", PAGE), ("wait",), ("store", PAGE), ("compute", 99), *loads(OTHER)], 1),
        (loads(PAGE, OTHER), 0),
    ):
        run = synonyms(VIRTUAL, script)
        assert run.count("fbt", "synonym_faults") == faults, script


def test_a_page_that_has_to_make_room_is_purged_first() -> None:
    one = with_tlb(IOMMU, entries=1, ways=1)
    run = Run(one, loads(PAGE, OTHER))
    # The bank hears after the trip, and takes a cycle for its one line; then the L1 cache, behind
    # the crossbar, and its answer; then the table is asked again.
    purge = TRIP + 1 + TRIP + 2 * (TRIP + CROSSBAR)
    assert run.latencies[1] == THERE + TRIP + TLB + WALK + purge + TABLE + DRAM + BACK
    assert run.count("fbt", "evictions") == 1
    assert run.count("l1", "flushes") == 1


def test_waiting_for_the_table_is_a_state_of_its_own() -> None:
    states = Run(VIRTUAL, loads(PAGE)).states()
    assert states["tlb_FBT"] == TABLE
    assert states["tlb_L2"] == TRIP + TLB
    assert states["walk"] == WALK
