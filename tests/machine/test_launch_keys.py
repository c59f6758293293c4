"""What is left of a launch when the next one begins, and how long that one takes to begin."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import ceil

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig
from gpusim.core.request import Kind
from gpusim.files.units import cycles
from gpusim.machine import Tenant
from tests.examples import examples
from tests.hardware.fbt.virtual_machines import VIRTUAL
from tests.hardware.sm.observed import Observed, launch, tenant
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, change
from tests.machine.instances import in_slices
from tests.machine.test_latency import BASE, ISSUE, L1, L1_TLB

LOAD = [("load", BASE), ("wait",)]


def twice(config: GpuConfig) -> Run:
    return Run.of(config, [tenant(config, *[launch(config, [LOAD])] * 2)])


@pytest.mark.parametrize("translation", ["before", "parallel", "after"])
def test_lines_are_kept(translation: str) -> None:
    config = change(SMALL, l1={"at_launch": "keep", "translation": translation})
    run = twice(config)
    before = L1_TLB if translation == "before" else 0
    assert run.latencies[1] == ISSUE + before + L1
    assert (run.count("l1", "lookups"), run.count("l1", "hits")) == (2, 1)
    emptied = twice(change(config, l1={"at_launch": "invalidate"}))
    assert (emptied.count("l1", "lookups"), emptied.count("l1", "hits")) == (2, 0)


def test_virtual_caches_keep_lines_too() -> None:
    assert twice(VIRTUAL).count("l1", "hits") == 0
    run = twice(change(VIRTUAL, l1={"at_launch": "keep"}))
    assert run.count("l1", "hits") == 1
    assert run.latencies[1] == ISSUE + L1


def test_the_first_block_of_each_launch_waits_for_the_overhead() -> None:
    kernels = [launch(SMALL, [[("compute", 10)]]), launch(SMALL, [LOAD], [LOAD])]
    plain = Observed(SMALL, tenant(SMALL, *kernels))
    late = Observed(attrs.evolve(SMALL, launch_overhead=cycles(5000)), tenant(SMALL, *kernels))
    for number, warp in enumerate([0, 1, 2]):
        later = 5000 * (1 if number == 0 else 2)
        assert late.life(warp) == tuple(cycle + later for cycle in plain.life(warp))
        assert late.of(warp) == [(state, a + later, b + later) for state, a, b in plain.of(warp)]
    begins, ends = zip(
        *((one.begin, one.end) for one in late.machine.schedulers[0].records), strict=True
    )
    assert begins == (0, ends[0])
    assert ends[0] == plain.machine.schedulers[0].records[0].end + 5000


def test_each_instance_pays_for_its_own_launches() -> None:
    config = attrs.evolve(in_slices(SMALL, 2), launch_overhead=cycles(700))
    tenants = [
        Tenant(name, ScriptedApplication([launch(config, [LOAD])] * n, name), [n - 1], instance=1)
        for n, name in enumerate(("once", "twice"), 1)
    ]
    run = Run.of(config, tenants)
    ends = [scheduler.finished_at for scheduler in run.machine.schedulers]
    plain = Run.of(attrs.evolve(config, launch_overhead=cycles(0)), tenants)
    assert [scheduler.finished_at for scheduler in plain.machine.schedulers] == [
        ends[0] - 700,
        ends[1] - 1400,
    ]


def test_each_block_takes_its_time_to_begin() -> None:
    config = attrs.evolve(SMALL, sm=attrs.evolve(SMALL.sm, max_blocks=1))
    late = attrs.evolve(config, sm=attrs.evolve(config.sm, block_start=cycles(100)))
    ends = [
        Observed(each, tenant(each, launch(each, *[[[("compute", 10)]]] * 3)))
        .machine.schedulers[0]
        .finished_at
        for each in (config, late)
    ]
    blocks_an_sm = -(-3 // SMALL.sm.count)
    assert ends[1] - ends[0] == 99 * blocks_an_sm


def stored(config: GpuConfig, *blocks: Script) -> tuple[Observed, list[int], int]:
    """A run of one launch; when its stores were answered, in order, and when it ended."""
    one = tenant(config, launch(config, *([block] for block in blocks)))
    run = Run.of(config, [one])
    answered = [
        end
        for (_, end), request in zip(run.loads, run.requests, strict=True)
        if request.kind == Kind.STORE
    ]
    return Observed(config, one), sorted(answered), run.machine.schedulers[0].records[0].end


def test_a_block_gives_its_place_away_when_its_stores_are_sent() -> None:
    script = [("load", BASE), ("wait",), ("store", BASE)]
    one_block = change(SMALL, sm={"max_blocks": 1})
    waiting, answered, end = stored(one_block, script, script)
    assert waiting.life(1)[0] > answered[0]
    posted, answered, earlier = stored(change(one_block, sm={"block_end": "sent"}), script, script)
    assert waiting.life(0)[1] > posted.life(1)[0]
    assert posted.life(1)[0] < answered[0], "the second begins before the first is done"
    assert earlier < end


def test_a_launch_ends_when_all_stores_are_answered() -> None:
    posted, answered, end = stored(change(SMALL, sm={"block_end": "sent"}), [("store", BASE)])
    assert posted.life(0)[1] < 10 < answered[0] < end


def test_a_store_that_is_answered_after_the_last_load_of_an_ended_warp() -> None:
    script = [("load", BASE), ("wait",), ("store", BASE + 512), ("load", BASE)]
    posted, (answered,), end = stored(change(SMALL, sm={"block_end": "sent"}), script)
    assert posted.life(0)[1] < answered < end, "its program ends before its load is there"


def test_warps_that_are_started_a_cycle() -> None:
    births = []
    for dispatch in (None, 2, 4):
        config = attrs.evolve(SMALL, dispatch=dispatch)
        blocks = [[[("compute", 100)]] * 6] * 3
        seen = Observed(config, tenant(config, launch(config, *blocks)))
        births.append([seen.life(6 * block)[0] for block in range(3)])
    assert [birth - births[0][0] for birth in births[0]] == [0, 1, 2]
    assert [birth - births[1][0] for birth in births[1]] == [0, 3, 6], "6 warps, 2 a cycle"
    assert [birth - births[2][0] for birth in births[2]] == [0, 2, 3], "4 a cycle: 1.5 cycles"


def test_a_place_that_is_free_earlier_has_to_wait_for_its_turn() -> None:
    config = attrs.evolve(change(SMALL, sm={"max_blocks": 2}), dispatch=1)
    blocks = [[[("compute", 10)]] * 20] * 6
    seen = Observed(config, tenant(config, launch(config, *blocks)))
    births = [seen.life(20 * block)[0] for block in range(6)]
    assert min(later - sooner for sooner, later in pairwise(births)) >= 20


@pytest.mark.parametrize("dispatch", [None, 1, 4, 9])
def test_blocks_smaller_than_what_is_started_a_cycle(dispatch: int | None) -> None:
    config = attrs.evolve(SMALL, dispatch=dispatch)
    seen = Observed(config, tenant(config, launch(config, *[[[("compute", 500)]]] * 16)))
    births = [seen.life(block)[0] for block in range(16)]
    assert [birth - births[0] for birth in births] == [-(-n // (dispatch or 1)) for n in range(16)]


def expected_births(
    lives: list[tuple[int, int]], warps: int, places: int, dispatch: int | None
) -> list[int]:
    """When each block begins: in its turn, and not before one of the places is free.

    A block gives its place back in the cycle after its end; the first begins when it did.
    """
    births: list[int] = []
    started = Fraction(lives[0][0])
    for block in range(len(lives)):
        ends = sorted(end + 1 for _, end in lives[:block])
        free = ends[block - places] + 1 if block >= places else 0
        births.append(max(ceil(started), free))
        turn = Fraction(warps, dispatch) if dispatch else Fraction(1)
        started = (started if births[-1] == ceil(started) else births[-1]) + turn
    return births


@settings(max_examples=examples(100), deadline=None)
@given(
    dispatch=st.integers(1, 9) | st.none(),
    warps=st.integers(1, 7),
    places=st.integers(1, 8),
    lengths=st.lists(st.integers(1, 40), min_size=2, max_size=16),
)
def test_every_block_begins_as_soon_as_it_may(
    dispatch: int | None, warps: int, places: int, lengths: list[int]
) -> None:
    config = attrs.evolve(change(SMALL, sm={"max_blocks": places}), dispatch=dispatch)
    blocks = [[[("compute", length)]] * warps for length in lengths]
    seen = Observed(config, tenant(config, launch(config, *blocks)))
    lives = []
    for block in range(len(lengths)):
        own = [seen.life(block * warps + warp) for warp in range(warps)]
        lives.append((own[0][0], max(end for _, end in own)))
    births = [birth for birth, _ in lives]
    assert births == expected_births(lives, warps, places, dispatch)
