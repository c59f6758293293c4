"""The crossbar against packets that are timed one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.schema import CrossbarConfig
from gpusim.core.engine import Environment
from gpusim.core.interfaces import Packets
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.unboxed import IntList
from gpusim.files.units import Hertz, cycles
from gpusim.hardware.crossbar import Network, NetworkSite, ToBanks, ToSms, Ways
from tests.examples import examples

CLOCK = Hertz(1_000_000_000)


def packet(number: int, kind: Kind = Kind.LOAD, sectors: int = 1) -> MemoryRequest:
    return MemoryRequest(kind, 0, 0, 0, 0, number, 0, sectors, 0, None, IntList([0, 0]))


class Alike(Packets):
    """All go to one link, and are of one size."""

    def __init__(self, size: int) -> None:
        self._size = size

    def link(self, request: MemoryRequest) -> int:
        return 0

    def size(self, request: MemoryRequest) -> int:
        return self._size


class Scripted(Packets):
    """The address of a packet is its number in a script."""

    def __init__(self, script: list[tuple[int, ...]]) -> None:
        self._script = script

    def link(self, request: MemoryRequest) -> int:
        return self._script[request.address][2]

    def size(self, request: MemoryRequest) -> int:
        return 32 * self._script[request.address][3]


sends = st.lists(
    st.tuples(
        st.integers(0, 4),  # cycles since the one before
        st.integers(0, 2),  # source
        st.integers(0, 2),  # link
        st.integers(1, 5),  # flits
        st.integers(0, 6),  # extra cycles
    ),
    min_size=1,
    max_size=30,
)


three = st.lists(st.integers(0, 9), min_size=3, max_size=3)
distances = st.none() | st.lists(three, min_size=3, max_size=3)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.integers(0, 9),
    st.booleans(),
    sends,
    distances,
)
def test_every_packet_comes_out_when_it_should(
    latency: int, ideal: bool, script: list[tuple[int, ...]], longer: list[list[int]] | None
) -> None:
    env = Environment()
    site = NetworkSite(
        env, "network", CrossbarConfig(cycles(latency), 32, queue=1000, ideal=ideal), CLOCK
    )
    network = Network(
        site,
        Ways(3, 3, longer=longer),
        Scripted(script),
    )
    out: list[list[tuple[int, int]]] = [[], [], []]

    def sender() -> Any:
        for number, (gap, source, _, _, extra) in enumerate(script):
            yield gap
            network.entrances[source].send(packet(number), extra)

    def receiver(index: int) -> Any:
        link = network.links[index]
        while True:
            while link.ready <= env.now:
                out[index].append((env.now, link.take().address))
            yield link.ready - env.now if link.queue else None

    env.start(sender())
    for index, link in enumerate(network.links):
        link.connect(env.start(receiver(index)))
    env.run()

    now = 0
    entrance_free = [0, 0, 0]
    arrivals: list[tuple[int, int]] = []
    for number, (gap, source, to, flits, extra) in enumerate(script):
        now += gap
        if ideal:
            arrivals.append((now + extra, number))
            continue
        start = max(now + extra, entrance_free[source])
        entrance_free[source] = start + flits
        far = longer[source][to] if longer else 0
        arrivals.append((start + flits - 1 + latency + far, number))
    for index in range(3):
        free = 0
        expected = []
        for arrival, number in sorted(a for a in arrivals if script[a[1]][2] == index):
            taken = max(arrival, free)
            free = taken + (0 if ideal else script[number][3])
            expected.append((taken, number))
        assert out[index] == expected
    assert network.in_flight() == 0
    assert network.counters.packets == len(script)
    assert network.counters.bytes == sum(32 * step[3] for step in script)


def test_a_source_waits_while_its_packets_fill_the_queue() -> None:
    env = Environment()
    site = NetworkSite(env, "network", CrossbarConfig(cycles(5), 32, queue=2), CLOCK)
    network = Network(
        site,
        Ways(2, 1),
        Alike(8),
    )
    mine, other = network.entrances
    sent: list[int] = []

    def sender() -> Any:
        for number in range(4):
            while mine.full:
                mine.when_free(process.wake)
                yield None
            mine.send(packet(number))
            sent.append(env.now)

    def receiver() -> Any:
        link = network.links[0]
        while True:
            if link.ready <= env.now:
                link.take()
            yield link.ready - env.now if link.queue else None

    process = env.start(sender())
    network.links[0].connect(env.start(receiver()))
    env.run(until=1)
    assert (mine.full, other.full) == (True, False)
    assert network.in_flight() == 2
    assert list(network.waiting()) == ["network: 2 packets on their way to output 0"]
    env.run()
    assert sent == [0, 0, 5, 6]  # the first two come out in 5 and 6


def test_packet_sizes() -> None:
    two = 0b0101
    asks, answers = ToBanks(shift=7, links=1), ToSms(first=0)
    to_l2 = {kind: asks.size(packet(0, kind, two)) for kind in Kind if kind < Kind.WALK}
    back = {kind: answers.size(packet(0, kind, two)) for kind in Kind if kind < Kind.WALK}
    assert to_l2 == {Kind.LOAD: 8, Kind.STORE: 64, Kind.ATOMIC: 64, Kind.REDUCE: 64}
    assert back == {Kind.LOAD: 64, Kind.STORE: 8, Kind.ATOMIC: 64, Kind.REDUCE: 8}


@pytest.mark.parametrize(
    ("pipelined", "flits", "expected"),
    [(False, 1, 2 / 12), (True, 1, 1.0), (True, 2, 1 / 2)],
    ids=["all count", "those that wait count", "of two flits"],
)
def test_a_pipelined_way_costs_no_bandwidth(pipelined: bool, flits: int, expected: float) -> None:
    """By Little's law: 2 packets in 12 cycles, 5 of them ahead and 7 in the network, or all."""
    env = Environment()
    site = NetworkSite(
        env, "network", CrossbarConfig(cycles(7), 32, queue=2, pipelined=pipelined), CLOCK
    )
    network = Network(
        site,
        Ways(1, 1, ahead=5),
        Alike(32 * flits),
    )
    source, link = network.entrances[0], network.links[0]
    taken: list[int] = []

    def sender() -> Any:
        for number in range(200):
            while source.full:
                source.when_free(process.wake)
                yield None
            source.send(packet(number), 5)
            yield 1

    def receiver() -> Any:
        while True:
            while link.ready <= env.now:
                link.take()
                taken.append(env.now)
            yield link.ready - env.now if link.queue else None

    process = env.start(sender())
    link.connect(env.start(receiver()))
    env.run()
    assert len(taken) == 200
    assert 100 / (taken[-1] - taken[-101]) == pytest.approx(expected, rel=0.01)
