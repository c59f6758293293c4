"""DRAM queues: which waiting request each bank works for, and which of them comes first.

A channel has two queues, one of reads and one of writes, each filled by the same policy.  The
controller knows time and banks and asks the queue; the queue knows neither.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from mypy_extensions import mypyc_attr

from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.request import MemoryRequest
from gpusim.core.structures import VIRTUAL_BITS, Dimensions, Storage
from gpusim.core.unboxed import take_out
from gpusim.hardware.dram.waiting import Waiting


@mypyc_attr(allow_interpreted_subclasses=True)
class DramQueue(Policy):
    """The slot: a policy for the requests of one direction of one channel.

    Args of every policy: `entries`, how many may wait (a policy with queues of its own may take
    their sizes as options instead), and `banks`, how many banks the channel has.

    Attributes:
        size: requests that wait.
        changed: banks whose `best` may have changed for another reason than that a request of
            theirs was added or removed; the controller empties the list.
        reads_only: it is no policy for writes; they wait in an FR-FCFS queue.
        epoch: core cycles after which the pressure of translation, which it watches, is counted
            anew; 0: it does not watch it.
    """

    __slots__ = ("changed", "size")

    reads_only: ClassVar[bool] = False
    epoch: int = 0
    size: int
    changed: list[int]

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        """The storage that it needs in hardware; None: not stated."""
        return None

    def counters(self) -> Iterator[Any]:
        """Counters of its own, beside the channel's: attrs instances made with `count`."""
        yield from ()

    @abstractmethod
    def full(self, request: MemoryRequest) -> bool:
        """Whether `request` has to wait outside."""

    @abstractmethod
    def add(self, waiting: Waiting, now: int) -> None:
        """Take a request in at DRAM clock `now`."""

    @abstractmethod
    def remove(self, waiting: Waiting) -> None:
        """Let a request go: its row was opened, or its last column access is done."""

    @abstractmethod
    def best(self, bank: int, row: int) -> Waiting | None:
        """The request that `bank` works for while `row` is open in it (-1: none is).

        If it lies in that row, its column access is next, and the row is protected; otherwise the
        bank is precharged and activated for it, and the answer is the same for a closed row.
        """

    @abstractmethod
    def requests(self) -> list[Waiting]:
        """All requests that wait."""


open_slot(Slot.DRAM_QUEUE, DramQueue, "entries", "banks")


def entries_storage(entries: int, dimensions: Dimensions) -> Storage:
    """The entries of a queue of reads: each holds a physical address."""
    offset = VIRTUAL_BITS - dimensions.page_bits
    return Storage("read queue", entries, {"address": dimensions.frame_bits + offset})


@mypyc_attr(allow_interpreted_subclasses=True)
class FrFcfs(DramQueue):
    """First ready, first come, first served (Rixner et al., ISCA 2000).

    Row hits go first, then the oldest.  A waiting row hit protects its row from being closed.
    """

    __slots__ = ("_banks", "_entries")

    def __init__(self, entries: int, banks: int) -> None:
        self.size = 0
        self.changed: list[int] = []
        self._entries = entries
        self._banks: list[list[Waiting]] = [[] for _ in range(banks)]

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        return [entries_storage(self._entries, dimensions)]

    def full(self, request: MemoryRequest) -> bool:
        """Whether the queue is full; all requests are alike."""
        return self.size >= self._entries

    def add(self, waiting: Waiting, now: int) -> None:
        """Take a request in behind the older ones of its bank."""
        self.size += 1
        bank, rank = self._banks[waiting.bank], waiting.rank
        place = len(bank)
        while place and bank[place - 1].rank > rank:
            place -= 1
        bank.insert(place, waiting)

    def remove(self, waiting: Waiting) -> None:
        """Forget a request."""
        self.size -= 1
        take_out(self._banks[waiting.bank], waiting)

    def best(self, bank: int, row: int) -> Waiting | None:
        """The oldest row hit of the bank, else its oldest request."""
        waiting = self._banks[bank]
        if row >= 0:
            for one in waiting:
                if one.row == row:
                    return one
        return waiting[0] if waiting else None

    def requests(self) -> list[Waiting]:
        """All requests, by bank."""
        return [one for bank in self._banks for one in bank]


register_policy(Slot.DRAM_QUEUE, "fr-fcfs", FrFcfs)


@mypyc_attr(allow_interpreted_subclasses=True)
class FcfsOfBanks(FrFcfs):
    """First come, first served within each bank, all of which get commands; no policy by itself."""

    __slots__ = ()

    def best(self, bank: int, row: int) -> Waiting | None:
        """The oldest of the bank."""
        waiting = self._banks[bank]
        return waiting[0] if waiting else None


@mypyc_attr(allow_interpreted_subclasses=True)
class Fcfs(DramQueue):
    """First come, first served: only the oldest request's bank gets commands.

    The next one may start (its precharge, too) once the oldest one's row is open for it.
    """

    __slots__ = ("_entries", "_waiting")

    def __init__(self, entries: int, banks: int) -> None:
        self.size = 0
        self.changed: list[int] = []
        self._entries = entries
        self._waiting: list[Waiting] = []

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        return [entries_storage(self._entries, dimensions)]

    def full(self, request: MemoryRequest) -> bool:
        """Whether the queue is full; all requests are alike."""
        return self.size >= self._entries

    def add(self, waiting: Waiting, now: int) -> None:
        """Take a request in behind all others."""
        self.size += 1
        self._waiting.append(waiting)

    def remove(self, waiting: Waiting) -> None:
        """Forget a request; the bank of the new head has work."""
        self.size -= 1
        take_out(self._waiting, waiting)
        if self._waiting:
            self.changed.append(self._waiting[0].bank)

    def best(self, bank: int, row: int) -> Waiting | None:
        """The oldest of all requests, if it is this bank's."""
        if self._waiting and self._waiting[0].bank == bank:
            return self._waiting[0]
        return None

    def requests(self) -> list[Waiting]:
        """All requests, the oldest first."""
        return list(self._waiting)


register_policy(Slot.DRAM_QUEUE, "fcfs", Fcfs)
