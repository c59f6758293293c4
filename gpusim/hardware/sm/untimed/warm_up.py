"""Warm-up of TLBs and caches with the last accesses of skipped blocks, untimed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.interfaces import Behind
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.request import Kind
from gpusim.core.warp_program import SECTORS
from gpusim.hardware.sm.translation_point import TranslationPoint
from gpusim.hardware.sm.untimed.accesses import KIND_BITS, Ints, differs
from gpusim.hardware.sm.untimed.last_touches import (
    SLOT_BITS,
    LastTouches,
    last_of,
    last_uses,
    pairs,
)

Rows: TypeAlias = NDArray[np.bool_]

ROOM: Final = 2
"""How many times the capacity of a cache or TLB passes through it, of the last accesses: sets do
not fill evenly [our choice]."""

_LONG = 1 << 18
"""Lines of a log that is long, at least."""

_KINDS: Final = (1 << KIND_BITS) - 1
_LOAD: Final = int(Kind.LOAD)


class PlacedPages(Protocol):
    """Pages, as accesses without a clock place and find them."""

    def touch(self, asid: int, page: int, place: int) -> Mapping:
        """What a page of an address space is mapped to; if it is not yet, it gets its frame.

        Args:
            asid: the address space.
            page: number of the page.
            place: position of the SM that uses it, among those of its application.
        """

    def settle(self, asid: int, pages: Ints, places: Ints) -> Rows | None:
        """Let all happen that uses of pages bring with them.

        Args:
            asid: the address space.
            pages: in the order in which SMs use them; they have frames.
            places: of each, the position of the SM.

        Returns:
            which of the uses are of pages that their SM's GPU may go on using; None: all.
        """


@frozen(eq=False, repr=False)
class PassageSite:
    """Where the accesses of an application pass in a machine.

    Attributes:
        app, asid: index and address space of the application.
        points: the way of each SM through its first TLB and L1 cache.
        next_tlbs: of each SM, what is behind its first TLB, by a number.
        parts: of each SM, the partition of the L2 cache that it is near to, counted over all GPUs.
        behind: what is behind all L1 caches.
        pages: where pages lie.
        by_slot: TLBs ask for block slots.
        keeps_l1: L1 caches are not emptied at the end of a launch.
    """

    app: int
    asid: int
    points: Sequence[TranslationPoint]
    next_tlbs: Sequence[int]
    parts: Sequence[int]
    behind: Behind
    pages: PlacedPages
    by_slot: bool
    keeps_l1: bool


class Passage:
    """The TLBs and caches of an application's SMs, and what is behind them."""

    def __init__(self, site: PassageSite) -> None:
        self._app = site.app
        self._asid = site.asid
        self._space = site.asid << ASID_SHIFT
        self._pages = site.pages
        self._by_slot = site.by_slot
        self._keeps_l1 = site.keeps_l1
        self._points = list(site.points)
        self._next_tlb = np.unique(site.next_tlbs, return_inverse=True)[1]
        self._behind = site.behind
        self._parts = np.array(site.parts)
        self._shift = self._points[0].page_lines_shift
        self._line_shift = self._points[0].line_shift
        self._l1 = self._points[0].l1
        self._asks = np.array([self._l1.asks(sectors) for sectors in range(SECTORS + 1)])

    def new_log(self) -> LastTouches:
        """For what is touched next."""
        l1s = len(self._points) * self._l1.capacity()
        held = ROOM * (l1s + self._behind.lines(self._line_shift, self._app))
        return LastTouches(self._shift, self._by_slot, max(2 * held, _LONG))

    def shorten(self, log: LastTouches) -> None:
        """Keep the lines of a log that caches can hold, and all pages."""
        log.keep(np.flatnonzero(self._in_l1(log) | self._in_l2(log)))

    def take(self, log: LastTouches, ended: bool) -> None:
        """Let what a log holds pass, as much as TLBs and caches can hold.

        Pages that are new get their frames in the order of their first uses.  Then everything
        passes in the order in which it was used for the last time: lines of each SM through its L1
        cache; and, in one order, pages through the TLBs and lines of all SMs through the L2 cache.

        Args:
            log: of a launch.
            ended: the launch has, so that L1 caches will be emptied, if they are.
        """
        log.join()
        if not len(log.pages):
            return
        mappings = self.map_pages(log.found)
        keeps = self._pages.settle(self._asid, log.pages, log.seats >> SLOT_BITS)
        if keeps is not None:
            mappings = self.map_pages(log.found)
        lines = log.names >> KIND_BITS
        pages, number = np.unique(lines >> self._shift, return_inverse=True)
        moved = np.array([mappings[page].delta for page in pages.tolist()]) << self._shift
        physical = lines + moved[number]
        if self._keeps_l1 or not ended:
            self._through_l1(log, lines, physical)
        small = all(one.pages == 1 for one in mappings.values())
        rows = self._in_tlbs(log) if small else np.ones(len(log.pages), dtype=bool)
        used = np.flatnonzero(rows if keeps is None else rows & keeps)
        self._through_tlbs_and_l2(log, used, physical)

    def map_pages(self, first: dict[int, int]) -> dict[int, Mapping]:
        """What pages are mapped to, each with the position of the SM that uses it first."""
        touch, asid = self._pages.touch, self._asid
        return {page: touch(asid, page, place) for page, place in first.items()}

    def _through_l1(self, log: LastTouches, lines: Ints, physical: Ints) -> None:
        rows = np.flatnonzero(self._in_l1(log))
        rows = rows[np.argsort(log.homes[rows], kind="stable")]
        homes = log.homes[rows]
        starts = np.flatnonzero(differs(homes)).tolist()
        virtual = self._points[0].virtual_l1
        asked = (lines[rows] | self._space if virtual else physical[rows]).tolist()
        sectors, kinds = log.sectors[rows].tolist(), (log.names[rows] & _KINDS).tolist()
        for first, end in zip(starts, [*starts[1:], len(rows)], strict=True):
            self._points[int(homes[first])].l1.warm(
                asked[first:end], sectors[first:end], kinds[first:end]
            )

    def _through_tlbs_and_l2(self, log: LastTouches, used: Ints, physical: Ints) -> None:
        """Pages in the rows `used`, and lines."""
        rows = np.flatnonzero(self._in_l2(log))
        names = log.names[rows]
        of: Ints | int = 0
        if self._behind.by_part:
            of = self._parts[log.homes[rows]]
            if not self._behind.stores_by_part:
                of = np.where(names & _KINDS == _LOAD, of, 0)
        last, sectors = last_uses(pairs(of, names), log.sectors[rows])
        parts = [] if isinstance(of, int) else of[last].tolist()
        kinds = names[last] & _KINDS
        asked = np.where(kinds == _LOAD, self._asks[sectors & SECTORS], sectors).tolist()
        lines, kind = physical[rows][last].tolist(), kinds.tolist()
        seats, tags = log.seats[used].tolist(), (log.pages[used] | self._space).tolist()
        shift, app, behind = self._line_shift, self._app, self._behind
        points, blocks, done = self._points, log.blocks, 0
        for number, before in enumerate(
            np.searchsorted(log.at[rows][last], log.page_at[used]).tolist()
        ):
            if before > done:
                piece = slice(done, before)
                behind.warm_lines(lines[piece], asked[piece], kind[piece], parts[piece], shift, app)
                done = before
            seat = seats[number]
            points[seat >> SLOT_BITS].tlb.warm(tags[number], blocks[seat])
        behind.warm_lines(lines[done:], asked[done:], kind[done:], parts[done:], shift, app)

    # -- what can be held --------------------------------------------------------------------------

    def _in_l1(self, log: LastTouches) -> Rows:
        """Touches that are among the last ones of their SM."""
        return _among_last(log.homes, ROOM * self._l1.capacity())

    def _in_l2(self, log: LastTouches) -> Rows:
        """Touches that are to the lines which all SMs touched last."""
        count, most = len(log.names), ROOM * self._behind.lines(self._line_shift, self._app)
        found = np.ones(count, dtype=bool)
        if count > most:
            place, starts, last = last_of(pairs(0, log.names >> KIND_BITS))
            if len(last) > most:
                used = np.repeat(last, np.diff(starts, append=count))
                found[place] = used >= np.sort(last)[-most]
        return found

    def _in_tlbs(self, log: LastTouches) -> Rows:
        """Uses of pages that are among the last ones of their SM, or the last behind its TLB."""
        homes = log.seats >> SLOT_BITS
        reach = self._points[0].tlb.reach()
        if reach is None or self._by_slot:
            return np.ones(len(homes), dtype=bool)
        found = _among_last(homes, ROOM * reach)
        found[last_of(pairs(self._next_tlb[homes], log.pages))[2]] = True
        return found


def _among_last(groups: Ints, most: int) -> Rows:
    """Which items, in order, are among the last `most` of their group."""
    order = np.argsort(groups, kind="stable")
    group = groups[order]
    after = np.cumsum(np.bincount(group))[group] - np.arange(len(group))
    found = np.empty(len(group), dtype=bool)
    found[order] = after <= most
    return found
