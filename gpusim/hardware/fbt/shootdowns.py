"""Shootdowns: which accesses one overtakes, and which it has to wait for."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.core.request import line_in_page
from gpusim.hardware.fbt.inputs import Holder
from gpusim.hardware.fbt.purge import Done, Purge, Purges, nothing
from gpusim.hardware.fbt.table import ForwardBackwardTable


class Shootdowns:
    """Numbers the shootdowns, and counts the accesses that were let through, by tagged page.

    Args:
        table: where the pages are.
        sub_shift: pages of the table in a page of memory, as a power of two.
        purges: which take pages out.

    Attributes:
        number: of shootdowns so far.
        holders: components that keep translations, in which a shootdown invalidates them.
    """

    def __init__(self, table: ForwardBackwardTable, sub_shift: int, purges: Purges) -> None:
        self.number = 0
        self.holders: Sequence[Holder] = ()
        self._table = table
        self._sub_shift = sub_shift
        self._purges = purges
        self._last: dict[int | None, int] = {None: 0}
        self._using: dict[int, int] = {}
        self._draining: dict[int, list[Purge]] = {}

    def begin(self, tag: int | None, done: Done = nothing) -> None:
        """A page (None: any page) is mapped elsewhere, or its permission is another one.

        `done` is called when no access begun before can see the old state any more.
        """
        self.number += 1
        self._last[tag] = self.number
        for holder in self.holders:
            holder.shoot_down(tag)
        counters = self._purges.counters
        counters.shootdowns += 1
        if tag is None:
            purge = self._purges.begin(list(self._table.pages()), None, done)
        else:
            first = line_in_page(tag, 0, self._sub_shift)
            names = range(first, first + (1 << self._sub_shift))
            pages = [page for name in names if (page := self._table.forward(name)) is not None]
            counters.shootdowns_filtered += not pages
            purge = self._purges.begin(pages, frozenset(names), done)
            self._wait_for(tag, purge)
        self._purges.done_with(purge)

    def overtook(self, page: int, asked: int) -> bool:
        """Whether a page was shot down after shootdown number `asked`."""
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

    def _wait_for(self, page: int, purge: Purge) -> None:
        """Let a shootdown wait, if need be, for accesses to a page that is not a leading one."""
        if page in self._using:
            purge.waits += 1
            self._draining.setdefault(page, []).append(purge)

    def in_flight(self) -> int:
        """Accesses that were let through and have not ended."""
        return sum(self._using.values())
