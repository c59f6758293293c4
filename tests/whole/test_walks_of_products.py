"""Walks of the models of products: what is calibrated comes out, the rest arises."""

from __future__ import annotations

import pytest

import gpusim

MIB = 1 << 20


def walks(
    model: str, apart: int, nodes: int = 12, laps: int = 1, **overrides: object
) -> list[tuple[int, int]]:
    """Cycles from the last TLB to the answer, and levels read, of walks one after another."""
    chase = {"footprint": apart * nodes, "stride": apart, "skew": 128, "loads": nodes * laps}
    one_by_one = {"order": "sequential", "warm": 0, "lead": 0, "page": 1 << 40}
    workload = gpusim.load_workload("chase", "smoke", overrides={**chase, **one_by_one})
    machine = gpusim.load_model(model, overrides=overrides)
    trip = machine.config.walk.trip.cycles(machine.config.clock)
    with gpusim.simulate(machine, workload, record=("walks",)) as result:
        table = result.table("walks")
    cycles = (table["finished"] - table["started"] + trip).tolist()
    return list(zip(cycles, table["levels"].tolist(), strict=True))


def test_a_leaf_in_the_l2_cache_takes_what_was_measured_of_a_p100() -> None:
    """Karnagel 2017: a step of 302 to 412 cycles past 2 GiB."""
    found = [cycles for cycles, levels in walks("p100", 2 * MIB) if levels == 1]
    assert min(found) == 110


def test_two_levels_in_the_l2_cache_take_what_was_measured_of_a_k80() -> None:
    """Karnagel 2017: a step of 305 to 478 cycles past 2 GiB; here with less of a last TLB."""
    less = {"tlb.L3.entries": 64, "tlb.L2.entries": 32, "tlb.L2.ways": 32}
    found = walks("k80", 2 * MIB, nodes=144, laps=2, **less)[144:]
    cycles = sorted(cycles for cycles, levels in found if levels == 2)
    assert len(cycles) > len(found) / 2
    assert cycles[len(cycles) // 2] == 173


def test_two_reads_of_dram_are_a_cold_miss_of_a_v100() -> None:
    """Jia 2018: 1029 cycles against 375, less 8 and 55 of the TLBs between: 591."""
    found = walks("v100", 32 * MIB)
    leaves = sorted(cycles for cycles, levels in found if levels == 1)
    trip = 85
    usual = leaves[len(leaves) // 2] - trip
    assert 2 * usual + trip == pytest.approx(591, abs=1)
    cycles, levels = found[0]
    assert levels == 4
    assert cycles - trip == pytest.approx(4 * usual, abs=5)
