"""Several applications on the same SMs: together, or one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import attrs
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.core.errors import OptionError, UserError
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import Hertz
from gpusim.hardware.sm.sharing import MultiProcessService, Slice, SmSharing, TimeSlices
from gpusim.machine import Tenant
from tests.hardware.sm.observed import Observed, launch
from tests.machine.bench import SMALL, Script, ScriptedApplication, change

BASE = 1 << 32
ROOM = change(SMALL, sm={"max_blocks": 4})
"""One SM, one issue port, four blocks of a warp."""


def with_sharing(config: GpuConfig, policy: str, **options: Any) -> GpuConfig:
    return attrs.evolve(config, sharing=PolicyConfig(policy, options))


def work(
    config: GpuConfig, name: str, blocks: int, script: Script, share: float | None = None
) -> Tenant:
    """One launch of blocks of a warp, on all SMs."""
    application = ScriptedApplication([launch(config, *[[script]] * blocks)], name)
    return Tenant(name, application, range(config.sm.count), share=share)


def spans(seen: Observed, app: int) -> list[tuple[int, int]]:
    """Lives of the warps of an application, in order."""
    return sorted(seen.life(warp) for warp, (_, _, one) in seen.places.items() if one == app)


def together(seen: Observed) -> bool:
    """Whether warps of both applications were on one SM at once."""
    lives = [(seen.places[warp][0], seen.places[warp][2], seen.life(warp)) for warp in seen.places]
    return any(
        sm == other and app != of and begin < until and since < end
        for sm, app, (begin, end) in lives
        for other, of, (since, until) in lives
    )


BUSY: Script = [("load", BASE), ("wait",), ("compute", 40)]


def both(config: GpuConfig, *shares: float | None) -> Observed:
    left, right = shares or (None, None)
    return Observed(config, work(config, "a", 6, BUSY, left), work(config, "b", 6, BUSY, right))


def test_blocks_of_both_are_on_one_sm_at_once() -> None:
    seen = both(with_sharing(ROOM, "mps"))
    assert together(seen)
    assert len(spans(seen, 0)) == len(spans(seen, 1)) == 6
    slots = [(seen.life(warp), seen.places[warp][1]) for warp in seen.places]
    for (begin, end), slot in slots:
        others = [one for (since, until), one in slots if since < end and begin < until]
        assert others.count(slot) == 1, "a warp slot belongs to one warp"
        assert len(others) <= 12


def test_a_share_bounds_the_threads_of_an_sm() -> None:
    config = change(ROOM, sm={"max_threads": 128})
    seen = both(with_sharing(config, "mps"), 0.25, 0.75)
    for app, most in ((0, 1), (1, 3)):
        lives = spans(seen, app)
        at_once = [sum(b <= begin < e for b, e in lives) for begin, _ in lives]
        assert max(at_once) == most
    half = both(with_sharing(config, "mps", active_thread_percentage=50))
    lives = spans(half, 0)
    assert max(sum(b <= begin < e for b, e in lives) for begin, _ in lives) == 2
    with pytest.raises(UserError, match=r"32 threads, and 'a' may take 16 of those of an SM"):
        both(with_sharing(config, "mps"), 0.125, 0.75)


def test_room_that_one_leaves_wakes_the_other() -> None:
    config = with_sharing(change(ROOM, sm={"max_blocks": 1}), "mps")
    seen = both(config)
    assert not together(seen)
    assert len(spans(seen, 1)) == 6
    last = max(end for _, end in spans(seen, 0))
    assert spans(seen, 1)[0][0] - last < 10, "its first block comes when there is room"


def test_never_at_once_in_time_slices() -> None:
    seen = both(with_sharing(ROOM, "time-slices", length="100 cycles"))
    assert not together(seen)
    slicer = seen.machine.time_slicer
    assert slicer is not None
    assert [one.slices for one in slicer.counters] == [2, 2], "4 blocks of 6, then the other two"
    order = sorted((life, app) for app in (0, 1) for life in spans(seen, app))
    turns = [app for _, app in order]
    assert sum(a != b for a, b in pairwise(turns)) == 3


def test_a_slice_ends_when_its_time_is_over_and_the_other_begins_when_all_have_ended() -> None:
    config = with_sharing(ROOM, "time-slices", length="50 cycles", switch="7 cycles")
    long: Script = [("compute", 100)]
    seen = Observed(config, work(config, "a", 1, long), work(config, "b", 1, long))
    # Placed in 0, opened in 1, computes 100 cycles, gone in 102, seven cycles for the switch.
    assert spans(seen, 0) == [(1, 101)]
    assert spans(seen, 1) == [(102 + 7 + 1, 102 + 7 + 101)]
    slicer = seen.machine.time_slicer
    assert slicer is not None
    assert [(one.held_cycles, one.drain_cycles) for one in slicer.counters] == [(50, 52), (102, 0)]


def test_an_application_alone_goes_on() -> None:
    plain = Observed(ROOM, work(ROOM, "a", 6, BUSY))
    sliced = with_sharing(ROOM, "time-slices", length="10 cycles", switch="500 cycles")
    assert Observed(sliced, work(ROOM, "a", 6, BUSY)).intervals == plain.intervals
    shared = with_sharing(ROOM, "mps")
    assert Observed(shared, work(ROOM, "a", 6, BUSY)).intervals == plain.intervals


@pytest.mark.parametrize("policy", ["mps", "time-slices"])
def test_it_is_the_same_each_time_and_states_tile(policy: str) -> None:
    config = with_sharing(change(ROOM, sm={"count": 2}), policy)
    seen, again = both(config), both(config)
    assert seen.intervals == again.intervals
    for intervals in seen.intervals.values():
        assert all(a[2] == b[1] for a, b in pairwise(intervals))


class ToOneThatIsNotThere(SmSharing):
    """Gives the GPU to an application that has no work."""

    def shares_sms(self) -> bool:
        return True

    def next_slice(self, last: int, waiting: Sequence[int]) -> Slice | None:
        return Slice(5, 10, 0)


def test_a_slice_for_an_application_that_does_not_wait_is_refused() -> None:
    policy = f"{__name__}:{ToOneThatIsNotThere.__name__}"
    with pytest.raises(UserError, match=r"gives 10 cycles to application 5: must be .* \[0, 1\]"):
        both(with_sharing(ROOM, policy))


def test_options_that_cannot_be() -> None:
    for options in ({"active_thread_percentage": 0}, {"active_thread_percentage": 101}):
        with pytest.raises(OptionError):
            MultiProcessService(Hertz(10**9), **options)
    for name, value in (("length", "0 cycles"), ("length", "long"), ("switch", "-1 cycles")):
        with pytest.raises(OptionError):
            TimeSlices(Hertz(10**9), **{name: value})
