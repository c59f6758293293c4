"""Sends a stream through the process of a channel and notes what came of it."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from gpusim.config.dram import DramConfig
from gpusim.core.engine import Environment, Port, Probe
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.signals import SignalBoard
from gpusim.core.states import State
from gpusim.core.unboxed import IntList
from gpusim.files.units import Hertz
from gpusim.hardware.dram import (
    ChannelUse,
    Completion,
    DramChannel,
    IdealDramChannel,
    Waiting,
    build_dram,
)


def completion(app: int, bank: int, row: int, cycles: int) -> Completion:
    """Of a load of `app` that channel 0 served in `cycles` cycles, from cycle 10 on."""
    request = MemoryRequest(Kind.LOAD, app, 0, 0, 0, 0, 0, 1, 0, None, IntList([State.L2, 0]))
    return Completion(0, Waiting(request, bank, row, False, 1, 0), 10, 10 + cycles)


class Driven:
    """A stream ``[(cycle, address, write), ...]`` through the channels of a DRAM table.

    Args:
        depths, apps: of each request; all are data of one application if they are not given.

    Attributes:
        requests: in the order of the stream.
        answered: cycle in which each read was answered, by number.
        heard: what the probes announced.
    """

    def __init__(
        self,
        config: DramConfig,
        stream: list[tuple[int, int, bool]],
        core: int = 0,
        listen: bool = True,
        request_bytes: int = 0,
        depths: Sequence[int] = (),
        apps: Sequence[int] = (),
    ) -> None:
        self.env = Environment()
        self.apps = max(apps, default=0) + 1
        self.channels: list[DramChannel | IdealDramChannel]
        self.channels, self.mapping = build_dram(
            self.env,
            config,
            Hertz(core or config.clock),
            ChannelUse(request_bytes=request_bytes, apps=self.apps),
        )
        signals = self._board().at(range(1))
        for channel in self.channels:
            for queue in channel.queues:
                queue.attach(signals)
        self.answers: Port[MemoryRequest] = Port(self.env, "answers")
        self.answered: dict[int, int] = {}
        self.heard: list[tuple[int, ...]] = []
        if listen:
            for channel in self.channels:
                channel.on_request.listen(self._hear)
        self.requests = [
            MemoryRequest(
                Kind.WRITEBACK if write else Kind.LOAD,
                app,
                0,
                0,
                0,
                address,
                number,
                1,
                0 if write else depth,
                None,
                IntList([State.L2, 0]),
            )
            for number, ((_, address, write), depth, app) in enumerate(
                zip(stream, depths or [0] * len(stream), apps or [0] * len(stream), strict=True)
            )
        ]
        self._cycles = [cycle for cycle, _, _ in stream]
        self._source = self.env.start(self._send())
        self.answers.connect(self.env.start(self._collect()))
        self.env.run()

    def _hear(self, done: Completion) -> None:
        where = done.channel, done.bank, done.row
        times = done.accepted, done.issued, done.finished
        self.heard.append((*where, done.kind, done.app, done.depth, *times))

    def _board(self) -> SignalBoard:
        """What queues may listen to: nothing is translated here, so these signals are silent."""
        board = SignalBoard(self.env, self.apps, lambda tag: None)
        for name in ("tlb.first.miss", "tlb.first.fill", "walk.arrived", "walk.done"):
            board.offer(name, Probe())
        for channel in self.channels:
            board.offer("dram.request", channel.on_request)
        return board

    def _send(self) -> Generator[int | None, None, None]:
        for cycle, request in zip(self._cycles, self.requests, strict=True):
            if cycle > self.env.now:
                yield cycle - self.env.now
            request.return_to(self.answers)
            port = self.channels[self.mapping.channel(request.address)].requests
            port.send(request)
            while len(port):
                port.when_free(self._source.wake)
                yield None

    def _collect(self) -> Generator[int | None, None, None]:
        while True:
            while (request := self.answers.take()) is not None:
                assert request.vline not in self.answered
                self.answered[request.vline] = self.env.now
            yield self.answers.pause()

    def counter(self, name: str) -> int:
        """The sum of a counter over channels and applications."""
        names = [str(app) for app in range(self.apps)]
        rows = [row for channel in self.channels for row in channel.counter_rows(names)]
        found = [row.value for row in rows if row.name == name]
        assert found
        return sum(found)
