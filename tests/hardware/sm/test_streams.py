"""Launches of several streams: which overlap, when each begins, and where their blocks go."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import attrs
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.core.errors import UserError
from gpusim.core.streams import StreamUse
from gpusim.files.units import Bytes, cycles
from gpusim.hardware.sm.running import LaunchRecord
from tests.hardware.sm.observed import Observed, launch, tenant
from tests.machine.bench import SMALL, ScriptedLaunch, change

TWO = change(SMALL, sm={"count": 2})
"""A block of one warp has a scheduler of its own on each SM."""

BEFORE, AFTER = 1, 1
"""Cycles from a block's place to its first instruction, and from its last one to its end."""


def busy(length: int, use: StreamUse, blocks: int = 1, config: GpuConfig = TWO) -> ScriptedLaunch:
    """Blocks of one warp that compute for some cycles."""
    one = launch(config, *[[[("compute", length)]]] * blocks)
    return attrs.evolve(one, stream_use=use)


def records(config: GpuConfig, launches: Sequence[ScriptedLaunch]) -> list[LaunchRecord]:
    """What became of launches, in the order of the program."""
    (scheduler,) = Observed(config, tenant(config, *launches)).machine.schedulers
    return sorted(scheduler.records, key=lambda one: one.index)


def times(config: GpuConfig, *launches: ScriptedLaunch) -> list[tuple[int, int]]:
    """Begin and end of launches, in the order of the program."""
    return [(one.begin, one.end) for one in records(config, launches)]


def test_two_streams_take_as_long_as_the_longer_one() -> None:
    found = times(TWO, busy(100, StreamUse(1)), busy(300, StreamUse(2)))
    # One block is placed a cycle: the second one a cycle later.
    assert found == [(0, BEFORE + 100 + AFTER), (0, 1 + BEFORE + 300 + AFTER)]


def test_one_stream_takes_the_sum() -> None:
    found = times(TWO, busy(100, StreamUse(5)), busy(300, StreamUse(5)))
    first = BEFORE + 100 + AFTER
    assert found == [(0, first), (first, first + BEFORE + 300 + AFTER)]
    assert found == times(TWO, busy(100, StreamUse()), busy(300, StreamUse()))


def test_the_default_stream_waits_for_all_and_all_wait_for_it() -> None:
    found = times(
        TWO,
        busy(100, StreamUse(1)),
        busy(300, StreamUse(2)),
        busy(50, StreamUse(0)),
        busy(10, StreamUse(1)),
        busy(20, StreamUse(2)),
    )
    longest = 1 + BEFORE + 300 + AFTER
    assert found[2] == (longest, longest + BEFORE + 50 + AFTER)
    assert [begin for begin, _ in found[3:]] == [found[2][1]] * 2
    assert found[4][1] - found[4][0] == 1 + BEFORE + 20 + AFTER


def test_an_event_makes_one_stream_wait_for_another() -> None:
    slow = StreamUse(2)
    found = times(
        TWO,
        busy(10, StreamUse(1)),
        busy(300, slow),
        busy(10, StreamUse(1, after=(slow,))),
        busy(10, StreamUse(3)),
    )
    assert found[2][0] == found[1][1]
    assert found[3][0] == 0, "a stream that waits for none begins"


def test_the_host_waits_where_it_says_so() -> None:
    waits = StreamUse(1, host_waits=True)
    found = times(TWO, busy(300, StreamUse(2)), busy(10, waits), busy(10, StreamUse(3)))
    assert found[1][0] == 0
    assert found[2][0] == max(end for _, end in found[:2])


@pytest.mark.parametrize("most", [1, 2, 3, None])
def test_a_limit_of_launches_under_way(most: int | None) -> None:
    config = attrs.evolve(TWO, concurrent_kernels=most)
    found = times(config, *(busy(100, StreamUse(1 + n)) for n in range(4)))
    points = [begin for begin, _ in found]
    assert max(sum(b <= at < e for b, e in found) for at in points) == (most or 4)
    if most == 1:
        assert found == times(TWO, *(busy(100, StreamUse(1)) for _ in range(4)))


def test_a_launch_that_waits_for_none_that_was_launched_is_refused() -> None:
    with pytest.raises(UserError, match="launch 0, of kernel 'scripted', waits for one that has"):
        times(TWO, busy(1, StreamUse(1, after=(StreamUse(2),))))


def test_each_launch_takes_its_overhead_beside_the_others() -> None:
    config = attrs.evolve(TWO, launch_overhead=cycles(500))
    found = records(config, [busy(100, StreamUse(1)), busy(300, StreamUse(2))])
    assert [one.work_begin for one in found] == [500, 500]
    assert [one.end for one in found] == [500 + 102, 501 + 302]
    assert [one.stream for one in found] == [1, 2]


def test_blocks_of_a_launch_are_placed_when_all_of_the_one_before_are() -> None:
    config = change(SMALL, sm={"count": 1, "max_blocks": 2})
    long = busy(100, StreamUse(1), 3, config)
    small = busy(1, StreamUse(2), 1, config)
    seen = Observed(config, tenant(config, long, small))
    # Two blocks of the first fit; the third takes the first place that is free, then the other's.
    born = [seen.life(warp)[0] for warp in range(4)]
    assert born == sorted(born)
    assert born[2] > 100
    slots = [seen.places[warp][1] for warp in range(4)]
    assert len({slots[2], slots[3]}) == 2


def test_they_share_an_sm_as_its_resources_allow() -> None:
    config = change(SMALL, sm={"count": 1, "shared_memory": Bytes(4096)})
    large = attrs.evolve(busy(100, StreamUse(1), 1, config), shared_bytes=3072)
    fits = attrs.evolve(busy(100, StreamUse(2), 1, config), shared_bytes=1024)
    waits = attrs.evolve(busy(100, StreamUse(2), 1, config), shared_bytes=2048)
    for other, together in ((fits, True), (waits, False)):
        seen = Observed(config, tenant(config, large, other))
        assert (seen.life(1)[0] < seen.life(0)[1]) == together


def test_all_states_tile_and_all_counters_add_up() -> None:
    load = [("load", *(4096 * lane for lane in range(8))), ("wait",), ("barrier",)]
    one = launch(TWO, [load, load], [load, load])
    apart = Observed(TWO, tenant(TWO, one, one))
    beside = [attrs.evolve(one, stream_use=StreamUse(n)) for n in (1, 2)]
    both = Observed(TWO, tenant(TWO, *beside))
    for name in ("instructions", "transactions", "warps", "blocks", "barriers"):
        counted = [
            sum(getattr(sm.counters[0], name) for sm in run.machine.sms) for run in (apart, both)
        ]
        assert counted[0] == counted[1] > 0
    for warp in both.intervals:
        intervals = both.intervals[warp]
        assert all(a[2] == b[1] for a, b in pairwise(intervals))
    assert both.machine.schedulers[0].finished_at < apart.machine.schedulers[0].finished_at


def test_paces_of_a_trace_are_those_of_its_own_launch() -> None:
    config = attrs.evolve(TWO, launch_overhead=cycles(10))
    paced = attrs.evolve(launch(config, [[("pace", 100)]]), stream_use=StreamUse(2))
    first = busy(50, StreamUse(2), 1, config)
    seen = Observed(config, tenant(config, first, paced, busy(500, StreamUse(1), 1, config)))
    record = next(one for one in seen.machine.schedulers[0].records if one.index == 1)
    assert record.end == record.work_begin + 100 + AFTER
