"""Requests of single sectors: what they move, and which of them find their data in a write."""

from __future__ import annotations

from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.warp_program import COVERED_SHIFT, SECTOR_BYTES, SECTORS
from gpusim.hardware.dram.counters import DramCounters
from gpusim.hardware.dram.read_write_queues import ReadWriteQueues


class SectorBursts:
    """The bursts that the sectors of a request lie in; a burst that is touched is moved whole.

    Args:
        burst: bytes of a burst, a power of two.
    """

    def __init__(self, burst: int) -> None:
        self._burst = burst
        sectors = max(burst // SECTOR_BYTES, 1)
        bursts = SECTOR_BYTES * sectors // burst
        group = (1 << sectors) - 1
        groups = [group << first for first in range(0, SECTORS.bit_length(), sectors)]
        self._bursts = [
            bursts * sum(1 for one in groups if one & mask) for mask in range(SECTORS + 1)
        ]

    def take_in(self, request: MemoryRequest, counters: DramCounters) -> int:
        """How many bursts a request moves, which are counted."""
        bursts = self._bursts[request.sectors & SECTORS]
        moved = bursts * self._burst
        if request.kind == Kind.WRITEBACK:
            counters.write_bytes += moved
        elif request.depth > 0:
            counters.walk_read_bytes += moved
        else:
            counters.data_read_bytes += moved
        return bursts


class SectoredQueues(ReadWriteQueues):
    """A read finds its data in waiting writes if they write all of its sectors.

    A sector of which a write has only some bytes counts like any other [our choice], unless the
    write tells so (`gpusim.hardware.cache.written_bytes`).
    """

    def _finds(self, read: MemoryRequest) -> bool:
        written = self._written
        return all(sector in written for sector in _sectors(read))

    def _note(self, write: MemoryRequest) -> None:
        for sector in _sectors(write):
            self._count(sector)

    def _forget(self, write: MemoryRequest) -> None:
        for sector in _sectors(write):
            self._uncount(sector)


def _sectors(request: MemoryRequest) -> list[int]:
    """Numbers of the sectors of a request, counted from address 0; of a write, the whole ones."""
    first = request.address // SECTOR_BYTES
    sectors = request.sectors & ~(request.sectors >> COVERED_SHIFT)
    return [first + i for i in range(SECTORS.bit_length()) if sectors >> i & 1]
