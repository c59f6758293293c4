"""Whole cycles, naps, parking and wake-ups: what the engine adds to SimPy."""

from __future__ import annotations

from typing import Any

import pytest

from gpusim.core.engine import NEVER, Environment, Stall


@pytest.mark.parametrize("delay", [0.5, 1e-9, 3.25])
def test_a_broken_delay_is_refused(delay: float) -> None:
    env = Environment()
    with pytest.raises(ValueError, match="whole cycles"):
        env.timeout(delay)


def test_a_whole_float_is_a_whole_number() -> None:
    env = Environment()
    env.timeout(2.0)
    env.run()
    assert env.now == 2
    assert isinstance(env.now, int)


def test_running_until_half_a_cycle_is_refused() -> None:
    with pytest.raises(ValueError, match="whole cycles"):
        Environment().run(until=2.5)


@pytest.mark.parametrize("first", [True, False], ids=["first yield", "later"])
@pytest.mark.parametrize("stepwise", [True, False], ids=["step", "run"])
def test_a_negative_nap_is_refused(first: bool, stepwise: bool) -> None:
    env = Environment()

    def process() -> Any:
        if not first:
            yield 1
        yield -1

    env.process(process())

    def step_on() -> None:
        while True:
            env.step()

    with pytest.raises(ValueError, match="negative"):
        step_on() if stepwise else env.run()


def test_a_negative_nap_of_a_generator_without_a_name() -> None:
    """Compiled generators have none."""

    class Compiled:
        def send(self, _: object) -> int:
            return -5

        def throw(self, error: BaseException) -> int:
            raise error

    env = Environment()
    env.process(Compiled())
    with pytest.raises(ValueError, match=r"^Compiled yielded a negative number of cycles: -5"):
        env.run()


def test_naps_add_up() -> None:
    env = Environment()
    seen: list[int] = []

    def process() -> Any:
        for nap in (0, 1, 0, 5, 0, 2):
            yield nap
            seen.append(env.now)

    env.process(process())
    env.run()
    assert seen == [0, 1, 1, 6, 6, 8]


def test_a_parked_process_sleeps_until_it_is_woken() -> None:
    env = Environment()
    seen: list[int] = []

    def sleeper() -> Any:
        while True:
            yield None
            seen.append(env.now)

    process = env.start(sleeper())
    env.run(until=10)
    assert seen == []
    process.wake.now()
    env.run(until=11)
    assert seen == [10]
    env.run(until=50)
    assert seen == [10]


def test_the_earliest_wake_up_wins() -> None:
    env = Environment()
    seen: list[int] = []

    def sleeper() -> Any:
        while True:
            yield None
            seen.append(env.now)

    process = env.start(sleeper())
    env.run(until=1)
    for cycle in (30, 20, 40, 20, 25):
        process.wake.at(cycle)
    assert process.wake.due == 20
    env.run(until=100)
    assert seen == [20]
    assert process.wake.due == NEVER


def test_a_wake_up_cuts_a_nap_short() -> None:
    env = Environment()
    seen: list[int] = []

    def sleeper() -> Any:
        yield 50
        seen.append(env.now)
        yield 50
        seen.append(env.now)

    process = env.start(sleeper())
    env.run(until=1)
    process.wake.at(10)
    env.run()
    assert seen == [10, 60]


def test_a_process_that_is_woken_every_way_wakes_once_a_cycle() -> None:
    env = Environment()
    seen: list[int] = []

    def sleeper() -> Any:
        while env.now < 8:
            yield 4
            seen.append(env.now)

    process = env.start(sleeper())

    def nuisance() -> Any:
        for _ in range(4):
            yield 2
            process.wake.now()
            process.wake.at(env.now)

    env.start(nuisance())
    env.run()
    # Woken at 2, sleeps to 6 but is woken at 4, and so on.
    assert seen == [2, 4, 6, 8]


def test_waking_a_process_that_has_ended_does_nothing() -> None:
    env = Environment()

    def short() -> Any:
        yield 1
        return "done"

    process = env.start(short())
    env.run()
    process.wake.at(5)
    env.run()
    assert process.value == "done"


def test_a_process_may_mix_naps_parking_and_events() -> None:
    env = Environment()
    bell = env.event()
    seen: list[Any] = []

    def mixed() -> Any:
        yield 2
        seen.append(env.now)
        seen.append((yield bell))
        yield None
        seen.append(env.now)
        yield env.timeout(3)
        seen.append((yield bell))
        yield 4
        seen.append(env.now)

    process = env.start(mixed())

    def other() -> Any:
        yield 5
        bell.succeed("ding")
        yield 5
        process.wake.at(12)

    env.start(other())
    env.run()
    assert seen == [2, "ding", 12, "ding", 19]


def test_events_are_counted() -> None:
    env = Environment()

    def process() -> Any:
        for _ in range(10):
            yield 1

    env.process(process())
    env.run()
    assert env.events == 1 + 10 + 1  # its start, ten naps, its end

    stepped = Environment()
    stepped.timeout(1)
    stepped.step()
    assert stepped.events == 1


def test_a_stall_tells_that_its_reason_is_gone() -> None:
    env = Environment()
    seen: list[tuple[int, bool]] = []

    def component() -> Any:
        while True:
            yield None
            seen.append((env.now, stall.active))

    process = env.start(component())
    stall = Stall(process.wake)
    env.run(until=1)
    stall.active = True
    process.wake.at(3)  # woken for another reason: it is still stalled
    env.run(until=5)
    stall.now()
    env.run(until=6)
    assert seen == [(3, True), (5, False)]
