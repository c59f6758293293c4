"""Headline numbers, worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.counters import CounterRow, ratio
from gpusim.core.states import State, families, state_names
from gpusim.results import ApplicationFacts
from gpusim.runs.headline import StateSums, headline
from tests.results.placed import metrics_of_rows

STATES = state_names(("L1",))
HERTZ = 1_400_000_000
FAMILY_OF = dict(zip(STATES, families(STATES), strict=True))


def rows(component: str, instance: int = 0, app: str = "a", **values: int) -> list[CounterRow]:
    return [CounterRow(component, instance, app, n, v, "1", "") for n, v in values.items()]


def app(name: str, end: int = 2000) -> ApplicationFacts:
    return ApplicationFacts(name, 0, (0,), 1, 1, 1, end)


def numbers(
    counters: list[CounterRow], apps: tuple[str, ...] = ("a",), sums: np.ndarray | None = None
) -> dict[str, int | float]:
    if sums is None:
        sums = np.zeros((1, len(apps), len(STATES)), np.int64)
    facts = [app(name, 1000 * (i + 1)) for i, name in enumerate(apps)]
    found = headline(
        metrics_of_rows(counters), counters, StateSums(FAMILY_OF, sums), facts, 2000, 1_400_000_000
    )
    assert all(value.unit and value.description for value in found)
    assert len({value.name for value in found}) == len(found)
    return {value.name: value.value for value in found}


def test_program() -> None:
    found = numbers(
        rows("sm", 0, instructions=300, memory_instructions=50, transactions=100)
        + rows("sm", 1, instructions=100, memory_instructions=0, transactions=0)
    )
    assert found["instructions"] == 400
    assert found["ipc"] == 0.2
    assert found["transactions_per_instruction"] == 2
    assert found["time"] == 2000 / 1.4e9


def test_tlb_rates_pooled_and_mean() -> None:
    found = numbers(
        rows("sm", instructions=4000)
        + rows("tlb/L1", 0, lookups=100, hits=90, misses=10)
        + rows("tlb/L1", 1, lookups=10, hits=1, misses=9)
        + rows("tlb/L1", 2, lookups=0, hits=0, misses=0)
        + rows("tlb/L2", 0, lookups=19, hits=0, misses=19)
    )
    assert found["tlb_L1_hit_rate"] == 91 / 110
    assert found["tlb_L1_hit_rate_mean"] == pytest.approx((0.9 + 0.1) / 2)
    assert found["tlb_L1_mpki"] == 19 / 4
    assert found["tlb_L2_hit_rate"] == 0
    assert found["tlb_L2_lookups"] == 19


def test_utilisation_at_eviction_is_the_mean_over_entries() -> None:
    found = numbers(
        rows("tlb/L3", 0, "a", evicted_with_1=6, evicted_with_2=0, evicted_with_3=1)
        + rows("tlb/L3", 0, "b", evicted_with_1=0, evicted_with_2=0, evicted_with_3=3)
        + rows("tlb/L2", 0, "a", evicted_with_1=0, evicted_with_2=0, evicted_with_3=0)
        + rows("tlb/L1", 0, "a", lookups=10),
        apps=("a", "b"),
    )
    assert found["tlb_L3_utilisation"] == (6 * 1 + 4 * 3) / (10 * 3)
    assert found["a/tlb_L3_utilisation"] == (6 + 3) / (7 * 3)
    assert found["b/tlb_L3_utilisation"] == 1
    assert not {"tlb_L2_utilisation", "tlb_L1_utilisation"} & found.keys()


def test_the_mean_is_over_tlbs_not_over_applications() -> None:
    found = numbers(
        rows("tlb/L1", 0, "a", lookups=100, hits=100) + rows("tlb/L1", 0, "b", lookups=100, hits=0),
        apps=("a", "b"),
    )
    assert found["tlb_L1_hit_rate_mean"] == 0.5
    assert found["a/tlb_L1_hit_rate_mean"] == 1


def test_waits_for_long_misses() -> None:
    found = numbers(
        rows(
            "tlb/L1", 0, long_misses=4, long_miss_cycles=6000, long_miss_warps=10, most_miss_warps=7
        )
        + rows(
            "tlb/L1", 1, long_misses=1, long_miss_cycles=500, long_miss_warps=1, most_miss_warps=1
        )
    )
    assert found["tlb_L1_stalled_warps"] == 11 / 5
    assert found["tlb_L1_stalled_warps_max"] == 7
    assert found["tlb_L1_long_misses"] == 6500 / 2000
    behind = numbers(
        rows(
            "tlb/L1",
            0,
            long_misses=4,
            long_miss_warps=10,
            long_miss_warps_behind=6,
            most_miss_warps_stalled=9,
        )
    )
    assert behind["tlb_L1_stalled_by_miss"] == 16 / 4
    assert behind["tlb_L1_stalled_by_miss_max"] == 9
    assert "tlb_L1_stalled_warps_max" not in numbers(rows("tlb/L1", lookups=1))


def test_walks() -> None:
    found = numbers(
        rows(
            "walk",
            walks=10,
            walk_cycles=5000,
            queue_cycles=120,
            level_accesses=25,
            cache_lookups=10,
            cache_hits=4,
        )
        + rows("walk", 0, "", most_walks=6)
    )
    assert found["concurrent_walks"] == 2.5
    assert found["concurrent_walks_max"] == 6
    assert found["walks"] == 10
    assert found["walk_latency"] == 500
    assert found["walk_queueing"] == 12
    assert found["walk_levels"] == 2.5
    assert found["walk_cache_hit_rate"] == 0.4


def test_caches() -> None:
    found = numbers(
        rows("l1", lookups=10, hits=5, merged=2)
        + rows("l2", lookups=50, hits=30, translation_lookups=10, translation_hits=9)
    )
    assert found["l1_hit_rate"] == 0.5
    assert found["l1_hit_rate_with_merged"] == 0.7
    assert found["l2_hit_rate"] == 0.6
    assert found["l2_translation_hit_rate"] == 0.9
    assert found["l2_data_hit_rate"] == 21 / 40


def test_passes_by_lanes() -> None:
    found = numbers(
        rows("sm", 0, memory_instructions=8, l1_passes=20, l1_conflicts=5)
        + rows("sm", 1, memory_instructions=2, l1_passes=5, l1_conflicts=0)
        + rows("sm", 0, shared_passes=12, shared_conflicts=9)
    )
    assert found["l1_passes_per_instruction"] == 2.5
    assert found["l1_conflict_share"] == 0.2
    assert found["shared_conflict_share"] == 0.75
    without = numbers(rows("sm", memory_instructions=8, l1_passes=0, l1_conflicts=0))
    assert "l1_passes_per_instruction" not in without
    assert "l1_conflict_share" not in without


def test_page_table_reads_by_level() -> None:
    found = numbers(
        rows("page_table/level1", l2_lookups=10, l2_hits=9, l2_bypassed=0)
        + rows("page_table/level2", l2_lookups=5, l2_hits=1, l2_bypassed=5)
        + rows("page_table/level3", l2_lookups=0, l2_hits=0, l2_bypassed=0)
    )
    assert found["l2_level1_hit_rate"] == 0.9
    assert found["l2_level2_hit_rate"] == 0.2
    assert "l2_level3_hit_rate" not in found
    assert found["l2_bypassed"] == 5 / 20
    assert "l2_bypassed" not in numbers(rows("l2", lookups=1, hits=1))


def test_dram() -> None:
    found = numbers(
        rows(
            "dram",
            data_reads=6,
            walk_reads=4,
            writes=5,
            row_hits=6,
            row_misses=3,
            row_conflicts=3,
            data_read_bytes=768,
            walk_read_bytes=512,
            write_bytes=640,
            data_latency_cycles=600,
            walk_latency_cycles=800,
        )
    )
    assert found["dram_reads"] == 10
    assert found["dram_data_reads"] == 6
    assert found["dram_translation_reads"] == 4
    assert found["dram_writes"] == 5
    assert found["dram_row_hit_rate"] == 0.5
    assert found["dram_bandwidth"] == pytest.approx(1920 / (2000 / 1.4))
    assert found["dram_data_bandwidth"] == pytest.approx(1408 / (2000 / 1.4))
    assert found["dram_translation_bandwidth"] == pytest.approx(512 / (2000 / 1.4))
    assert found["dram_latency"] == 140
    assert found["dram_data_latency"] == 100
    assert found["dram_translation_latency"] == 200


def test_shares() -> None:
    sums = np.zeros((2, 1, len(STATES)), np.int64)
    sums[0, 0, State.ISSUING] = 50
    sums[1, 0, State.WALKER] = 10
    sums[0, 0, State.WALK] = 20
    sums[1, 0, State.TLB] = 5
    sums[1, 0, State.DRAM] = 15
    found = numbers([], sums=sums)
    assert found["warp_cycles"] == 100
    assert found["share_translation"] == 0.35
    assert found["share_dram"] == 0.15
    assert found["share_tlb_L1"] == 0.05
    assert sum(found[f"share_{state}"] for state in STATES) == pytest.approx(1)


def test_states_that_components_add_count_where_they_belong() -> None:
    """Of 100 warp-cycles 30 in a state of the family translation, 25 in one of the SM."""
    states = {**FAMILY_OF, "gate": "translation", "hall": "sm"}
    sums = np.zeros((1, 1, len(states)), np.int64)
    sums[0, 0, [State.ISSUING, State.WALK, -2, -1]] = 40, 5, 30, 25
    values = headline([], [], StateSums(states, sums), [app("a")], 2000, HERTZ)
    found = {value.name: value.value for value in values}
    assert found["share_translation"] == 0.35
    assert (found["share_gate"], found["share_hall"]) == (0.3, 0.25)


def test_what_does_not_exist_is_left_out() -> None:
    found = numbers(
        rows("tlb/L1", lookups=0, hits=0, misses=0) + rows("dram", data_reads=0, walk_reads=0)
    )
    assert set(found) == {
        "cycles",
        "core_clock",
        "time",
        "tlb_L1_lookups",
        "dram_reads",
        "dram_data_reads",
        "dram_translation_reads",
        "warp_cycles",
    }


def test_each_application_of_a_shared_gpu() -> None:
    sums = np.zeros((1, 2, len(STATES)), np.int64)
    sums[0, 0, State.READY], sums[0, 1, State.BARRIER] = 30, 70
    counters = rows("sm", app="a", instructions=100) + rows("sm", app="b", instructions=300)
    found = numbers(counters, apps=("a", "b"), sums=sums)
    assert found["ipc"] == 0.2
    assert (found["a/cycles"], found["a/ipc"]) == (1000, 0.1)
    assert (found["b/cycles"], found["b/ipc"]) == (2000, 0.15)
    assert (found["share_barrier"], found["b/share_barrier"]) == (0.7, 1)


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_ratio(part: int, whole: int) -> None:
    if whole:
        assert ratio(part, whole) == float(Fraction(part, whole))
    else:
        assert ratio(part, whole) is None


def test_queues_of_tlbs_and_virtual_caches() -> None:
    found = numbers(
        rows("tlb/L1", lookups=1, hits=1, misses=0)
        + rows("tlb/L1", app="", queued=0, queue_cycles=0)
        + rows("tlb/L2", lookups=8, hits=8, misses=0)
        + rows("tlb/L2", app="", queued=8, queue_cycles=20)
        + rows("l1", 0, hits=1, lookups=2, invalidations=3, flushes=1)
        + rows("l1", 1, hits=1, lookups=2, invalidations=3, flushes=0)
        + rows("fbt", lookups=10, synonyms=2)
        + rows("fbt", app="", evictions=3, probes=0, probes_filtered=0)
    )
    assert found["tlb_L2_queueing"] == 2.5
    assert found["fbt_synonyms"] == 0.2
    assert found["fbt_evictions"] == 3
    assert found["l1_invalidations_filtered"] == 5 / 6
    assert not {"tlb_L1_queueing", "probes_filtered"} & set(found)
