"""The process of a DRAM channel: takes requests from its port, issues commands, answers reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from mypy_extensions import mypyc_attr

from gpusim.config.dram import DramConfig
from gpusim.core.component import Component
from gpusim.core.engine import NEVER, EventLoop, Port, Probe, Turning, TurnTaker
from gpusim.core.law import Law, laws_of
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.files.units import Hertz
from gpusim.hardware.dram.clock import ClockRatio, core_cycles
from gpusim.hardware.dram.commands import Commands
from gpusim.hardware.dram.completion import Completion
from gpusim.hardware.dram.counters import DramCounters
from gpusim.hardware.dram.mapping import AddressMapping
from gpusim.hardware.dram.queue import DramQueue
from gpusim.hardware.dram.sectors import SectorBursts
from gpusim.hardware.dram.use import ChannelUse
from gpusim.hardware.dram.waiting import CONFLICT, HIT, MISS, Waiting

_WRITEBACK: Final = int(Kind.WRITEBACK)
_DRAM_QUEUE: Final = int(State.DRAM_QUEUE)
_DRAM: Final = int(State.DRAM)


@mypyc_attr(allow_interpreted_subclasses=True)
class DramChannel(Component, Turning):
    """One channel with its controller.

    Requests come through `requests`, in order: while the queue of the first one is full, the
    requests behind it wait, too.  A request is accepted in the cycle in which there is room; its
    commands go from the next DRAM clock on.  A read is answered when its data has arrived; a
    write-back is posted: it has no answer.

    The commands of a channel can only be changed by new requests, so the process does not live
    through every command: it catches up when a request arrives, when the next data could end, and,
    while a request waits outside, when there is room for it.

    Args:
        env: the environment.
        index: of the channel.
        config: the DRAM table.
        mapping: of all channels.
        core_clock: what the environment's cycles are.
        use: what it is asked for.

    Attributes:
        on_request: announces a request whose data is known.
    """

    path = "dram"
    laws: Sequence[Law] = laws_of(
        [DramCounters],
        Law(
            "row_hits + row_misses + row_conflicts + forwarded",
            "data_reads + walk_reads + writes",
            other="reads + writes",
        ),
    )

    def __init__(
        self,
        env: EventLoop,
        index: int,
        config: DramConfig,
        mapping: AddressMapping,
        core_clock: Hertz,
        use: ChannelUse,
    ) -> None:
        self.env = env
        self.instance = index
        self.name = f"dram[{index}]"
        self.config = config
        self._trip = core_cycles(config.trip, core_clock, config.clock)
        self.requests: Port[MemoryRequest] = Port(
            env, f"{self.name}.requests", self._trip, depth=use.depth
        )
        self.on_request: Probe[[Completion]] = Probe()
        self._apps = [DramCounters() for _ in range(use.apps)]
        self._bytes = use.request_bytes or int(config.burst)
        self._bursts = self._bytes // config.burst
        self._mapping = mapping
        self._ratio = ClockRatio(core_clock, config.clock)
        self._commands = Commands(config, mapping, use.sectored, index)
        self._sectors = SectorBursts(config.burst) if use.sectored else None
        self._waits = 0
        """Core cycle in which there is room for the first request in the port."""
        self._deadline = 0
        """Core cycle before which no data ends; kept while it lies ahead, to be woken less."""
        self.process = TurnTaker(env, self)
        self.requests.connect(self.process)

    def turn(self, now: int) -> int:
        if now < self._waits:
            return self._waits
        requests, commands, ratio = self.requests, self._commands, self._ratio
        clock = -(-now * ratio.dram // ratio.core)
        commands.advance(clock)
        while requests.ready <= now and (request := requests.head()) is not None:
            if not self._accept(request, now, clock):
                break
        if commands.done:
            self._finish(now)
        if now < self._waits:
            return self._waits
        wake = NEVER
        if commands.unfinished() and (finish := commands.next_finish()) != NEVER:
            wake = -(-finish * ratio.core // ratio.dram)
            if now < self._deadline < wake:
                wake = self._deadline
            else:
                self._deadline = wake
        following = requests.ready if requests.ready > now else requests.next_cycle()
        return min(wake, following)

    def _accept(self, request: MemoryRequest, now: int, clock: int) -> bool:
        """Take in the first request of the port; False if it has to wait, until `_waits`."""
        queues, commands = self._commands.queues, self._commands
        write = request.kind == _WRITEBACK
        queue = queues.writes if write else queues.reads
        if queue.full(request):
            room = commands.advance_until_room(queue, request)
            self._waits = -(-room * self._ratio.core // self._ratio.dram)
            return False
        self.requests.take()
        request.trail.append(_DRAM_QUEUE)
        request.trail.append(now - self._trip)
        bursts = self._bursts
        if self._sectors is not None:
            bursts = self._sectors.take_in(request, self._apps[request.app])
        bank, row = self._mapping.bank_and_row(request.address)
        commands.accept(Waiting(request, bank, row, write, bursts, now), clock)
        return True

    def _finish(self, now: int) -> None:
        """Count, announce and answer the requests whose data is known."""
        core, dram = self._ratio.core, self._ratio.dram
        done, apps = self._commands.done, self._apps
        heard = bool(self.on_request.listeners)
        for waiting in done:
            request = waiting.request
            issued = -(-waiting.first * core // dram)
            finished = -(-waiting.finished * core // dram)
            counters = apps[request.app]
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
            if heard:
                self.on_request(Completion(self.instance, waiting, issued, finished, self._moved()))
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
            request.trail.append(_DRAM)
            request.trail.append(issued)
            request.answer(finished - now)
        done.clear()

    def _moved(self) -> int:
        """Bytes that each request moves; 0: those of its sectors."""
        return 0 if self._sectors is not None else self._bytes

    @property
    def queues(self) -> tuple[DramQueue, ...]:
        """The queue of reads and the queue of writes."""
        queues = self._commands.queues
        return queues.reads, queues.writes

    # -- reports ---------------------------------------------------------------------------------

    def recordable(self) -> Iterable[tuple[str, Any]]:
        return (("dram", self.on_request),)

    def app_counters(self, app: int) -> Iterable[object]:
        counters = self._apps[app]
        return (counters if self._sectors is not None else counters.with_bytes(self._bytes),)

    def shared_counters(self) -> Iterator[object]:
        """Counters of the channel, and of its queue of reads."""
        commands = self._commands
        yield commands.counters
        yield from commands.queues.reads.counters()

    def policies(self) -> Iterator[tuple[str, object]]:
        yield "dram.scheduler", self._commands.queues.reads

    def in_flight(self) -> int:
        """Requests that are not done."""
        return len(self.requests) + self._commands.unfinished()

    def waiting(self) -> Iterator[str]:
        """What it waits for, for the watchdog."""
        if self.in_flight():
            reads, writes = self.queues
            yield (
                f"{self.name}: {len(self.requests)} requests in the port, {reads.size} reads and "
                f"{writes.size} writes in the queues wait for DRAM commands"
            )
