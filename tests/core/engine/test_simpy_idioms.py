"""What users of SimPy know works on `gpusim.core.engine.Environment` as on SimPy's own."""

from __future__ import annotations

from typing import Any

import pytest
import simpy
from simpy.core import EmptySchedule, Infinity

from gpusim.core.engine import NEVER, Environment


def test_timeouts_carry_values_and_advance_time() -> None:
    env = Environment()
    seen: list[tuple[int, Any]] = []

    def process() -> Any:
        value = yield env.timeout(3, value="three")
        seen.append((env.now, value))
        yield env.timeout(4)
        seen.append((env.now, None))

    env.process(process())
    env.run()
    assert seen == [(3, "three"), (7, None)]


def test_an_event_wakes_everyone_who_waits_in_order() -> None:
    env = Environment()
    bell = env.event()
    seen: list[tuple[str, int, Any]] = []

    def waiter(name: str) -> Any:
        value = yield bell
        seen.append((name, env.now, value))

    def ringer() -> Any:
        yield env.timeout(5)
        bell.succeed("ding")

    for name in "abc":
        env.process(waiter(name))
    env.process(ringer())
    env.run()
    assert seen == [("a", 5, "ding"), ("b", 5, "ding"), ("c", 5, "ding")]


def test_a_failed_event_is_thrown_into_the_waiter() -> None:
    env = Environment()
    bell = env.event()

    def waiter() -> Any:
        try:
            yield bell
        except KeyError as error:
            return error.args[0]

    process = env.process(waiter())
    bell.fail(KeyError("broken"))
    env.run()
    assert process.value == "broken"


def test_a_failed_event_that_nobody_awaits_stops_the_run() -> None:
    env = Environment()
    env.event().fail(KeyError("unheard"))
    with pytest.raises(KeyError, match="unheard"):
        env.run()


def test_an_event_succeeds_once() -> None:
    env = Environment()
    event = env.event().succeed(1)
    with pytest.raises(RuntimeError):
        event.succeed(2)


def test_all_of_and_any_of() -> None:
    env = Environment()
    seen: list[Any] = []

    def process() -> Any:
        quick, slow = env.timeout(2, "quick"), env.timeout(6, "slow")
        first = yield quick | slow
        seen.append((env.now, list(first.values())))
        both = yield quick & slow
        seen.append((env.now, list(both.values())))
        yield env.all_of([])
        yield env.any_of([env.timeout(1), env.event()])
        seen.append(env.now)

    env.process(process())
    env.run()
    assert seen == [(2, ["quick"]), (6, ["quick", "slow"]), 7]


def test_processes_are_events_with_return_values() -> None:
    env = Environment()

    def child() -> Any:
        yield env.timeout(3)
        return 42

    def parent() -> Any:
        value = yield env.process(child())
        return value, env.now

    process = env.process(parent())
    assert process.is_alive
    assert env.run(until=process) == (42, 3)
    assert not process.is_alive


def test_waiting_for_a_process_that_has_ended_takes_no_time() -> None:
    env = Environment()

    def child() -> Any:
        yield env.timeout(1)
        return "done"

    def parent(made: simpy.Process) -> Any:
        yield env.timeout(9)
        value = yield made
        return value, env.now

    process = env.process(parent(env.process(child())))
    assert env.run(until=process) == ("done", 9)


def test_a_failing_process_fails_who_waits_for_it() -> None:
    env = Environment()

    def child() -> Any:
        yield env.timeout(1)
        raise LookupError("lost")

    def parent() -> Any:
        with pytest.raises(LookupError, match="lost"):
            yield env.process(child())
        return env.now

    assert env.run(until=env.process(parent())) == 1


@pytest.mark.parametrize("sleep", [False, True], ids=["timeout", "int"])
def test_a_failing_process_that_nobody_awaits_stops_the_run(sleep: bool) -> None:
    env = Environment()

    def process() -> Any:
        yield 1 if sleep else env.timeout(1)
        raise LookupError("lost")

    env.process(process())
    with pytest.raises(LookupError, match="lost") as caught:
        env.run()
    assert isinstance(caught.value.__cause__, LookupError)
    assert env.active_process is None


def test_yielding_nonsense_is_an_error() -> None:
    env = Environment()

    def process() -> Any:
        yield "soon"

    env.process(process())
    with pytest.raises(RuntimeError, match="whole cycles"):
        env.run()


@pytest.mark.parametrize(
    "pause",
    [lambda env: env.timeout(100), lambda env: 100, lambda env: None, lambda env: env.event()],
    ids=["timeout", "int", "parked", "event"],
)
def test_a_waiting_process_can_be_interrupted(pause: Any) -> None:
    env = Environment()
    seen: list[Any] = []

    def sleeper() -> Any:
        try:
            yield pause(env)
        except simpy.Interrupt as interrupt:
            seen.append((env.now, interrupt.cause))
        yield 2
        seen.append(env.now)
        yield env.timeout(200)
        seen.append(env.now)

    def nuisance(target: simpy.Process) -> Any:
        yield env.timeout(7)
        target.interrupt("wake up")

    env.process(nuisance(env.process(sleeper())))
    env.run()
    assert seen == [(7, "wake up"), 9, 209]


def test_an_interrupted_sleep_does_not_end_twice() -> None:
    env = Environment()
    woken: list[int] = []

    def sleeper() -> Any:
        for _ in range(2):
            try:
                yield 10
            except simpy.Interrupt:
                woken.append(-env.now)
            else:
                woken.append(env.now)
        yield 100
        woken.append(env.now)

    def nuisance(target: simpy.Process) -> Any:
        yield 4
        target.interrupt()

    env.process(nuisance(env.process(sleeper())))
    env.run()
    assert woken == [-4, 14, 114]


def test_an_interrupted_process_may_wait_for_its_event_again() -> None:
    env = Environment()

    def patient() -> Any:
        event = env.timeout(10, "at last")
        while True:
            try:
                return (yield event), env.now
            except simpy.Interrupt:
                pass

    process = env.process(patient())

    def nuisance() -> Any:
        for _ in range(3):
            yield 3
            process.interrupt()

    env.process(nuisance())
    assert env.run(until=process) == ("at last", 10)


def test_a_process_cannot_interrupt_itself_or_the_dead() -> None:
    env = Environment()

    def process() -> Any:
        with pytest.raises(RuntimeError, match="itself"):
            env.active_process.interrupt()  # type: ignore[union-attr]
        yield 1
        with pytest.raises(RuntimeError, match="itself"):
            env.active_process.interrupt()  # type: ignore[union-attr]

    made = env.process(process())
    env.run()
    with pytest.raises(RuntimeError, match="terminated"):
        made.interrupt()


def test_nobody_is_active_between_steps() -> None:
    env = Environment()

    def process() -> Any:
        assert env.active_process is made
        yield 2
        assert env.active_process is made
        try:
            yield 2
        except simpy.Interrupt:
            return env.now
        yield 3

    made = env.process(process())
    env.step()
    assert env.active_process is None
    env.step()
    assert env.now == 2
    assert env.active_process is None
    made.interrupt()
    assert env.run(until=made) == 2


def test_a_resource_serves_in_order() -> None:
    env = Environment()
    desk = simpy.Resource(env, capacity=2)
    seen: list[tuple[str, int]] = []

    def customer(name: str) -> Any:
        with desk.request() as request:
            yield request
            seen.append((name, env.now))
            yield 5

    for name in "abcde":
        env.process(customer(name))
    env.run()
    assert seen == [("a", 0), ("b", 0), ("c", 5), ("d", 5), ("e", 10)]
    assert desk.count == 0


def test_preemption_and_priorities() -> None:
    env = Environment()
    machine = simpy.PreemptiveResource(env, capacity=1)
    seen: list[Any] = []

    def job(name: str, start: int, priority: int) -> Any:
        yield start
        with machine.request(priority=priority) as request:
            yield request
            try:
                yield 10
                seen.append((name, env.now))
            except simpy.Interrupt as interrupt:
                seen.append((name, env.now, interrupt.cause.usage_since))

    env.process(job("slow", 0, 5))
    env.process(job("urgent", 3, 1))
    env.process(job("late", 4, 3))
    env.run()
    assert seen == [("slow", 3, 0), ("urgent", 13), ("late", 23)]


def test_a_store_hands_on_items() -> None:
    env = Environment()
    store = simpy.Store(env, capacity=1)
    seen: list[tuple[int, int]] = []

    def producer() -> Any:
        for item in range(3):
            yield store.put(item)

    def consumer() -> Any:
        for _ in range(3):
            yield 4
            item = yield store.get()
            seen.append((env.now, item))

    env.process(producer())
    env.process(consumer())
    env.run()
    assert seen == [(4, 0), (8, 1), (12, 2)]


def test_a_container_holds_a_level() -> None:
    env = Environment()
    tank = simpy.Container(env, capacity=10, init=2)

    def taker() -> Any:
        yield tank.get(5)
        return env.now

    def filler() -> Any:
        for _ in range(3):
            yield env.timeout(2)
            yield tank.put(1)

    process = env.process(taker())
    env.process(filler())
    env.run()
    assert process.value == 6
    assert tank.level == 0


def test_run_until_a_cycle_stops_before_what_happens_in_it() -> None:
    env = Environment()
    seen: list[int] = []

    def clock() -> Any:
        while True:
            seen.append(env.now)
            yield 2

    env.process(clock())
    env.run(until=6)
    assert (seen, env.now) == ([0, 2, 4], 6)
    env.run(until=7)
    assert (seen, env.now) == ([0, 2, 4, 6], 7)
    with pytest.raises(ValueError, match="greater"):
        env.run(until=7)


def test_run_until_an_event_that_never_happens() -> None:
    env = Environment()
    with pytest.raises(RuntimeError, match="No scheduled events left"):
        env.run(until=env.event())


def test_run_until_an_event_that_has_happened() -> None:
    env = Environment()
    event = env.timeout(3, "value")
    env.run()
    assert env.run(until=event) == "value"


def test_run_until_an_event_that_fails() -> None:
    env = Environment()

    def process() -> Any:
        yield 1
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        env.run(until=env.process(process()))


def test_step_and_peek() -> None:
    env = Environment()
    assert env.peek() == Infinity
    with pytest.raises(EmptySchedule):
        env.step()
    env.timeout(5)
    env.timeout(3)
    assert env.peek() == 3
    env.step()
    assert (env.now, env.peek()) == (3, 5)
    env.step()
    assert (env.now, env.peek()) == (5, Infinity)
    env.event().succeed()
    assert env.peek() == 5


def test_peek_sees_sleepers_and_no_dead_wake_ups() -> None:
    env = Environment()

    def sleeper() -> Any:
        yield 20
        yield None

    process = env.start(sleeper())
    assert env.peek() == 0  # its start
    env.step()
    assert env.peek() == 20
    process.wake.at(8)
    assert env.peek() == 8
    env.step()
    assert env.now == 8
    assert env.peek() == Infinity


def test_the_next_cycle_is_that_of_no_onlooker() -> None:
    env = Environment()

    def sleeper(cycles: int) -> Any:
        yield cycles
        yield None

    env.start(sleeper(5), onlooker=True)
    worker = env.start(sleeper(20))
    assert env.next_cycle() == 0  # their starts
    env.run(until=1)
    assert (env.peek(), env.next_cycle()) == (5, 20)
    worker.wake.at(8)
    assert env.next_cycle() == 8
    env.timeout(6)
    assert env.next_cycle() == 7
    env.run(until=10)
    assert env.next_cycle() == NEVER


def test_urgent_events_come_first_in_a_cycle() -> None:
    env = Environment()
    seen: list[str] = []

    def first() -> Any:
        yield 1
        env.process(started())
        seen.append("first")
        yield 1

    def second() -> Any:
        yield 1
        seen.append("second")

    def started() -> Any:
        seen.append("started")
        yield 1

    env.process(first())
    env.process(second())
    env.run()
    assert seen == ["first", "started", "second"]


def test_an_initial_cycle() -> None:
    env = Environment(100)
    assert env.now == 100
    env.timeout(5)
    env.run()
    assert env.now == 105
