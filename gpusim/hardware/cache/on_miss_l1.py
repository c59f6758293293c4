"""An L1 cache that takes the place of a line when it is missed, not when it arrives."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from gpusim.config.schema import L1Config
from gpusim.core.engine import EventLoop
from gpusim.core.mshr import FULL, NEW, Admission
from gpusim.core.request import MemoryRequest
from gpusim.files.units import Hertz
from gpusim.hardware.cache.l1 import L1Cache


@mypyc_attr(allow_interpreted_subclasses=True)
class OnMissL1Cache(L1Cache):
    """A miss evicts at once; until its line arrives, its place is reserved and holds nothing.

    A miss to a set of which all places are reserved waits until one of their lines has arrived.
    In the order of replacement a line counts as used when it arrives [our choice].
    """

    def __init__(
        self, env: EventLoop, index: int, config: L1Config, clock: Hertz, apps: int
    ) -> None:
        super().__init__(env, index, config, clock, apps)
        self._ways = config.ways
        self._reserved: list[set[int]] = [set() for _ in range(self.array.sets)]

    def admit(self, request: MemoryRequest, line: int) -> Admission:
        array = self.array
        reserved = self._reserved[array.set_of(line)]
        needs_place = not array.state(line) and line not in reserved
        if needs_place and len(reserved) >= self._ways:
            self.counters[request.app].stalls += 1
            return FULL
        admission = super().admit(request, line)
        if needs_place and admission == NEW:
            if array.used(line) + len(reserved) >= self._ways:
                self._evict(line)
            reserved.add(line)
        return admission

    def fill(self, filled: MemoryRequest) -> None:
        line = self.key(filled)
        reserved = self._reserved[self.array.set_of(line)]
        if line in reserved:
            reserved.remove(line)
        elif not self.array.state(line):  # another sector of it was there, and has been evicted
            self._answer(filled, line)
            return
        super().fill(filled)

    def _evict(self, line: int) -> None:
        """Make room in the set of `line`."""
        gone, _ = self.array.evict(line)
        if self.on_evict.listeners:
            self.on_evict(gone, self.env._now)
