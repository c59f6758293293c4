"""Loads that a warp scheduler holds back: how long they wait, and that a machine with them ends."""

from __future__ import annotations

import attrs

from gpusim.core.policy import PolicyConfig
from gpusim.hardware.sm.cache_conscious import CacheConscious
from gpusim.hardware.sm.schedulers import GreedyThenOldest, Schedulable
from tests.machine.bench import SMALL, Run, change
from tests.machine.test_latency import BASE


class HoldsThrice(GreedyThenOldest):
    """Each load asks three times before it may issue, every ten cycles."""

    holds = True

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[int, int]] = []

    def hold(self, warp: Schedulable, issued: int, now: int) -> int:
        self.asked.append((issued, now))
        return 10 if len(self.asked) % 4 else 0


def scheduled(name: str) -> PolicyConfig:
    return PolicyConfig(f"{__name__}:{name}" if name[0].isupper() else name)


def test_a_load_that_is_held_back_is_issued_later() -> None:
    script = [("compute", 3), ("load", BASE), ("wait",)]
    run = Run(change(SMALL, sm={"scheduler": scheduled("HoldsThrice")}), script)
    scheduler = run.machine.sms[0].issue_ports[0].scheduler
    assert isinstance(scheduler, HoldsThrice)
    assert scheduler.asked == [(3, 4), (3, 14), (3, 24), (3, 34)]  # the block begins in cycle 1
    assert [begin for begin, _ in run.loads] == [34]
    assert run.cycles == Run(SMALL, script).cycles + 30


def test_stores_and_computing_are_not_held_back() -> None:
    script = [("store", BASE), ("compute", 4), ("store", BASE + 4096)]
    run = Run(change(SMALL, sm={"scheduler": scheduled("HoldsThrice")}), script)
    assert run.cycles == Run(SMALL, script).cycles


def test_a_warp_that_loses_lines_is_not_stopped_by_one_at_a_barrier() -> None:
    """Two warps share a line of a cache of one set; each loads, waits for the other, and again."""
    config = change(SMALL, sm={"scheduler": scheduled("ccws")})
    config = attrs.evolve(config, l1=attrs.evolve(config.l1, size=type(config.l1.size)(512)))
    loads = [("load", BASE + 128 * line) for line in range(6)]
    scripts = [
        [step for turn in range(6) for load in loads for step in (load, ("wait",))] + [("barrier",)]
        for _ in range(2)
    ]
    run = Run(config, *scripts)
    scheduler = run.machine.sms[0].issue_ports[0].scheduler
    assert isinstance(scheduler, CacheConscious)
    assert scheduler._locality.losses > 0
    assert scheduler._held > 0
