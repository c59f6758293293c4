"""Page-table reads that miss an L2 bank whose other lines have virtual names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpusim.core.request import MemoryRequest
from gpusim.core.states import State
from gpusim.core.unboxed import pair
from gpusim.core.warp_program import SECTOR_COUNTS
from gpusim.hardware.cache.fetches import Fetches

if TYPE_CHECKING:
    from gpusim.hardware.cache.l2 import L2Bank
    from gpusim.hardware.cache.translated_misses import TranslatedMisses

PHYSICAL: Final = 1 << 60
"""Mark of the name of a line that has a physical one: no address space has this number."""
_L2: Final = int(State.L2)


class TableMisses:
    """Fetches lines of page tables.

    Walkers know physical addresses only: lines of tables are named by these, apart from the names
    of address spaces, and are fetched without a translation.  They are never dirty.

    Reads wait beside the bank's MSHRs and go ahead of data that has to wait [our choice]: a bank
    whose MSHRs all wait for translations would wait for itself if walks had to wait for them.

    Args:
        misses: of the lines with virtual names, at the same bank.
    """

    def __init__(self, misses: TranslatedMisses) -> None:
        self._misses = misses
        self._bank: L2Bank = misses.bank
        self._fetches = Fetches()

    def miss(self, request: MemoryRequest, line: int, missing: int) -> bool:
        """Take a read that misses sectors, or make it wait at the bank (False)."""
        bank = self._bank
        fetch = self._fetches.lacking(line, missing)
        way = self._misses.channel.port(request.address)
        if fetch and way.full:
            return bank.wait_for(way, request)
        bank.mshrs.join(line, request)
        if fetch:
            bringer = self._bringer(request, fetch)
            self._fetches.begin(line, fetch, bringer)
            self._misses.counters[request.app].table_fetches += 1
            self._misses.sectors[request.app].sectors_fetched += SECTOR_COUNTS[fetch]
            bringer.return_to(bank.fills)
            way.send(bringer, bank.latency)
        else:
            bank.counters[request.app].merged += 1
        self._fetches.wait(line, missing, request, bank.env._now)
        return True

    def _bringer(self, request: MemoryRequest, sectors: int) -> MemoryRequest:
        """What DRAM is asked for: the read itself, or some sectors of its line."""
        lines = self._bank.lines
        if not lines.sectored:
            return request
        return MemoryRequest(
            request.kind,
            request.app,
            request.asid,
            request.sm,
            request.tag,
            request.address >> lines.shift << lines.shift,
            -1,
            sectors,
            request.depth,
            request.access,
            pair(_L2, self._bank.env._now),
        )

    def fill(self, filled: MemoryRequest) -> None:
        """Sectors have come: keep them, and answer the reads that have all they waited for."""
        bank, app = self._bank, filled.app
        line = PHYSICAL | filled.address >> bank.lines.shift
        came, ready, still = self._fetches.arrive(line, filled)
        victim = bank.lines.keep(line, came, app)
        bank.release(line)
        if still:
            bank.mshrs.keep(line, still)
        for request in ready:
            bank.answer(request, 0)
        if victim[1]:
            self._misses.leave(victim, app)
