"""Barriers: no warp goes on before the last one of the block has come."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gpusim.core.policy import PolicyConfig
from tests.hardware.sm.observed import Observed, launch, observe, tenant
from tests.machine.bench import SMALL, change

TWO = change(SMALL, sm={"schedulers": 2})


def test_all_wait_for_the_last() -> None:
    seen = observe(TWO, [("barrier",), ("compute", 1)], [("compute", 20), ("barrier",)])
    assert seen.of(0) == [("issuing", 1, 2), ("barrier", 2, 22), ("computing", 22, 23)]
    assert seen.of(1) == [("computing", 1, 21), ("issuing", 21, 22)]
    assert seen.machine.sms[0].counters[0].barriers == 2


@pytest.mark.parametrize("policy", ["gto", "lrr"])
def test_every_warp_of_four_waits_at_each_of_three_barriers(policy: str) -> None:
    config = change(SMALL, sm={"schedulers": 2, "scheduler": PolicyConfig(policy)})
    works = [[3, 40, 5], [30, 4, 6], [2, 2, 50], [7, 8, 9]]
    seen = observe(
        config,
        *([step for work in warp for step in (("compute", work), ("barrier",))] for warp in works),
    )
    # Between two barriers, every warp works: when the first one works again, all have arrived.
    computing = [[i for i in seen.intervals[w] if i[0] == "computing"] for w in range(4)]
    spans = [[_span(computing[w], works[w], phase) for w in range(4)] for phase in range(3)]
    for before, after in pairwise(spans):
        assert max(end for _, end in before) < min(begin for begin, _ in after)


def _span(pieces: list[tuple[str, int, int]], works: list[int], phase: int) -> tuple[int, int]:
    """First and last cycle of a phase's work."""
    busy = [cycle for _, begin, end in pieces for cycle in range(begin, end)]
    own = busy[sum(works[:phase]) : sum(works[: phase + 1])]
    return own[0], own[-1] + 1


def test_a_warp_that_ends_early_releases_the_others() -> None:
    seen = observe(TWO, [("barrier",), ("compute", 1)], [("compute", 9)])
    # Warp 1 ends in cycle 10; a barrier takes an issue slot to open.
    assert seen.of(0) == [("issuing", 1, 2), ("barrier", 2, 11), ("computing", 11, 12)]


def test_a_warp_that_waits_for_its_last_answer_has_not_ended() -> None:
    seen = observe(TWO, [("barrier",), ("compute", 1)], [("load", 1 << 32)])
    assert seen.life(1) == (1, 646)
    assert seen.of(0)[1] == ("barrier", 2, 647)


def test_blocks_do_not_wait_for_each_other() -> None:
    blocks = [[[("barrier",)], [("barrier",)]], [[("compute", 500), ("barrier",)], [("barrier",)]]]
    seen = Observed(TWO, tenant(TWO, launch(TWO, *blocks)))
    assert seen.life(0)[1] < 20
    assert seen.life(1)[1] < 20
    assert seen.life(3)[1] > 500


def test_a_lone_warp_passes_a_barrier() -> None:
    seen = observe(SMALL, [("barrier",), ("barrier",), ("compute", 1)])
    assert seen.of(0) == [("issuing", 1, 3), ("computing", 3, 4)]
