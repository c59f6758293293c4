"""The miss path of an L2 bank: the base class of what happens to requests that miss."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import TYPE_CHECKING, Any

from mypy_extensions import mypyc_attr

from gpusim.core.engine import Port
from gpusim.core.interfaces import Route
from gpusim.core.law import Law
from gpusim.core.request import MemoryRequest
from gpusim.hardware.cache.l2_counters import SectorCounters

if TYPE_CHECKING:
    from gpusim.hardware.cache.l2 import L2Bank


@mypyc_attr(allow_interpreted_subclasses=True)
class MissPath:
    """Brings the lines that a bank misses, and takes away those that make room for them.

    The bank looks up, counts and answers; what a miss waits for, and where it goes, is up to its
    miss path.

    Args:
        bank: whose misses they are.
        channel: the DRAM channel that an address belongs to.

    Attributes:
        sectors: by application, what only a bank with sectors counts; reported by such alone.
        unsent: requests for which DRAM had no room.
        leaving: dirty lines that have not reached DRAM yet.
        second_lookups: requests of which each takes a port of the bank before those of its SMs and
            even while these have to wait: misses that look for their line again, under another
            name, or what other partitions or GPUs ask for; None: there are none.
        virtual: whether lines are named by virtual addresses.
        shared: whether other banks ask this one, and get their answers by the path of a request.
        laws: of the bank: between its counters and those of its miss path.
    """

    leaving: Sized
    second_lookups: Port[Any] | None
    laws: Sequence[Law]

    def __init__(self, bank: L2Bank, channel: Route) -> None:
        self.bank = bank
        self.channel = channel
        self.sectors = [SectorCounters() for _ in bank.counters]
        self.unsent: list[MemoryRequest] = []
        self.second_lookups = None
        self.virtual = False
        self.shared = False

    @abstractmethod
    def advance(self, answering: bool) -> int:
        """Go on with what is `unsent` or was let through, whenever the bank is woken.

        Args:
            answering: whether the bank can send answers now.

        Returns:
            when there is more to do (`NEVER`: the bank will be woken).
        """

    def send_unsent(self) -> None:
        """Send the requests for which DRAM has room, in their order."""
        unsent = self.unsent
        while unsent:
            channel = self.channel.port(unsent[0].address)
            if channel.full:
                channel.when_free(self.bank.process.wake)
                return
            channel.send(unsent.pop(0))

    @abstractmethod
    def found(self, request: MemoryRequest, name: int, wanted: int) -> None:
        """A request has found its sectors of a line; in a physical cache, only if it changes it.

        Args:
            request: it is answered by the bank.
            name: of the line.
            wanted: the sectors that it touches.
        """

    @abstractmethod
    def miss(self, request: MemoryRequest, line: int, wanted: int, missing: int) -> bool:
        """Take a request that misses sectors, or make it wait at the bank (False).

        Args:
            request: it is not counted as a miss yet.
            line: its own name of the line.
            wanted: the sectors that it touches.
            missing: the sectors that it lacks.
        """

    def replay(self, request: Any) -> None:
        """Look for the line of one of the `second_lookups`."""

    @abstractmethod
    def fill(self, filled: MemoryRequest) -> None:
        """Sectors have come: keep them, and answer the requests that have all they waited for."""

    @abstractmethod
    def in_flight(self) -> int:
        """What is not finished beside the misses in MSHRs."""

    @abstractmethod
    def waiting(self) -> Iterator[str]:
        """Lines for the watchdog: which requests wait, and for what."""

    def app_counters(self, app: int) -> Iterable[object]:
        """The miss path's counters of one application; of sectors, too, if lines have sectors."""
        lines = self.bank.lines
        if lines.sectored:
            yield self.sectors[app]
        if lines.written is not None:
            yield lines.written.counters[app]
