"""Sectors of an L2 bank that several stores write, part by part, until all bytes are there."""

from __future__ import annotations

import attr

from gpusim.core.counters import count
from gpusim.core.warp_program import (
    BYTES_SHIFT,
    COVERED_SHIFT,
    SECTOR_BYTES,
    SECTORS,
    WHOLE_SECTOR,
)


@attr.s(auto_attribs=True, eq=False, repr=False)
class ByteCounters:
    """What only a bank with byte masks counts, for one application."""

    completed: int = count("sectors of which stores wrote all bytes, but no single one did")


class WrittenBytes:
    """Which bytes have been written of the sectors of a bank that cannot be read.

    A sector all of whose bytes stores have written can be read like one that a single store
    covers.  Until then a load of any of its bytes fetches it, even of bytes that are there: an L1
    cache takes whole sectors [our choice].

    Args:
        apps: number of applications, for counters.
        covered: by mask of 32-byte sectors, those of the bank's sectors that it fills.

    Attributes:
        counters: by application.
    """

    def __init__(self, apps: int, covered: list[int]) -> None:
        self.counters = [ByteCounters() for _ in range(apps)]
        self._covered = covered
        self._bytes: dict[int, int] = {}
        """By line: written bytes, a bit each, of its sectors that are written in part."""

    def store(self, line: int, state: int, written: int, place: int, app: int) -> int:
        """Note what a store writes of a line; returns the sectors that can be read thereafter.

        Args:
            line: name of the line.
            state: of the line before the store; 0: it is not there.
            written: the masks of the store, as `MemoryRequest.sectors`.
            place: sector of the line at which these begin.
            app: index of the application.
        """
        covered = (written >> COVERED_SHIFT & SECTORS) << place
        there = written >> BYTES_SHIFT << place * SECTOR_BYTES | _bytes_of(covered)
        if state:
            there |= self._bytes.get(line, 0) | _bytes_of(state & SECTORS)
        readable = self._covered[_whole_sectors(there)]
        alone = self._covered[covered] | state & SECTORS
        self.counters[app].completed += (readable & ~alone).bit_count()
        self._note(line, there & ~_bytes_of(readable))
        return readable

    def came(self, line: int, sectors: int) -> None:
        """Some sectors of a line can be read now."""
        if line in self._bytes:
            self._note(line, self._bytes[line] & ~_bytes_of(sectors))

    def forget(self, line: int) -> None:
        """A line is gone."""
        self._bytes.pop(line, None)

    def _note(self, line: int, written: int) -> None:
        if written:
            self._bytes[line] = written
        else:
            self._bytes.pop(line, None)


def _bytes_of(sectors: int) -> int:
    """A bit for each byte of some sectors."""
    found = 0
    for sector in range(COVERED_SHIFT):
        if sectors >> sector & 1:
            found |= WHOLE_SECTOR << sector * SECTOR_BYTES
    return found


def _whole_sectors(written: int) -> int:
    """The sectors all of whose bytes are among the written ones."""
    found = 0
    for sector in range(COVERED_SHIFT):
        if written >> sector * SECTOR_BYTES & WHOLE_SECTOR == WHOLE_SECTOR:
            found |= 1 << sector
    return found
