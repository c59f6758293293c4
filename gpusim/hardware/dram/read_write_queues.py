"""The two queues of a channel, of reads and of writes, and which of them is served."""

from __future__ import annotations

from math import ceil

from gpusim.config.dram import DramConfig
from gpusim.core.registry import Slot, find_policy
from gpusim.core.request import MemoryRequest
from gpusim.core.unboxed import IntDict
from gpusim.hardware.dram.queue import DramQueue, FrFcfs
from gpusim.hardware.dram.waiting import Waiting


class ReadWriteQueues:
    """Reads and writes that wait in a channel; one of the two queues is served at a time.

    Writes are served from the mark `DramConfig.drain_high` on, or when there are no reads, down to
    the mark `DramConfig.drain_low` (write drain).

    Args:
        config: the DRAM table.
        banks: how many the channel has.

    Attributes:
        reads, writes: the queues.
        served: the one of them that is served.
        draining: whether that is the queue of writes.
    """

    __slots__ = ("_high", "_low", "_written", "draining", "reads", "served", "writes")

    def __init__(self, config: DramConfig, banks: int) -> None:
        policy = find_policy(Slot.DRAM_QUEUE, config.scheduler.policy)
        options = config.scheduler.options
        self.reads: DramQueue = policy(config.read_queue, banks, **options)
        self.writes: DramQueue = (
            FrFcfs(config.write_queue, banks)
            if self.reads.reads_only
            else policy(config.write_queue, banks, **options)
        )
        self.served: DramQueue = self.reads
        self.draining = False
        self._high = int(config.drain_high * config.write_queue) + 1
        self._low = ceil(config.drain_low * config.write_queue) - 1
        self._written: IntDict[int] = IntDict()
        """How many writes of a place wait."""

    def add(self, waiting: Waiting, now: int) -> bool:
        """Take a request into its queue at DRAM clock `now`.

        Returns:
            False for a read of what a waiting write is about to write, which need not wait.
        """
        if waiting.write:
            self.writes.add(waiting, now)
            self._note(waiting.request)
        elif self._finds(waiting.request):
            return False
        else:
            self.reads.add(waiting, now)
        return True

    def remove(self, waiting: Waiting) -> None:
        """Let a request go: its row was opened, or its last column access is done."""
        if not waiting.write:
            self.reads.remove(waiting)
            return
        self.writes.remove(waiting)
        self._forget(waiting.request)

    def _finds(self, read: MemoryRequest) -> bool:
        """Whether waiting writes write all that a read wants: its address."""
        return read.address in self._written

    def _note(self, write: MemoryRequest) -> None:
        """Count the address of a write that begins to wait."""
        self._count(write.address)

    def _forget(self, write: MemoryRequest) -> None:
        """Take the address of a write out of the count: it waits no longer."""
        self._uncount(write.address)

    def _count(self, place: int) -> None:
        """One more write of a place waits."""
        self._written[place] = self._written.get(place, 0) + 1

    def _uncount(self, place: int) -> None:
        """One less does."""
        if self._written[place] == 1:
            del self._written[place]
        else:
            self._written[place] -= 1

    def turn_is_due(self) -> bool:
        """Whether the other queue has to be served now."""
        if self.draining:
            return self.writes.size <= self._low and self.reads.size > 0
        return self.writes.size >= self._high or not self.reads.size

    def turn(self) -> None:
        """Serve the other queue."""
        self.draining = not self.draining
        self.served = self.writes if self.draining else self.reads
