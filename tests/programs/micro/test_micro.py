"""Microbenchmarks: chains and streams as a whole, and what a load takes on a machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.core.errors import UserError
from gpusim.programs.micro.bandwidth import BandwidthParameters
from gpusim.programs.micro.chase import NODE
from tests.examples import examples
from tests.programs.contract.entries import Start, nth_launch, operations_of
from tests.programs.drain import drain


def started(program: str, seed: int = 0, **parameters: Any) -> Start:
    return Start(program=program, seed=seed, parameters=parameters)


def loaded(start: Start, number: int, block: int = 0, warp: int = 0) -> list[list[int]]:
    """Bytes from the begin of the array of each load of a warp of a chase."""
    program = start.application()
    operations = operations_of(nth_launch(program, number), program, block, warp)
    assert [op for op, _, _ in operations] == ["LOAD", "WAIT"] * (len(operations) // 2)
    return [[NODE * lane for lane in lanes] for _, _, lanes in operations[::2]]


def chased(start: Start, number: int) -> list[int]:
    """Bytes from the begin of the array that a chase loads, in the third or fourth launch."""
    return [place for lanes in loaded(start, number) for place in lanes]


def test_a_lap_visits_every_node_once() -> None:
    start = started("chase", footprint=8192, stride=128, loads=64, lead=64, warm=0)
    lead, chase = chased(start, 2), chased(start, 3)
    assert sorted(lead) == list(range(0, 8192, 128))
    assert lead != sorted(lead)
    assert chase == lead + lead, "round and round"


def test_a_chain_longer_than_the_lead_is_measured_cold() -> None:
    start = started("chase", 1, footprint=8192, stride=64, loads=8, lead=64, warm=100)
    assert not chased(start, 2)
    assert len(chased(start, 3)) == 8


@settings(max_examples=examples(50), deadline=None)
@given(
    st.integers(1, 64),
    st.integers(1, 32),
    st.sampled_from(["random", "sequential"]),
    st.integers(0, 3),
)
def test_lanes_have_chains_of_their_own(nodes: int, lanes: int, order: str, skew: int) -> None:
    sizes = {"footprint": nodes * 1024, "stride": 1024, "skew": skew * 8, "lanes": lanes}
    places = chased(started("chase", 3, **sizes, order=order, loads=5, warm=0, lead=0), 3)
    assert len(places) == 5 * lanes
    numbers = [place // 1024 for place in places]
    assert all(place % 1024 % (skew * 8) == 0 if skew else place % 1024 == 0 for place in places)
    lap = min(nodes, len(numbers))
    assert len(set(numbers[:lap])) == lap
    assert numbers[lap:] == numbers[: len(numbers) - lap]


def test_skews_differ_and_stay_in_their_stride() -> None:
    start = started("chase", 2, footprint=1 << 20, stride=4096, skew=128, loads=256, lead=0)
    places = sorted(chased(start, 3))
    assert [place // 4096 for place in places] == list(range(256))
    assert len({place % 4096 for place in places}) == 32


def test_one_sm_warms_in_the_order_of_the_chain() -> None:
    start = started("chase", 4, footprint=1 << 17, loads=8, lead=0, warm=1024, warmers=1)
    warm = nth_launch(start.application(), 1)
    assert (warm.blocks, warm.threads_per_block) == (1, 256)
    loads = [loaded(start, 1, 0, warp) for warp in range(8)]
    in_order = [place for turn in range(4) for warp in range(8) for place in loads[warp][turn]]
    assert in_order[:8] == chased(start, 3), "a lap later"
    assert len(set(in_order)) == 1024


def test_a_run_begins_anew_after_a_lap_that_was_cut() -> None:
    sizes = {"footprint": 8192, "stride": 128, "loads": 64, "lead": 0, "warm": 96, "cut": 24}
    start = started("chase", 1, **sizes, order="sequential")
    warmed = [place // 128 for warp in range(2) for place in loaded(start, 1, 0, warp)[0]]
    assert warmed == [(24 - 64 + n) % 64 for n in range(64)], "a lap at most"
    assert warmed[63] == 23
    assert [place // 128 for place in chased(start, 3)] == list(range(64))


def test_every_sm_knows_every_page() -> None:
    start = started("chase", footprint=1 << 20, page=4096, sms=3)
    pages = nth_launch(start.application(), 0)
    assert (pages.blocks, pages.threads_per_block) == (3, 256)
    for block in range(3):
        found = [
            place for warp in range(8) for lanes in loaded(start, 0, block, warp) for place in lanes
        ]
        assert sorted(found) == list(range(0, 1 << 20, 4096))


def test_an_array_of_gigabytes_takes_no_memory() -> None:
    program = started("chase", footprint=1 << 36, stride=1 << 21, loads=4).application()
    assert program.memory["nodes"].bytes == 1 << 36
    assert program.memory["nodes"].data.strides == (0,)
    assert drain(program) == ["pages", "warm", "lead", "chase"]


def chase_cycles(stride: int, loads: int) -> int:
    workload = gpusim.load_workload(
        "chase", "smoke", overrides={"footprint": 4096, "stride": stride, "loads": loads}
    )
    with gpusim.simulate(gpusim.load_model("kepler-uvm"), workload) as result:
        launches = result.launches.set_index("kernel")
        spent = launches.end - launches.begin
        return int(spent["chase"] - spent["lead"])


def test_a_load_that_hits_takes_what_its_parts_take() -> None:
    """L1 hit of kepler-uvm: issued, in the unit a cycle later, 14 cycles of the L1 cache."""
    assert chase_cycles(128, 512) - chase_cycles(128, 256) == 256 * 15


@pytest.mark.parametrize(
    ("operation", "loads", "stores"), [("read", 1, 0), ("write", 0, 1), ("triad", 2, 1)]
)
def test_every_byte_is_streamed_once_a_launch(operation: str, loads: int, stores: int) -> None:
    parameters = {"footprint": 65536, "blocks": 8, "threads": 64, "piece": 8192}
    bytes_a_block = BandwidthParameters(operation=operation, **parameters).bytes_a_block
    assert bytes_a_block == 8192 * (loads + stores)
    start = started("bandwidth", operation=operation, **parameters)
    for number in (0, 1):
        program = start.application()
        launch = nth_launch(program, number)
        seen: list[int] = []
        for block in range(8):
            for warp in range(2):
                for op, _, lanes in operations_of(launch, program, block, warp):
                    seen += lanes if op in {"LOAD", "STORE"} else []
        assert sorted(seen) == sorted([*range(8192)] * (loads + stores))


def test_blocks_together_read_the_same() -> None:
    sizes = {"footprint": 4096, "blocks": 3, "threads": 32, "piece": 8192}
    program = started("bandwidth", **sizes, together=True).application()
    launch = nth_launch(program, 0)
    first, last = (operations_of(launch, program, block) for block in (0, 2))
    assert first == last


def test_a_word_that_is_not_allowed_is_told_with_the_nearest() -> None:
    for program, key, value, message in (
        ("chase", "order", "randm", "must be one of 'random', 'sequential', not 'randm'; did"),
        ("bandwidth", "operation", "copy", "must be one of 'read', 'write', 'scale', 'triad'"),
    ):
        with pytest.raises(UserError, match=message):
            gpusim.load_workload(program, "smoke", overrides={key: value})


def test_chains_depend_on_the_seed_alone() -> None:
    sizes = {"footprint": 1 << 16, "loads": 16}
    one, same, other = (chased(started("chase", seed, **sizes), 2) for seed in (5, 5, 6))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
