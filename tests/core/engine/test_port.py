"""Ports against a list that is sorted anew for every question."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.engine import NEVER, Environment, Port
from tests.examples import examples


class NaivePort:
    """All items ever sent, as ``(arrival, serial number)``."""

    def __init__(self, latency: int, bandwidth: int, depth: int) -> None:
        self.latency, self.bandwidth, self.depth = latency, bandwidth, depth
        self.items: list[tuple[int, int]] = []
        self.takes: list[int] = []
        self.waited = 0

    def send(self, now: int, item: int, extra: int) -> None:
        self.items = sorted([*self.items, (now + self.latency + extra, item)])

    def head(self, now: int) -> int | None:
        if not self.items or self.items[0][0] > now or self.takes.count(now) >= self.bandwidth:
            return None
        return self.items[0][1]

    def take(self, now: int) -> int | None:
        item = self.head(now)
        if item is not None:
            self.waited += now - self.items.pop(0)[0]
            self.takes.append(now)
        return item

    def next_cycle(self, now: int) -> int:
        if not self.items:
            return NEVER
        return next(cycle for cycle in range(now, now + 1000) if self.head(cycle) is not None)


action = st.one_of(
    st.tuples(st.just("send"), st.integers(0, 6)),
    st.tuples(st.just("take"), st.just(0)),
    st.tuples(st.just("pass"), st.integers(1, 4)),
)


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 4), st.integers(1, 3), st.integers(1, 5), st.lists(action, max_size=40))
def test_a_port_does_what_the_naive_one_does(
    latency: int, bandwidth: int, depth: int, actions: list[tuple[str, int]]
) -> None:
    env = Environment()
    port: Port[int] = Port(env, "port", latency, bandwidth, depth)
    naive = NaivePort(latency, bandwidth, depth)
    for serial, (what, number) in enumerate(actions):
        now = env.now
        assert len(port) == len(naive.items)
        assert port.full == (len(naive.items) >= depth)
        assert port.head() == naive.head(now)
        assert port.next_cycle() == naive.next_cycle(now)
        if what == "send" and not port.full:
            port.send(serial, number)
            naive.send(now, serial, number)
        elif what == "take":
            assert port.take() == naive.take(now)
        elif what == "pass":
            env.run(until=now + number)
    assert port.taken == len(naive.takes)
    assert port.waited_cycles == naive.waited


@settings(max_examples=examples(150), deadline=None)
@given(
    st.integers(0, 5),
    st.integers(1, 3),
    st.integers(1, 4),
    st.lists(st.integers(0, 3), min_size=1, max_size=30),
)
def test_a_sender_and_a_receiver_with_back_pressure(
    latency: int, bandwidth: int, depth: int, gaps: list[int]
) -> None:
    env = Environment()
    port: Port[int] = Port(env, "port", latency, bandwidth, depth)
    sent: list[int] = []
    taken: list[tuple[int, int]] = []

    def sender() -> Any:
        for item, gap in enumerate(gaps):
            yield gap
            while port.full:
                port.when_free(process.wake)
                yield None
            port.send(item)
            sent.append(env.now)
            assert len(port) <= depth

    def receiver() -> Any:
        while True:
            while (item := port.take()) is not None:
                taken.append((env.now, item))
            yield port.pause()

    process = env.start(sender())
    port.connect(env.start(receiver()))
    env.run()

    # Every item is sent when the one before is and the one `depth` before has been taken; and
    # taken when it is there and the one `bandwidth` before went a cycle ago.
    sends: list[int] = []
    takes: list[int] = []
    for index, gap in enumerate(gaps):
        ready = (sends[-1] if sends else 0) + gap
        room = takes[index - depth] if index >= depth else 0
        sends.append(max(ready, room))
        share = takes[index - bandwidth] + 1 if index >= bandwidth else 0
        takes.append(max(sends[-1] + latency, share, takes[-1] if takes else 0))
    assert sent == sends
    assert taken == [(cycle, item) for item, cycle in enumerate(takes)]
    assert port.waited_cycles == sum(t - s - latency for s, t in zip(sends, takes, strict=True))


def test_latency_is_exact_and_same_cycle_order_is_sending_order() -> None:
    env = Environment()
    port: Port[str] = Port(env, "port", latency=3)
    seen: list[tuple[int, str]] = []

    def receiver() -> Any:
        while True:
            while (item := port.take()) is not None:
                seen.append((env.now, item))
            yield port.pause()

    port.connect(env.start(receiver()))
    port.send("late", 5)
    port.send("a")
    port.send("b")
    port.send("between", 1)
    port.send("c", 0)
    env.run()
    assert seen == [(3, "a"), (3, "b"), (3, "c"), (4, "between"), (8, "late")]


def test_connecting_late_finds_what_is_under_way() -> None:
    env = Environment()
    port: Port[str] = Port(env, "port", latency=3)
    port.send("early")
    seen: list[int] = []

    def receiver() -> Any:
        yield port.pause()
        assert port.take() == "early"
        seen.append(env.now)

    port.connect(env.start(receiver()))
    env.run()
    assert seen == [3]


def test_all_blocked_senders_are_told_once_and_in_order() -> None:
    env = Environment()
    port: Port[int] = Port(env, "port", depth=1)
    seen: list[tuple[int, str]] = []

    def sender(name: str) -> Any:
        while True:
            yield None
            seen.append((env.now, name))

    wakes = [env.start(sender(name)).wake for name in "abc"]
    env.run(until=1)
    port.send(0)
    assert port.full
    for wake in (*wakes, wakes[0]):
        port.when_free(wake)
    env.run(until=4)
    assert seen == []
    assert port.take() == 0
    env.run(until=6)
    assert seen == [(4, "a"), (4, "b"), (4, "c")]
    port.send(1)
    port.take()
    env.run(until=9)
    assert len(seen) == 3


@pytest.mark.parametrize("depth", [1, 3])
def test_items_under_way_count_as_depth(depth: int) -> None:
    port: Port[int] = Port(Environment(), "port", latency=10, depth=depth)
    for item in range(depth):
        assert not port.full
        port.send(item)
    assert port.full
    assert port.take() is None
