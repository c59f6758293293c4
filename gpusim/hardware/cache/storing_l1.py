"""L1 caches that do something else with a store than to change a line that is there.

All are write-through: every store goes on to the L2 cache.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.config.schema import L1Config
from gpusim.core.counters import count
from gpusim.core.engine import EventLoop
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.warp_program import COVERED_SHIFT, SECTORS
from gpusim.files.units import Hertz
from gpusim.hardware.cache.l1 import L1Cache

_STORE: Final = int(Kind.STORE)


@attr.s(auto_attribs=True)
class StoreCounters:
    """What stores left in one L1 cache, for one application."""

    allocated: int = count("stores that left sectors in the cache that were not there")


@mypyc_attr(allow_interpreted_subclasses=True)
class AllocatingL1Cache(L1Cache):
    """Keeps what a store writes in whole (fetch sectors of the cache); the rest it updates.

    As the L1 caches of Volta and later are modelled (M. Khairy et al., "Accel-Sim", ISCA 2020):
    write-through, with allocation of what is written.  A sector of which only some bytes are
    written could not be read; it is not kept [our choice: there it holds a place].
    """

    def __init__(
        self, env: EventLoop, index: int, config: L1Config, clock: Hertz, apps: int
    ) -> None:
        super().__init__(env, index, config, clock, apps)
        self.stored = [StoreCounters() for _ in range(apps)]

    def pass_through(self, request: MemoryRequest, keep: bool) -> None:
        super().pass_through(request, keep)
        line, kept = self.key(request), self._kept(request.sectors)
        if keep and kept & ~self.array.state(line):
            self.stored[request.app].allocated += 1
            victim = self.array.fill(line, kept)
            if victim is not None and self.on_evict.listeners:
                self.on_evict(victim[0], self.env._now)

    def _warm(self, line: int, sectors: int, kind: int) -> None:
        super()._warm(line, sectors, kind)
        if kind == _STORE and (kept := self._kept(sectors)) & ~self.array.state(line):
            self.array.fill(line, kept)

    def _kept(self, sectors: int) -> int:
        """The sectors that a store leaves here: those of fetch sectors that it writes in whole."""
        covered = sectors >> COVERED_SHIFT & SECTORS
        return covered & ~self._fetched(~covered & SECTORS) if covered else 0

    def app_counters(self, app: int) -> Iterable[object]:
        return (*super().app_counters(app), self.stored[app])


@mypyc_attr(allow_interpreted_subclasses=True)
class EvictingL1Cache(L1Cache):
    """A store takes its line away.

    As in GPGPU-Sim's caches for global memory (its manual: "write-evict"), and in the graphics L1
    cache of RDNA (AMD's RDNA white paper: a write to any line in the L1 invalidates that line).
    """

    def _store(self, line: int, sectors: int, keep: bool) -> None:
        super()._store(line, sectors, False)


STORING_L1S: Final[dict[str, type[L1Cache]]] = {
    "update": L1Cache,
    "allocate": AllocatingL1Cache,
    "evict": EvictingL1Cache,
}
"""By what they do with stores (`gpusim.config.schema.L1Config`)."""
