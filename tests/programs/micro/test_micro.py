"""Microbenchmarks: what their warps do, and what it takes on a machine known by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.core.errors import UserError
from gpusim.programs.micro.atomic_adds import AtomicAdds, AtomicAddsParameters
from gpusim.programs.micro.bandwidth import Bandwidth, BandwidthParameters
from gpusim.programs.micro.chase import NODE, Chase, ChaseParameters
from gpusim.programs.micro.launches import Launches, LaunchesParameters
from tests.examples import examples
from tests.programs.drain import drain, warp_operations


def chased(program: Chase, number: int) -> list[int]:
    """Bytes from the begin of the array that the chase loads, in the third or fourth launch."""
    launch = list(program.launches())[number]
    operations = warp_operations(launch, program)
    assert [op for op, _, _ in operations] == ["LOAD", "WAIT"] * (len(operations) // 2)
    return [offset * NODE for op, _, lanes in operations if op == "LOAD" for offset in lanes]


def test_a_lap_visits_every_node_once() -> None:
    parameters = ChaseParameters(footprint=8192, stride=128, loads=64, lead=64, warm=0)
    lead, chase = chased(Chase(parameters, 0), 2), chased(Chase(parameters, 0), 3)
    assert sorted(lead) == list(range(0, 8192, 128))
    assert lead != sorted(lead)
    assert chase == lead + lead, "round and round"


def test_a_chain_longer_than_the_lead_is_measured_cold() -> None:
    parameters = ChaseParameters(footprint=8192, stride=64, loads=8, lead=64, warm=100)
    program = Chase(parameters, 1)
    launches = list(program.launches())
    assert [launch.name for launch in launches] == ["pages", "warm", "lead", "chase"]
    assert not chased(program, 2)
    assert len(chased(program, 3)) == 8


@settings(max_examples=examples(50), deadline=None)
@given(
    st.integers(1, 64),
    st.integers(1, 32),
    st.sampled_from(["random", "sequential"]),
    st.integers(0, 3),
)
def test_lanes_have_chains_of_their_own(nodes: int, lanes: int, order: str, skew: int) -> None:
    parameters = ChaseParameters(
        footprint=nodes * 1024,
        stride=1024,
        skew=skew * 8,
        lanes=lanes,
        order=order,
        loads=5,
        warm=0,
        lead=0,
    )
    loaded = chased(Chase(parameters, 3), 3)
    assert len(loaded) == 5 * lanes
    numbers = [place // 1024 for place in loaded]
    assert all(place % 1024 % (skew * 8) == 0 if skew else place % 1024 == 0 for place in loaded)
    lap = min(nodes, len(numbers))
    assert len(set(numbers[:lap])) == lap
    assert numbers[lap:] == numbers[: len(numbers) - lap]


def test_skews_differ_and_stay_in_their_stride() -> None:
    program = Chase(ChaseParameters(footprint=1 << 20, stride=4096, skew=128, loads=256, lead=0), 2)
    places = sorted(chased(program, 3))
    assert [place // 4096 for place in places] == list(range(256))
    assert len({place % 4096 for place in places}) == 32


def test_one_sm_warms_in_the_order_of_the_chain() -> None:
    parameters = ChaseParameters(footprint=1 << 17, loads=8, lead=0, warm=1024, warmers=1)
    program = Chase(parameters, 4)
    warm = list(program.launches())[1]
    assert (warm.blocks, warm.threads_per_block) == (1, 256)
    loads = [
        [op for op in warp_operations(warm, program, 0, warp) if op[0] == "LOAD"]
        for warp in range(8)
    ]
    in_order = [
        offset * NODE for turn in range(4) for warp in range(8) for offset in loads[warp][turn][2]
    ]
    assert in_order[:8] == chased(Chase(parameters, 4), 3), "a lap later"
    assert len(set(in_order)) == 1024


def test_a_run_begins_anew_after_a_lap_that_was_cut() -> None:
    parameters = ChaseParameters(
        footprint=8192, stride=128, loads=64, lead=0, warm=96, cut=24, order="sequential"
    )
    program = Chase(parameters, 1)
    warm = list(program.launches())[1]
    numbers = [place // 128 for place in (program._chain(96, 64) * NODE)]
    assert numbers[:96] == [(24 - 96 + n) % 64 for n in range(96)]
    assert numbers[95] == 23
    assert [place // 128 for place in chased(program, 3)] == list(range(64))
    assert warm.blocks == 1


def test_nothing_need_be_warm() -> None:
    program = Chase(ChaseParameters(footprint=4096, warm=0, lead=0, loads=3), 0)
    assert drain(program) == ["pages", "warm", "lead", "chase"]
    assert not warp_operations(list(program.launches())[1], program)


def test_every_sm_knows_every_page() -> None:
    program = Chase(ChaseParameters(footprint=1 << 20, page=4096, sms=3), 0)
    pages = next(program.launches())
    assert (pages.blocks, pages.threads_per_block) == (3, 256)
    for block in range(3):
        loaded = [
            offset * NODE
            for warp in range(8)
            for op, _, lanes in warp_operations(pages, program, block, warp)
            if op == "LOAD"
            for offset in lanes
        ]
        assert sorted(loaded) == list(range(0, 1 << 20, 4096))


def test_an_array_of_gigabytes_takes_no_memory() -> None:
    program = Chase(ChaseParameters(footprint=1 << 36, stride=1 << 21, loads=4), 0)
    assert program.nodes.bytes == 1 << 36
    assert program.nodes.data.strides == (0,)
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
def test_every_byte_is_streamed_twice(operation: str, loads: int, stores: int) -> None:
    parameters = BandwidthParameters(
        footprint=65536, operation=operation, blocks=8, threads=64, piece=8192
    )
    program = Bandwidth(parameters, 0)
    assert program.bytes_a_block == 8192 * (loads + stores)
    seen: list[int] = []
    for block in range(8):
        for warp in range(2):
            for op, _, lanes in warp_operations(next(program.launches()), program, block, warp):
                seen += lanes if op in {"LOAD", "STORE"} else []
    assert sorted(seen) == sorted([*range(8192)] * (loads + stores))
    assert drain(program) == ["warm", "stream"]


@pytest.mark.parametrize(("together", "begins"), [(False, [384, 0]), (True, [0, 0])])
def test_a_stream_goes_on_where_what_warms_ends(together: bool, begins: list[int]) -> None:
    program = Bandwidth(
        BandwidthParameters(
            footprint=4096, blocks=2, threads=32, piece=1024, warm=3, together=together
        ),
        0,
    )
    firsts = {
        launch.name: [warp_operations(launch, program, block)[0][2][0] for block in range(2)]
        for launch in program.launches()
    }
    assert firsts == {"warm": [0, 128], "stream": begins}


def test_blocks_together_read_the_same() -> None:
    program = Bandwidth(
        BandwidthParameters(footprint=4096, blocks=3, threads=32, piece=8192, together=True), 0
    )
    launch = next(program.launches())
    first, last = (warp_operations(launch, program, block) for block in (0, 2))
    assert first == last
    loads = [lanes for op, _, lanes in first if op == "LOAD"]
    assert len(loads) == 32
    assert loads[:16] == loads[16:], "round and round"


def test_words_far_apart() -> None:
    program = Bandwidth(BandwidthParameters(footprint=1 << 20, stride=4096, threads=32), 0)
    (_, _, lanes), *_ = warp_operations(next(program.launches()), program)
    assert lanes == [512 * lane % (1 << 17) for lane in range(32)]


@pytest.mark.parametrize("returning", [False, True])
def test_nothing_is_lost_in_atomics(returning: bool) -> None:
    program = AtomicAdds(
        AtomicAddsParameters(cells=5, stride=8, blocks=3, threads=40, times=2, returning=returning),
        0,
    )
    assert drain(program) == ["add"]
    assert program.words.data[::2].sum() == 3 * 40 * 2
    assert not program.words.data[1::2].any()
    ops = [op for op, _, _ in warp_operations(next(program.launches()), program)]
    assert ops == (["ATOMIC", "WAIT"] * 2 if returning else ["REDUCE"] * 2)


def test_launches_do_nothing() -> None:
    program = Launches(LaunchesParameters(count=3, blocks=2, threads=64), 0)
    assert drain(program) == ["empty"] * 3
    assert warp_operations(next(program.launches()), program) == [("COMPUTE", 1, [])]


@pytest.mark.parametrize(
    ("program", "key", "value", "message"),
    [
        ("chase", "stride", 12, "'stride' must be a multiple of 8"),
        ("chase", "order", "randm", "must be one of 'random', 'sequential', not 'randm'; did"),
        ("chase", "cut", 1 << 20, "'cut' must be less than the nodes of a lap"),
        ("chase", "skew", 4, "'skew' must be a multiple of 8: 4"),
        ("bandwidth", "operation", "copy", "must be one of 'read', 'write', 'scale', 'triad'"),
        ("bandwidth", "stride", 4, "'stride' must be a multiple of word = 8: 4"),
        ("atomic_adds", "stride", 6, "'stride' must be a multiple of 4: 6"),
    ],
)
def test_what_is_refused(program: str, key: str, value: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        gpusim.load_workload(program, "smoke", overrides={key: value})


def test_chains_depend_on_the_seed_alone() -> None:
    parameters = ChaseParameters(footprint=1 << 16, loads=16)
    one, same, other = (chased(Chase(parameters, seed), 2) for seed in (5, 5, 6))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
