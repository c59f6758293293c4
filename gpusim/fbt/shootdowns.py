"""Which accesses a shootdown overtakes, and which it has to wait for."""

from __future__ import annotations

from gpusim.fbt.purge import Purge


class Shootdowns:
    """Numbers the shootdowns, and counts the accesses that were let through, by tagged page.

    Attributes:
        number: of shootdowns so far.
    """

    def __init__(self) -> None:
        self.number = 0
        self._last: dict[int | None, int] = {None: 0}
        self._using: dict[int, int] = {}
        self._draining: dict[int, list[Purge]] = {}

    def begin(self, page: int | None) -> None:
        """A page (None: all) is shot down."""
        self.number += 1
        self._last[page] = self.number

    def overtook(self, page: int, asked: int) -> bool:
        """Whether a page was shot down after so many shootdowns."""
        if self.number == asked:
            return False
        return max(self._last.get(page, 0), self._last[None]) > asked

    def use(self, page: int) -> None:
        """An access to a page is let through."""
        self._using[page] = self._using.get(page, 0) + 1

    def end_use(self, page: int) -> list[Purge]:
        """One has ended; returns the shootdowns that waited only for it."""
        self._using[page] -= 1
        if self._using[page]:
            return []
        del self._using[page]
        return self._draining.pop(page, [])

    def wait_for(self, page: int, purge: Purge) -> None:
        """Let a shootdown wait, if need be, for accesses to a page that is not a leading one."""
        if page in self._using:
            purge.waits += 1
            self._draining.setdefault(page, []).append(purge)

    def in_flight(self) -> int:
        """Accesses that were let through and have not ended."""
        return sum(self._using.values())
