"""The same programs on SimPy's environment and on ours happen in the same order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import simpy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpusim.core.engine import Environment
from tests.examples import examples

Log = list[tuple[float, str]]
EVENTS = 4

events = st.integers(0, EVENTS - 1)
delays = st.integers(0, 5)
plain_step = st.one_of(
    st.tuples(st.just("sleep"), delays),
    st.tuples(st.just("fire"), events),
    st.tuples(st.just("fail"), events),
    st.tuples(st.just("await"), events),
    st.tuples(st.just("any"), delays, events),
    st.tuples(st.just("all"), delays, delays),
    st.tuples(st.just("spawn"), delays, delays),
    st.tuples(st.just("launch"), delays),
    st.tuples(st.just("launch"), delays),
    st.tuples(st.just("use"), delays),
)
programs = st.lists(st.lists(plain_step, max_size=8), min_size=1, max_size=5)
interrupting = st.lists(
    st.lists(st.one_of(plain_step, st.tuples(st.just("interrupt"), st.integers(0, 4))), max_size=8),
    min_size=2,
    max_size=5,
)


class Play:
    """One run of a random program; `sleep` makes what a process yields to sleep."""

    def __init__(self, env: simpy.Environment, sleep: Callable[[int], Any]) -> None:
        self.env = env
        self.sleep = sleep
        self.log: Log = []
        self.bells = [env.event() for _ in range(EVENTS)]
        self.desk = simpy.Resource(env)
        self.processes: list[simpy.Process] = []

    def run(self, steps: list[list[tuple[Any, ...]]], until: int | None) -> Log:
        self.processes = [
            self.env.process(self.play(f"p{index}", program)) for index, program in enumerate(steps)
        ]
        try:
            self.env.run(until=until)
        except LookupError as error:  # of a failed event that no process awaited
            self.log.append((self.env.now, f"stopped by {error}"))
        self.log.append((self.env.now, "end"))
        return self.log

    def play(self, name: str, program: list[tuple[Any, ...]]) -> Any:
        for index, step in enumerate(program):
            label = f"{name}.{index}.{step[0]}"
            self.log.append((self.env.now, label))
            try:
                yield from self.step(label, *step)
            except (simpy.Interrupt, LookupError) as error:
                self.log.append((self.env.now, f"{label}: {type(error).__name__}"))
        self.log.append((self.env.now, f"{name} ends"))
        return name

    def step(self, label: str, kind: str, *args: int) -> Any:
        env = self.env
        if kind == "sleep":
            yield self.sleep(args[0])
        elif kind == "await":
            if not self.bells[args[0]].triggered:
                yield env.any_of([self.bells[args[0]], env.timeout(20)])
            else:
                yield self.bells[args[0]]
        elif kind == "any":
            yield env.timeout(args[0]) | self.bells[args[1]]
        elif kind == "all":
            yield env.timeout(args[0]) & env.timeout(args[1])
        elif kind == "spawn":
            child = env.process(self.child(label, args[0]))
            yield self.sleep(args[1])
            self.log.append((env.now, f"{label} joins {(yield child)}"))
        elif kind == "launch" or kind == "launch":
            env.process(self.child(label, args[0]))
        elif kind == "use":
            with self.desk.request() as request:
                yield request
                yield self.sleep(args[0])
        else:
            self.act(label, kind, args[0])

    def act(self, label: str, kind: str, which: int) -> None:
        """A step that takes no time."""
        if kind == "interrupt":
            target = self.processes[which % len(self.processes)]
            if target.is_alive and target is not self.env.active_process:
                target.interrupt(label)
        elif not (bell := self.bells[which]).triggered:
            if kind == "fire":
                bell.succeed(label)
            else:
                bell.fail(LookupError(label))
                bell.defused = True

    def child(self, label: str, delay: int) -> Any:
        self.log.append((self.env.now, f"{label} child starts"))
        yield self.sleep(delay)
        self.log.append((self.env.now, f"{label} child ends"))
        return delay


def on_simpy(steps: Any, until: int | None = None) -> Log:
    env = simpy.Environment()
    return Play(env, env.timeout).run(steps, until)


def on_ours(steps: Any, until: int | None = None) -> Log:
    env = Environment()
    return Play(env, env.timeout).run(steps, until)


def with_naps(steps: Any, until: int | None = None) -> Log:
    return Play(Environment(), lambda delay: delay).run(steps, until)


@settings(max_examples=examples(150), deadline=None)
@given(interrupting, st.one_of(st.none(), st.integers(1, 12)))
def test_the_same_order_as_simpy(steps: Any, until: int | None) -> None:
    assert on_ours(steps, until) == on_simpy(steps, until)


@settings(max_examples=examples(150), deadline=None)
@given(interrupting, st.one_of(st.none(), st.integers(1, 12)))
@example([[("sleep", 1), ("spawn", 1, 1)], [("sleep", 1), ("sleep", 1)]], None)
@example([[("sleep", 1), ("launch", 1)], [("sleep", 1)]], None)  # the last thing that it does
@example([[("sleep", 1), ("launch", 1)], [("sleep", 1)]], None)  # the last thing that it does
@example([[("sleep", 5), ("sleep", 3)], [("sleep", 5)], [("sleep", 2), ("interrupt", 0)]], None)
def test_naps_are_ordered_as_timeouts_are(steps: Any, until: int | None) -> None:
    assert with_naps(steps, until) == on_simpy(steps, until)


@settings(max_examples=examples(60), deadline=None)
@given(programs)
def test_step_by_step_is_the_same_as_run(steps: Any) -> None:
    env = Environment()
    play = Play(env, lambda delay: delay)
    for index, program in enumerate(steps):
        play.processes.append(env.process(play.play(f"p{index}", program)))
    while env.peek() != simpy.core.Infinity:
        env.step()
    assert play.log == on_simpy(steps)[:-1]
