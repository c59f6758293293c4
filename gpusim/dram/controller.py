"""The process of a DRAM channel: takes requests from its port, issues commands, answers reads."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from gpusim.config.dram import DramConfig
from gpusim.config.units import Hertz
from gpusim.counters import CounterRow, counter_rows
from gpusim.dram.clock import ClockRatio
from gpusim.dram.commands import CONFLICT, HIT, MISS, Commands
from gpusim.dram.counters import ChannelCounters, DramCounters
from gpusim.dram.mapping import AddressMapping
from gpusim.dram.queue import DramQueue, Waiting
from gpusim.engine import NEVER, Environment, Port, Probe
from gpusim.request import Kind, MemoryRequest
from gpusim.states import State

_WRITEBACK = int(Kind.WRITEBACK)
_DRAM_QUEUE, _DRAM = int(State.DRAM_QUEUE), int(State.DRAM)


class DramChannel:
    """One channel with its controller.

    Requests come through `requests`, in order: while the queue of the first one is full, those
    behind it wait, too.  A request is accepted in the cycle in which there is room; its commands
    go from the next DRAM clock on.  A read is answered when its data has arrived; a write-back is
    posted, nobody waits for it.

    The commands of a channel can only be changed by new requests, so the process does not live
    through every command: it catches up when a request arrives, when the next data could end, and,
    while a request waits outside, when there is room for it.

    Args:
        env: the environment.
        index: of the channel.
        config: the DRAM table.
        mapping: of all channels.
        core_clock: what the environment's cycles are.
        apps: number of applications, for counters.
        request_bytes: bytes that each request moves; they lie in one row.
        depth: requests that fit into the port, in front of the queues.

    Attributes:
        on_request: announces ``(channel, bank, row, kind, app, depth, accepted, issued,
            finished)`` of a request whose data is known; the last three in core cycles.
    """

    __slots__ = (
        "_apps", "_bursts", "_bytes", "_commands", "_deadline", "_mapping", "_ratio", "_waits",
        "config", "env", "index", "name", "on_request", "process", "requests",
    )  # fmt: skip

    def __init__(
        self, env: Environment, index: int, config: DramConfig, mapping: AddressMapping,
        core_clock: Hertz, apps: int, request_bytes: int, depth: int,
    ) -> None:  # fmt: skip
        self.env = env
        self.index = index
        self.name = f"dram[{index}]"
        self.config = config
        self.requests: Port[MemoryRequest] = Port(env, f"{self.name}.requests", depth=depth)
        self.on_request: Probe[int, int, int, int, int, int, int, int, int] = Probe()
        self._apps = [DramCounters() for _ in range(apps)]
        self._bytes = request_bytes
        self._bursts = request_bytes // config.burst
        self._mapping = mapping
        self._ratio = ClockRatio(core_clock, config.clock)
        self._commands = Commands(config, mapping)
        self._waits = 0
        """Core cycle in which there is room for the first request in the port."""
        self._deadline = 0
        """Core cycle before which no data ends; kept while it lies ahead, to be woken less."""
        self.process = env.start(self._run())
        self.requests.connect(self.process)

    def _run(self) -> Generator[int | None, None, None]:
        env, requests, commands = self.env, self.requests, self._commands
        core, dram, cycle_of = self._ratio.core, self._ratio.dram, self._ratio.cycle
        while True:
            now = env._now
            if now < self._waits:
                yield self._waits - now
                continue
            clock = -(-now * dram // core)
            commands.advance(clock)
            wake = NEVER
            while (request := requests.head()) is not None:
                queue = commands.writes if request.kind == _WRITEBACK else commands.reads
                if queue.full(request):
                    self._waits = wake = cycle_of(commands.advance_until_room(queue, request))
                    break
                requests.take()
                self._accept(request, now, clock)
            if commands.done:
                self._finish(now)
            if wake == NEVER:
                if commands.unfinished() and (finish := commands.next_finish()) != NEVER:
                    wake = cycle_of(finish)
                    if now < self._deadline < wake:
                        wake = self._deadline
                    else:
                        self._deadline = wake
                if len(requests):
                    wake = min(wake, requests.next_cycle())
            yield None if wake == NEVER else wake - now

    def _accept(self, request: MemoryRequest, now: int, clock: int) -> None:
        request.trail += (_DRAM_QUEUE, now)
        commands = self._commands
        bank, row = self._mapping.bank_and_row(request.address)
        write = request.kind == _WRITEBACK
        waiting = Waiting(request, commands.banks[bank], row, write, self._bursts, now)
        commands.accept(waiting, clock)

    def _finish(self, now: int) -> None:
        """Count, announce and answer the requests whose data is known."""
        core, dram = self._ratio.core, self._ratio.dram
        done = self._commands.done
        for waiting in done:
            request = waiting.request
            issued = -(-waiting.first * core // dram)
            finished = -(-waiting.finished * core // dram)
            counters = self._apps[request.app]
            counters.queue_cycles += issued - waiting.accepted
            outcome = waiting.outcome
            if outcome == HIT:
                counters.row_hits += 1
            elif outcome == CONFLICT:
                counters.row_conflicts += 1
            elif outcome == MISS:
                counters.row_misses += 1
            else:
                counters.forwarded += 1
            if self.on_request.listeners:
                self._announce(waiting, issued, finished)
            if waiting.write:
                counters.writes += 1
                continue
            latency = finished - waiting.accepted
            if request.depth > 0:
                counters.walk_reads += 1
                counters.walk_latency_cycles += latency
            else:
                counters.data_reads += 1
                counters.data_latency_cycles += latency
            served = waiting.served
            if served is not None:
                served.reads += 1
                served.latency_cycles += latency
            request.trail += (_DRAM, issued)
            request.path.pop().send(request, finished - now)
        done.clear()

    def _announce(self, waiting: Waiting, issued: int, finished: int) -> None:
        request = waiting.request
        self.on_request(
            self.index, waiting.bank, waiting.row, request.kind, request.app, request.depth,
            waiting.accepted, issued, finished,
        )  # fmt: skip

    @property
    def queues(self) -> tuple[DramQueue, ...]:
        """Those of reads and of writes."""
        return self._commands.reads, self._commands.writes

    # -- reports ---------------------------------------------------------------------------------

    def counters(self, app_names: Sequence[str]) -> Iterator[CounterRow]:
        """All counters, by application, of the channel, and of its queue of reads."""
        for name, counters in zip(app_names, self._apps, strict=True):
            yield from counter_rows("dram", self.index, name, counters.with_bytes(self._bytes))
        commands = self._commands
        channel = ChannelCounters(
            commands.activations, commands.precharges, commands.refreshes, commands.data_clocks
        )
        for own in (channel, *commands.reads.counters()):
            yield from counter_rows("dram", self.index, "", own)

    def in_flight(self) -> int:
        """Requests that are not done."""
        return len(self.requests) + self._commands.unfinished()

    def waiting(self) -> Iterator[str]:
        """Who waits for whom."""
        if self.in_flight():
            reads, writes = self._commands.reads.size, self._commands.writes.size
            yield (
                f"{self.name}: {len(self.requests)} requests in the port, {reads} reads and "
                f"{writes} writes in the queues wait for DRAM commands"
            )
