"""The interconnect: one network from the SMs to the L2 banks, one back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from heapq import heappop, heappush

from attrs import define

from gpusim.config.schema import CrossbarConfig
from gpusim.config.units import Hertz
from gpusim.counters import CounterRow, count, counter_rows
from gpusim.engine import NEVER, Environment, Port, Wakeable
from gpusim.request import Kind, MemoryRequest, Sink
from gpusim.states import State

_HEADER_BYTES = 8
_SECTOR_BYTES = 32


@define(slots=True)
class NetworkCounters:
    """What one network carried."""

    packets: int = count("packets delivered")
    bytes: int = count("bytes delivered, headers included", "B")
    queue_cycles: int = count("waiting for an output port, summed over packets", "cycles")


class Entrance:
    """Where one source puts its packets into a network; behaves like a port."""

    __slots__ = ("_blocked", "_free_at", "_inside", "_network")

    def __init__(self, network: Network) -> None:
        self._network = network
        self._inside = 0
        self._free_at = 0
        self._blocked: list[Wakeable] = []

    @property
    def full(self) -> bool:
        """Whether the source has to wait: its packets fill the queue."""
        return self._inside >= self._network.queue

    def when_free(self, sender: Wakeable) -> None:
        """Wake `sender` when one of this source's packets leaves the network."""
        if sender not in self._blocked:
            self._blocked.append(sender)

    def send(self, request: MemoryRequest, extra_cycles: int = 0) -> None:
        """Put in a packet; the entrance passes `bytes_per_cycle`, one packet after the other."""
        network = self._network
        output, size = network.packet(request)
        network.counters.bytes += size
        flits = -(-size // network.flit_bytes)
        start = network.env._now + extra_cycles
        if start < self._free_at:
            start = self._free_at
        self._free_at = start + flits
        self._inside += 1
        network.carry(start + flits - 1 + network.latency, request, self, flits, output)

    def left(self) -> None:
        """One of this source's packets has left the network."""
        self._inside -= 1
        if self._blocked:
            blocked, self._blocked = self._blocked, []
            for sender in blocked:
                sender.now()


class Network(ABC):
    """One direction of the crossbar: every entrance reaches every output port.

    A packet of *n* flits (`bytes_per_cycle` each) takes *n* cycles of its entrance and *n* of its
    output port, and arrives with its last flit `latency + n - 1` cycles after it was sent if both
    are free.  Packets for one output are delivered in the order in which they arrive there; if the
    receiver's port is full they wait, and a source whose packets fill its queue waits as well.

    Subclasses say where a packet goes and how big it is (`packet`), and hand it over.
    """

    def __init__(
        self, env: Environment, name: str, config: CrossbarConfig, clock: Hertz, sources: int,
        outputs: int,
    ) -> None:  # fmt: skip
        self.env = env
        self.name = name
        self.latency = 0 if config.ideal else config.latency.cycles(clock)
        self.queue = NEVER if config.ideal else config.queue
        self.entrances = [Entrance(self) for _ in range(sources)]
        self.counters = NetworkCounters()
        self.flit_bytes = NEVER if config.ideal else config.bytes_per_cycle
        self._under_way: list[tuple[int, int, MemoryRequest, Entrance, int, int]] = []
        self._sent = 0
        self._queues: list[deque[tuple[int, int, MemoryRequest, Entrance]]] = [
            deque() for _ in range(outputs)
        ]
        self._free_at = [0] * outputs
        self._busy: list[int] = []
        """Outputs with packets waiting, in the order in which they became so."""
        self.process = env.start(self._run())

    def carry(
        self, arrival: int, request: MemoryRequest, entrance: Entrance, flits: int, output: int
    ) -> None:
        """Take a packet that arrives at its output in cycle `arrival`."""
        self._sent += 1
        heappush(self._under_way, (arrival, self._sent, request, entrance, flits, output))
        wake = self.process.wake
        if arrival < wake.due:
            wake.at(arrival)

    def _run(self) -> Generator[int | None, None, None]:
        under_way, free_at, queues = self._under_way, self._free_at, self._queues
        while True:
            now = self.env._now
            upcoming = self._serve_queues(now) if self._busy else NEVER
            while under_way and under_way[0][0] <= now:
                _, _, request, entrance, flits, output = heappop(under_way)
                if queues[output]:
                    queues[output].append((now, flits, request, entrance))
                elif free_at[output] > now or self._full(output):
                    queues[output].append((now, flits, request, entrance))
                    self._busy.append(output)
                    upcoming = min(upcoming, self._next_try(output, now))
                else:
                    self._deliver(output, flits, request, entrance, now)
            if under_way and under_way[0][0] < upcoming:
                upcoming = under_way[0][0]
            yield None if upcoming == NEVER else upcoming - now

    def _serve_queues(self, now: int) -> int:
        """Deliver what waits and may go; returns the next cycle in which something may."""
        upcoming = NEVER
        still_busy = []
        for output in self._busy:
            queue = self._queues[output]
            while queue and self._free_at[output] <= now and not self._full(output):
                arrival, flits, request, entrance = queue.popleft()
                self.counters.queue_cycles += now - arrival
                self._deliver(output, flits, request, entrance, now)
            if queue:
                still_busy.append(output)
                upcoming = min(upcoming, self._next_try(output, now))
        self._busy = still_busy
        return upcoming

    def _next_try(self, output: int, now: int) -> int:
        """When a waiting packet may go; `NEVER` if the receiver will tell."""
        return self._free_at[output] if self._free_at[output] > now else NEVER

    def _deliver(
        self, output: int, flits: int, request: MemoryRequest, entrance: Entrance, now: int
    ) -> None:
        self._free_at[output] = now + flits
        self.counters.packets += 1
        self._hand_over(output, request)
        entrance.left()

    @abstractmethod
    def packet(self, request: MemoryRequest) -> tuple[int, int]:
        """The output that a packet goes to, and its bytes; the header rides along with data."""

    @abstractmethod
    def _full(self, output: int) -> bool:
        """Whether the receiver has no room; if so, it will wake this process."""

    @abstractmethod
    def _hand_over(self, output: int, request: MemoryRequest) -> None:
        """Give a packet to its receiver."""

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Packets under way."""
        return len(self._under_way) + sum(map(len, self._queues))

    def waiting(self) -> Iterator[str]:
        """Who waits for whom, for the watchdog."""
        for output in self._busy:
            yield f"{self.name}: {len(self._queues[output])} packets wait for output {output}"

    def counter_rows(self, component: str) -> Iterator[CounterRow]:
        """All counters, one row each."""
        return counter_rows(component, 0, "", self.counters)


class RequestNetwork(Network):
    """From the SMs to the L2 banks.

    Args:
        banks: their request ports.
        replies: their entrances into the reply network: the way back.
        bank_of: the bank of a physical address.
    """

    def __init__(
        self, env: Environment, config: CrossbarConfig, clock: Hertz, sms: int,
        banks: Sequence[Port[MemoryRequest]], replies: Sequence[Sink],
        bank_of: Callable[[int], int],
    ) -> None:  # fmt: skip
        super().__init__(env, "crossbar.requests", config, clock, sms, len(banks))
        self._banks = banks
        self._replies = replies
        self._bank_of = bank_of

    def packet(self, request: MemoryRequest) -> tuple[int, int]:
        bank = self._bank_of(request.address)
        if request.kind == Kind.LOAD:
            return bank, _HEADER_BYTES
        return bank, _SECTOR_BYTES * request.sectors.bit_count()

    def _full(self, output: int) -> bool:
        bank = self._banks[output]
        if bank.full:
            bank.when_free(self.process.wake)
            return True
        return False

    def _hand_over(self, output: int, request: MemoryRequest) -> None:
        request.trail += (State.L2, self.env._now)
        request.path.append(self._replies[output])
        self._banks[output].send(request)


class ReplyNetwork(Network):
    """From the L2 banks back to the SMs, which always take an answer."""

    def __init__(
        self, env: Environment, config: CrossbarConfig, clock: Hertz, banks: int, sms: int
    ) -> None:
        super().__init__(env, "crossbar.replies", config, clock, banks, sms)

    def packet(self, request: MemoryRequest) -> tuple[int, int]:
        if request.kind == Kind.LOAD or request.kind == Kind.ATOMIC:
            return request.sm, _SECTOR_BYTES * request.sectors.bit_count()
        return request.sm, _HEADER_BYTES

    def _full(self, output: int) -> bool:
        return False

    def _hand_over(self, output: int, request: MemoryRequest) -> None:
        request.answer()
