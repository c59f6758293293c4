"""DRAM queues: which waiting request each bank works for, and which of them comes first.

A channel has two queues, one of reads and one of writes, each filled by the same policy.  The
controller knows time and banks and asks the queue; the queue knows neither.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import insort
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from attrs import define

from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, policy
from gpusim.core.request import MemoryRequest
from gpusim.core.structures import VIRTUAL_BITS, Dimensions, Storage
from gpusim.hardware.dram.timing import Bank

RANK_BITS = 32
"""Bits of a rank that tell requests apart that were accepted in one clock."""

PRECEDENCE = 1 << 80
"""What a queue takes off the rank of a request that goes before all others."""

_rank = attrgetter("rank")


@define(slots=True)
class Served:
    """Reads that a part of a queue has served.

    Attributes:
        reads: how many.
        latency_cycles: from acceptance to the end of the data, summed over them.
    """

    reads: int = 0
    latency_cycles: int = 0


class Waiting:
    """A request that waits in a channel.

    Attributes:
        request: the request itself.
        bank: the index of its bank in the channel.
        row: its row in that bank.
        write: whether it writes.
        rank: of the requests whose next command could go in the same clock, the lowest rank goes
            first.  At first ``clock of acceptance << RANK_BITS | order``; `DramQueue.add` may
            take multiples of `PRECEDENCE` off, or add them.
        served: where its queue wants it counted when it is answered, beside the counters of its
            application; None: nowhere.
        place: the bank itself (the controller's).
        due: first clock of its column access, as far as its bank alone is concerned.
        opened: whether its row was opened for it.
        left: column accesses (bursts) still to do.
        accepted: core cycle in which it was accepted.
        first: DRAM clock of its first command, -1 before.
        outcome: what it found in its bank at its first command (`gpusim.hardware.dram.commands`).
        finished: DRAM clock in which its data ends.
    """

    __slots__ = (
        "accepted", "bank", "due", "finished", "first", "left", "opened", "outcome", "place",
        "rank", "request", "row", "served", "write",
    )  # fmt: skip

    rank: int
    due: int
    outcome: int
    finished: int

    def __init__(
        self, request: MemoryRequest, place: Bank, row: int, write: bool, left: int, accepted: int
    ) -> None:
        self.request = request
        self.place = place
        self.bank = place.index
        self.row = row
        self.write = write
        self.left = left
        self.accepted = accepted
        self.opened = False
        self.first = -1
        self.served: Served | None = None


class DramQueue(Policy, ABC):
    """The slot: a policy for the requests of one direction of one channel.

    Args of every policy: `entries`, how many may wait (a policy with queues of its own may take
    their sizes as options instead), and `banks`, how many banks the channel has.

    Attributes:
        size: requests that wait.
        changed: banks whose `best` may have changed for another reason than that a request of
            theirs was added or removed; the controller empties the list.
        reads_only: it is no policy for writes; they wait in an FR-FCFS queue.
        epoch: it watches the pressure of translation, which is counted anew every so many core
            cycles; 0: it does not.
    """

    __slots__ = ("changed", "size")

    reads_only: bool = False
    epoch: int = 0
    size: int
    changed: list[int]

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        """What it keeps in hardware; None: it does not tell."""
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


def entries_storage(entries: int, dimensions: Dimensions) -> Storage:
    """So many entries of a queue of reads: each holds a physical address."""
    offset = VIRTUAL_BITS - dimensions.page_bits
    return Storage("read queue", entries, {"address": dimensions.frame_bits + offset})


@policy(Slot.DRAM_QUEUE, "fr-fcfs")
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
        """Take it behind those of its bank that are older."""
        self.size += 1
        bank = self._banks[waiting.bank]
        if not bank or bank[-1].rank < waiting.rank:
            bank.append(waiting)
        else:
            insort(bank, waiting, key=_rank)

    def remove(self, waiting: Waiting) -> None:
        """Forget a request."""
        self.size -= 1
        self._banks[waiting.bank].remove(waiting)

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


@policy(Slot.DRAM_QUEUE, "fcfs")
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
        """Append."""
        self.size += 1
        self._waiting.append(waiting)

    def remove(self, waiting: Waiting) -> None:
        """Forget a request; the bank of the new head has work."""
        self.size -= 1
        self._waiting.remove(waiting)
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
