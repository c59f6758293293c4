"""Sectors of an L2 bank that several stores write, part by part, until all bytes are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import attr

from gpusim.core.counters import count
from gpusim.core.engine import Port
from gpusim.core.request import MemoryRequest
from gpusim.core.warp_program import BYTES_SHIFT, COVERED_SHIFT, SECTOR_BYTES, SECTORS
from gpusim.hardware.cache.l2 import L2Bank
from gpusim.hardware.cache.sectored_l2 import DIRTY_SHIFT, SECTOR_SHIFT, SectoredMisses

_WHOLE: Final = (1 << SECTOR_BYTES) - 1


@attr.s(auto_attribs=True)
class ByteCounters:
    """What only a bank with byte masks counts, for one application."""

    completed: int = count("sectors of which stores wrote all bytes, but no single one did")


class ByteMaskMisses(SectoredMisses):
    """`SectoredMisses` that know which bytes of a sector have been written.

    A sector all of whose bytes stores have written can be read like one that a single store
    covers.  Until then whoever reads any of it fetches it, even if the bytes he wants are there:
    an L1 cache takes whole sectors [our choice].
    """

    def __init__(
        self, bank: L2Bank, channel: Callable[[int], Port[MemoryRequest]], sector: int
    ) -> None:
        super().__init__(bank, channel, sector)
        self.completions = [ByteCounters() for _ in bank.counters]
        self._bytes: dict[int, int] = {}
        """By line: written bytes, a bit each, of its sectors that are written in part."""

    def store(self, request: MemoryRequest, line: int, wanted: int) -> None:
        place = (request.address & self._line_mask) >> SECTOR_SHIFT
        covered = (request.sectors >> COVERED_SHIFT & SECTORS) << place
        written = request.sectors >> BYTES_SHIFT << place * SECTOR_BYTES | _bytes_of(covered)
        state = self.bank.arrays[request.app].state(line)
        if state:
            written |= self._bytes.get(line, 0) | _bytes_of(state & SECTORS)
        readable = self._covered[_whole_sectors(written)]
        alone = self._covered[covered] | state & SECTORS
        counters = self.completions[request.app]
        counters.completed += (readable & ~alone).bit_count()
        self._keep(line, readable | wanted << DIRTY_SHIFT, request.app)
        self._note(line, written & ~_bytes_of(readable))

    def _keep(self, line: int, state: int, app: int) -> None:
        super()._keep(line, state, app)
        if line in self._bytes:
            self._note(line, self._bytes[line] & ~_bytes_of(state & SECTORS))

    def _note(self, line: int, written: int) -> None:
        if written:
            self._bytes[line] = written
        else:
            self._bytes.pop(line, None)

    def _evicted(self, line: int, dirty: int, state: int, app: int) -> None:
        """Those of the dirty sectors that cannot be read are told to DRAM as written in part."""
        self._bytes.pop(line, None)
        self._write_back(line, dirty | (dirty & ~state) << COVERED_SHIFT, app)

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.sectors[app], self.completions[app])


def _bytes_of(sectors: int) -> int:
    """A bit for each byte of some sectors."""
    found = 0
    for sector in range(COVERED_SHIFT):
        if sectors >> sector & 1:
            found |= _WHOLE << sector * SECTOR_BYTES
    return found


def _whole_sectors(written: int) -> int:
    """The sectors all of whose bytes are among the written ones."""
    found = 0
    for sector in range(COVERED_SHIFT):
        if written >> sector * SECTOR_BYTES & _WHOLE == _WHOLE:
            found |= 1 << sector
    return found
