"""The miss path of a physical L2 bank: lines come from DRAM, and dirty ones go back there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from gpusim.core.engine import NEVER, Port, Sink
from gpusim.core.law import Law, laws_of
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.hardware.cache.array import DIRTY
from gpusim.hardware.cache.l2 import LOOKUPS, L2Bank, L2Counters, MissPath

_LOAD: Final = int(Kind.LOAD)
_WALK: Final = int(Kind.WALK)
_WRITEBACK: Final = int(Kind.WRITEBACK)
_L2: Final = int(State.L2)


class DramMisses(MissPath):
    """A miss fetches its line from DRAM; a dirty victim is written back."""

    laws: Sequence[Law] = laws_of(
        [L2Counters],
        LOOKUPS,
        Law("fills", "misses - merged", other="misses that were not merged"),
    )

    def __init__(self, bank: L2Bank, channel: Callable[[int], Port[MemoryRequest]]) -> None:
        super().__init__(bank, channel)
        self.leaving = self.unsent  # fetches always find room

    def advance(self, answering: bool) -> int:
        """Write back lines for which there was no room, which needs no answer."""
        self.send_unsent()
        return NEVER

    def way(self, request: MemoryRequest) -> Sink:
        return self.channel(request.address)

    def send(self, request: MemoryRequest, way: Sink) -> None:
        request.path.append(self.bank.fills)
        way.send(request, self.bank.latency)

    def found(self, request: MemoryRequest, name: int) -> None:
        self.bank.arrays[request.app].mark_dirty(name)

    def fill(self, filled: MemoryRequest) -> None:
        bank = self.bank
        line = filled.address >> bank.shift
        dirty = False
        for waiter in bank.release(line):
            if waiter.kind != _LOAD and waiter.kind != _WALK:
                dirty = True
            bank.answer(waiter, 0)
        victim = bank.arrays[filled.app].fill(line, bank.whole, dirty)
        if victim is not None and victim[1] & DIRTY:
            self._evict(victim[0], filled.app)

    def _evict(self, line: int, app: int) -> None:
        """Send a dirty line to DRAM; it counts for the application whose fill evicted it."""
        bank = self.bank
        bank.counters[app].writebacks += 1
        trail = [_L2, bank.env._now]
        address = line << bank.shift
        request = MemoryRequest(_WRITEBACK, app, 0, -1, 0, address, -1, bank.whole, 0, None, trail)
        self.unsent.append(request)
        self.send_unsent()

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        return len(self.unsent)

    def waiting(self) -> Iterator[str]:
        name, mshrs = self.bank.name, self.bank.mshrs
        if mshrs:
            yield f"{name}: {len(mshrs)} of {mshrs.capacity} MSHRs wait for DRAM"
        if self.unsent:
            yield f"{name}: {len(self.unsent)} write-backs wait for DRAM"
