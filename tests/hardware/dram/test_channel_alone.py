"""One channel alone between a mock sender and a mock receiver: back-pressure, order, bursts.

GDDR5 at its own clock: a read of a closed row takes 43 clocks (controller 1, RCDRD 20, CL 20, BL
2), one of an open row 23; reads of one row follow each other by CCDL, 3.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from attrs import evolve

from gpusim.config.dram import DramConfig
from gpusim.config.dram_standards.gddr5 import GDDR5
from gpusim.core.engine import Environment, Port
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.core.unboxed import IntList
from gpusim.hardware.dram import AddressMapping, ChannelUse, DramChannel

CLOSED, OPEN, NEXT = 43, 23, 3
ROW = 1 << 15
"""Bytes from a row to the next one of its bank, with one channel."""


class Alone:
    """A channel, what is sent to it, and what it answers.

    Attributes:
        sent: cycle in which the channel's port took each request.
        answered: cycle in which each read was answered, by number.
    """

    def __init__(self, config: DramConfig = GDDR5, **use: Any) -> None:
        self.env = Environment()
        config = evolve(config, channels=1)
        mapping = AddressMapping(config)
        self.channel = DramChannel(self.env, 0, config, mapping, config.clock, ChannelUse(**use))
        self.answers: Port[MemoryRequest] = Port(self.env, "answers")
        self.answers.connect(self.env.start(self._receive()))
        self.requests: list[MemoryRequest] = []
        self.cycles: list[int] = []
        self.sent: list[int] = []
        self.answered: dict[int, int] = {}

    def read(self, cycle: int, address: int, sectors: int = 1) -> None:
        self._add(cycle, Kind.LOAD, address, sectors)

    def write(self, cycle: int, address: int, sectors: int = 1) -> None:
        self._add(cycle, Kind.WRITEBACK, address, sectors)

    def _add(self, cycle: int, kind: Kind, address: int, sectors: int) -> None:
        number, trail = len(self.requests), IntList([int(State.L2), 0])
        request = MemoryRequest(kind, 0, 0, 0, 0, address, number, sectors, 0, None, trail)
        request.return_to(self.answers)
        self.requests.append(request)
        self.cycles.append(cycle)

    def run(self) -> dict[int, int]:
        """Send all in order, each when its port has room; when reads were answered."""
        self.sender = self.env.start(self._send())
        self.env.run()
        assert not self.channel.in_flight()
        return self.answered

    def _send(self) -> Generator[int | None, None, None]:
        port = self.channel.requests
        for cycle, request in zip(self.cycles, self.requests, strict=True):
            while cycle > self.env.now:
                yield cycle - self.env.now
            while port.full:
                port.when_free(self.sender.wake)
                yield None
            port.send(request)
            self.sent.append(self.env.now)

    def _receive(self) -> Generator[int | None, None, None]:
        while True:
            while (request := self.answers.take()) is not None:
                self.answered[request.vline] = self.env.now
            yield self.answers.pause()

    def count(self, name: str) -> int:
        rows = self.channel.counter_rows(["alone"])
        return sum(row.value for row in rows if row.name == name)


def test_reads_of_a_closed_and_of_an_open_row() -> None:
    alone = Alone()
    alone.read(10, 0)
    alone.read(500, 64)
    assert alone.run() == {0: 10 + CLOSED, 1: 500 + OPEN}
    assert (alone.count("row_misses"), alone.count("row_hits")) == (1, 1)


def test_a_write_is_posted_and_a_read_of_it_finds_its_data_in_the_queue() -> None:
    alone = Alone()
    alone.read(0, ROW)  # keeps the bank busy
    alone.write(1, 0)
    alone.read(2, 0)
    answered = alone.run()
    assert set(answered) == {0, 2}
    assert answered[2] < answered[0]
    assert (alone.count("forwarded"), alone.count("writes")) == (1, 1)


def test_a_full_queue_holds_up_the_port_and_a_full_port_its_sender() -> None:
    """One read in the queue and one in the port.

    A read leaves the queue with its first command: the first one when its row is opened, in clock
    1, the second with its column command, a CCDL after that of the first, in clock 21 + 3.
    """
    alone = Alone(evolve(GDDR5, read_queue=1), depth=1)
    for number in range(4):
        alone.read(0, 64 * number)
    assert alone.run() == {number: CLOSED + NEXT * number for number in range(4)}
    assert alone.sent == [0, 0, 1, 24]


def test_reads_of_one_row_follow_each_other() -> None:
    alone = Alone()
    for number in range(4):
        alone.read(0, 64 * number)
    assert alone.run() == {number: CLOSED + NEXT * number for number in range(4)}


def test_a_request_of_sectors_moves_the_bursts_that_they_lie_in() -> None:
    """Bursts of 64 bytes: sectors 0 and 1 lie in one, 0 and 2 in two."""
    alone = Alone(
        evolve(GDDR5, mapping="row bank bank-group column channel column:1"),
        request_bytes=128,
        sectored=True,
    )
    for cycle, sectors in ((0, 0b0001), (500, 0b0011), (1000, 0b0101)):
        alone.read(cycle, 0, sectors)
    assert alone.run() == {0: CLOSED, 1: 500 + OPEN, 2: 1000 + OPEN + NEXT}
    assert alone.count("data_read_bytes") == 64 + 64 + 128
