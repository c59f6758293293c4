"""Probes announce to all who listen; the watchdog ends runs that stand still."""

from __future__ import annotations

from typing import Any

import pytest

from gpusim.core.engine import Environment, Probe, Watchdog
from gpusim.core.errors import DeadlockError


def test_a_probe_calls_its_listeners_in_order() -> None:
    probe: Probe[[int, str]] = Probe()
    heard: list[Any] = []
    assert not probe.listeners
    probe(1, "unheard")
    probe.listen(lambda number, word: heard.append(("first", number, word)))
    probe.listen(lambda number, word: heard.append(("second", number, word)))
    probe(2, word="heard")
    assert heard == [("first", 2, "heard"), ("second", 2, "heard")]


class Factory:
    """Parts in flight, and how far they are."""

    def __init__(self, patience: int = 100) -> None:
        self.env = Environment()
        self.parts = 0
        self.moved = 0
        self.watchdog = Watchdog(
            self.env, patience, lambda: self.parts, lambda: self.moved, lambda: "  a waits for b"
        )

    def work(self, parts: int, every: int) -> Any:
        self.parts = parts
        for _ in range(parts):
            yield every
            self.parts -= 1
            self.moved += 1

    def heartbeat(self, every: int = 10) -> Any:
        while True:
            yield every


def test_a_run_that_moves_is_left_alone() -> None:
    factory = Factory()
    factory.parts = 5
    factory.env.start(factory.work(5, every=99))
    factory.env.run()
    factory.watchdog.check_drained()
    assert factory.parts == 0


def test_a_run_that_stands_still_is_stopped_with_a_report() -> None:
    factory = Factory()
    factory.parts = 3
    factory.env.start(factory.heartbeat())
    with pytest.raises(DeadlockError) as caught:
        factory.env.run()
    message = str(caught.value)
    # It sees no progress from cycle 100 on; then one cycle counts at each of 100 beats.
    assert message == (
        "deadlock at cycle 1091: nothing moved in 100 cycles, and 3 requests or warps are "
        "unfinished. What waits for what:\n  a waits for b"
    )


def test_patience_is_counted_from_the_last_progress() -> None:
    factory = Factory(patience=50)
    factory.parts = 2
    factory.env.start(factory.heartbeat(every=1))

    def keep_moving() -> Any:
        for _ in range(13):
            yield 10
            factory.moved += 1

    factory.env.start(keep_moving())
    with pytest.raises(DeadlockError, match="cycle 250:"):
        factory.env.run()


def test_a_timer_is_no_standstill_however_long_it_runs() -> None:
    factory = Factory()
    factory.env.start(factory.work(3, every=1_000_000))
    factory.env.start(factory.heartbeat(), onlooker=True)
    factory.env.run(until=3_000_001)
    factory.watchdog.check_drained()


@pytest.mark.parametrize("every", [60, 150, 1_000_000])
def test_nor_are_several_that_make_no_progress_in_between(every: int) -> None:
    factory = Factory()
    factory.parts = 1

    def read_four_levels() -> Any:
        for _ in range(4):
            yield every
        factory.parts = 0

    factory.env.start(read_four_levels())
    factory.env.run()
    assert factory.env.now >= 4 * every


@pytest.mark.parametrize("onlookers", [False, True])
def test_a_run_without_events_is_stopped_when_the_watchdog_looks(onlookers: bool) -> None:
    factory = Factory()
    factory.parts = 1

    def wait_for_ever() -> Any:
        yield 30
        yield None

    factory.env.start(wait_for_ever())
    if onlookers:
        factory.env.start(factory.heartbeat(), onlooker=True)
    with pytest.raises(
        DeadlockError, match=r"cycle 100: no event is left, and 1 requests or warps"
    ):
        factory.env.run()


def test_running_dry_with_work_left_is_a_deadlock() -> None:
    factory = Factory()
    factory.env.run()  # the watchdog sees nothing in flight, and goes home
    factory.watchdog.check_drained()
    factory.parts = 1
    with pytest.raises(DeadlockError, match=r"no event is left, and 1 requests or warps"):
        factory.watchdog.check_drained()
