"""The load/store unit of a side cache, for all SMs that share it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpusim.core.component import Component
from gpusim.core.request import Kind
from gpusim.core.unboxed import IntList
from gpusim.core.warp_program import SECTOR_BYTES
from gpusim.hardware.sm.load_store_unit import LoadStoreUnit
from gpusim.hardware.sm.lsu_interfaces import Home, LsuSite, Owner
from gpusim.hardware.sm.warp import Warp, WarpAccess

_LOAD: Final = int(Kind.LOAD)
_FETCHED: Final = -1
"""Sequence number of fetches of code: they are no loads."""
_AHEAD: Final = -2
"""Sequence number of fetches ahead of need, for which no warp waits."""


class SideAccess(WarpAccess):
    """An access of a warp of one of the SMs that share a side cache.

    Attributes:
        home: its SM.
    """

    __slots__ = ("home",)

    def __init__(
        self,
        unit: SideUnit,
        home: Home,
        warp: Warp,
        sequence: int,
        now: int,
    ) -> None:
        super().__init__(unit.lsu, warp, _LOAD, sequence, now)
        self.home = home
        self.sm = home.index


class SideUnit(Component, Owner):
    """A load/store unit for loads alone, of several SMs.

    Transactions come with the lines of the L1 cache, and are cut into lines of the side cache,
    which are not longer.  A warp waits for its fetches of code and for nothing else; it waits for
    loads as its program says.

    Args:
        site: where it stands.
        path, instance: see `Component`.
        sm: number of the first SM that it serves.
        l1_line: bytes of a line of the L1 cache.
        ahead: lines of code that are fetched in advance.
    """

    def __init__(
        self, site: LsuSite, path: str, instance: int, sm: int, l1_line: int, ahead: int = 0
    ) -> None:
        config = site.config
        self.name = f"{path}[{instance}].unit"
        self.path = path
        self.instance = instance
        self.index = sm
        self.lsu = LoadStoreUnit(site, self, self.name)
        self.cache = site.l1
        self.keeps_lines = config.l1.at_launch == "keep"
        self._waiting: list[tuple[Home, Warp]] = []
        self._lines = l1_line // config.l1.line
        self._sectors = config.l1.line // SECTOR_BYTES
        self._ahead = ahead
        self._page_lines = config.memory.page // config.l1.line

    def wait_for_room(self, home: Home, warp: Warp) -> None:
        """`warp` goes on when an instruction has left the queue."""
        self._waiting.append((home, warp))

    def load(
        self, home: Home, warp: Warp, lines: IntList, sectors: list[int], sequence: int, now: int
    ) -> WarpAccess:
        """Queue a load, whose sender has asked ``lsu.full``."""
        if self._lines > 1:
            lines, sectors = self._cut(lines, sectors)
        access = SideAccess(self, home, warp, sequence, now)
        access.take(lines, sectors, 0, len(lines))
        self.lsu.accept(access)
        return access

    def fetch(self, home: Home, warp: Warp, lines: IntList, sectors: list[int], now: int) -> None:
        """Queue a fetch of code, and one of the lines after it if there is room.

        The sender has asked ``lsu.full``.
        """
        last = self.load(home, warp, lines, sectors, _FETCHED, now).lines[-1]
        ahead = min(self._ahead, self._page_lines - 1 - last % self._page_lines)
        if ahead > 0 and not self.lsu.full:
            following = IntList(range(last + 1, last + 1 + ahead))
            whole = (1 << self._sectors) - 1
            access = SideAccess(self, home, warp, _AHEAD, now)
            access.take(following, [whole] * ahead, 0, ahead)
            self.lsu.accept(access)

    def _cut(self, lines: IntList, sectors: list[int]) -> tuple[IntList, list[int]]:
        """Lines of the L1 cache as lines of this one, and their sectors."""
        each = self._sectors
        whole = (1 << each) - 1
        cut = [
            (line * self._lines + part, mask)
            for line, touched in zip(lines, sectors, strict=True)
            for part in range(self._lines)
            if (mask := touched >> part * each & whole)
        ]
        return IntList([line for line, _ in cut]), [mask for _, mask in cut]

    # -- calls from its load/store unit ----------------------------------------------------------

    def complete(self, access: WarpAccess) -> None:
        assert isinstance(access, SideAccess)
        if access.sequence == _FETCHED:
            access.home.goes_on(access.warp, access.finished_by(self.lsu.history))
            access.cause = None
        elif access.sequence != _AHEAD:
            access.home.complete(access)

    def lsu_has_room(self) -> None:
        if self._waiting:
            home, warp = self._waiting.pop(0)
            home.goes_on(warp, self.lsu.history)

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        return self.lsu.in_flight() + len(self._waiting)

    def waiting(self) -> Iterator[str]:
        yield from self.lsu.waiting()
