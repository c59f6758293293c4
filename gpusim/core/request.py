"""Memory requests and translations, which travel between components, and the trails they leave.

A **trail** is a flat list of integers, ``[state, cycle, state, cycle, ...]``: from that cycle on,
the traveller was in that state (`gpusim.core.states.State`).  A traveller that waits for another
one (a load for its translation, a merged miss for the miss before it), or whose wait something else
knows (`Traveller.refine`), notes a **link** instead of a state: -1 for its `origin`, less than that
for what it has been linked to.  `resolve_trail` follows the links, only when a trail is read.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from mypy_extensions import mypyc_attr, trait

from gpusim.core.cut import KeptPieces, Piece, Pieces, Trailed
from gpusim.core.engine import Sink
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping
from gpusim.core.unboxed import IntList


class Kind(IntEnum):
    """What a memory request does."""

    LOAD = 0
    STORE = 1
    ATOMIC = 2
    """Read-modify-write at the L2 cache; the warp waits for the old value."""
    REDUCE = 3
    """Read-modify-write at the L2 cache without a return value."""
    WALK = 4
    """A page-table entry is read."""
    WRITEBACK = 5
    """A dirty line leaves the L2 cache."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Traveller(Trailed):
    """Anything that leaves a trail and has to find its way back.

    A component that passes a traveller on names the port on which it wants the answer
    (`return_to`); the component that answers sends the traveller there (`answer`).

    Attributes:
        trail, origin: see the module's docstring.
        back: the port to which the next answer goes; None: no component waits for one.
        app: index of the application, for counters.
        asid: address space.
        tag: the page, tagged with the address space; 0 where there is none (write-backs).
        mapping: what the page table says of that page; None until it is known.
        sm: index of the SM it came from; -1 for the walkers and the L2 cache.
        kind: what it wants: a `Kind` of request, or a `Purpose` of translation.
    """

    __slots__ = (
        "_beyond",
        "_link",
        "_links",
        "app",
        "asid",
        "back",
        "kind",
        "mapping",
        "origin",
        "sm",
        "tag",
        "trail",
    )

    def __init__(
        self, app: int, asid: int, sm: int, tag: int, trail: IntList, kind: int = 0
    ) -> None:
        self.kind = kind
        self.app = app
        self.asid = asid
        self.sm = sm
        self.tag = tag
        self.trail = trail
        self.mapping: Mapping | None = None
        self.origin: Trailed | None = None
        self._link: Trailed | None = None
        self._links: list[Trailed] | None = None
        self.back: Sink | None = None
        self._beyond: list[Sink] | None = None
        """The ports to which it goes after that, the next one last."""

    def follow(self, other: Trailed, cycle: int) -> None:
        """From `cycle` on, this one waits for `other`, whose trail has the states of the wait."""
        trail = self.trail
        trail.append(-1 if other is self.origin else self._link_to(other))
        trail.append(cycle)

    def refine(self, other: Trailed) -> None:
        """From its latest state on, `other` says what states it has been in."""
        self.trail[-2] = -1 if other is self.origin else self._link_to(other)

    def linked(self, entry: int) -> Trailed:
        """What an entry of the trail that is no state stands for."""
        found: Trailed | None
        if entry == -1:
            found = self.origin
        elif entry == -2:
            found = self._link
        else:
            assert self._links is not None
            found = self._links[-3 - entry]
        assert found is not None
        return found

    def _link_to(self, other: Trailed) -> int:
        """What stands in the trail for `other`, which is not the origin."""
        if self._link is None:
            self._link = other
            return -2
        if self._links is None:
            self._links = []
        self._links.append(other)
        return -2 - len(self._links)

    def cut(self, start: int, end: int, pieces: Pieces) -> None:
        """Add the pieces of ``[start, end)``, the last one first; links are followed."""
        trail = self.trail
        for i in range(len(trail) - 2, -1, -2):
            begin = trail[i + 1] if i and trail[i + 1] > start else start
            if begin < end:
                state = trail[i]
                if state >= 0:
                    pieces.add(state, begin, end)
                else:
                    self.linked(state).cut(begin, end, pieces)
                if begin == start:
                    return
                end = begin

    def return_to(self, port: Sink) -> None:
        """The next answer goes to `port`."""
        if self.back is not None:
            if self._beyond is None:
                self._beyond = []
            self._beyond.append(self.back)
        self.back = port

    def way_back(self) -> Sink:
        """The port to which the next answer goes, which is taken off its way."""
        port = self.back
        assert port is not None
        self.back = self._beyond.pop() if self._beyond else None
        return port

    def answer(self, extra_cycles: int = 0) -> None:
        """Send this request back to the component that passed it on last."""
        port = self.back
        assert port is not None
        self.back = self._beyond.pop() if self._beyond else None
        port.send(self, extra_cycles)


@trait
@mypyc_attr(allow_interpreted_subclasses=True)
class Requester:
    """What looks up a page: a warp instruction, or a translation on its way outward.

    Attributes:
        app: index of the application.
        sm: index of the SM.
        slot: hardware slot of the thread block on its SM (TLB arrays may be partitioned by it).
        warp_slot: hardware slot of the warp on its SM.
    """

    __slots__ = ()

    app: int
    sm: int
    slot: int
    warp_slot: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Access(Requester):
    """The warp instruction behind a data request, as the memory system sees it.

    Attributes:
        coherent: whether it is a load that the L2 cache answers, whatever the L1 cache holds.
        place: number of its place in the code (`gpusim.core.code_places`); -1: not known.
    """

    __slots__ = ("coherent", "place")

    coherent: bool
    place: int

    def answered(self, request: MemoryRequest) -> None:
        """Take the answer to one of its requests, in the cycle in which it arrives."""
        raise NotImplementedError

    def stores(self) -> bool:
        """Whether it is a store, a reduction or an atomic."""
        return False


@mypyc_attr(allow_interpreted_subclasses=True)
class MemoryRequest(Traveller):
    """One coalesced transaction on its way through caches, crossbar and DRAM.

    Attributes:
        kind: what it does (`Kind`).
        address: physical byte address, aligned to the requester's line (WALK: to the entry);
            -1 until it is translated.
        vline: virtual line number (data requests).
        sectors: bit mask of the 32-byte sectors of the line that are touched; of stores also those
            that are covered (`gpusim.core.warp_program.COVERED_SHIFT`).
        depth: 0 for data, 1..n for the level of a page walk, counted from the root.
        access: the warp instruction that it is a part of; None for walks and write-backs.
        arrives, entrance, flits: while it is in a network, behind others, the cycle in which it
            arrives, the number of where it came in, and how many flits it has.
    """

    __slots__ = ("access", "address", "arrives", "depth", "entrance", "flits", "sectors", "vline")

    arrives: int
    entrance: int
    flits: int

    def __init__(
        self,
        kind: int,
        app: int,
        asid: int,
        sm: int,
        tag: int,
        address: int,
        vline: int,
        sectors: int,
        depth: int,
        access: Access | None,
        trail: IntList,
    ) -> None:
        # Traveller.__init__ written out: this is the most frequent object of a run.
        self.app = app
        self.asid = asid
        self.sm = sm
        self.tag = tag
        self.trail = trail
        self.mapping = None
        self.origin = None
        self._link = None
        self._links = None
        self.back = None
        self._beyond = None
        self.kind = kind
        self.address = address
        self.vline = vline
        self.sectors = sectors
        self.depth = depth
        self.access = access


@mypyc_attr(allow_interpreted_subclasses=True)
class VirtualRequest(MemoryRequest):
    """A transaction among virtual caches, which name lines by address space and virtual line.

    Lines that have names here are those of the L2 cache, which may be longer than the requester's.

    Attributes:
        line: its own name of the line.
        place: 32-byte sectors of the line before the first one that `sectors` is about.
        name: the name under which it looks for the line: its own, or the leading one if its SM
            knows it.
        leading: the name under which the line is cached, another one if its page is a synonym;
            -1 until it is known.
        writable: permission of its page; known with `leading`.
        cached_writable: permission of the page under which the line is cached.
        page: what the forward–backward table knows of that page, while it is used.
    """

    __slots__ = ("cached_writable", "leading", "line", "name", "page", "place", "writable")

    def __init__(
        self,
        kind: int,
        app: int,
        asid: int,
        sm: int,
        tag: int,
        address: int,
        vline: int,
        sectors: int,
        depth: int,
        access: Access | None,
        trail: IntList,
    ) -> None:
        super().__init__(kind, app, asid, sm, tag, address, vline, sectors, depth, access, trail)
        self.line = self.name = asid << ASID_SHIFT | vline
        self.place = 0
        self.leading = -1
        self.writable = True
        self.cached_writable = True
        self.page: object = None

    def lies_in(self, parts_shift: int, sectors: int) -> None:
        """Name the L2 line of which the requester's line is a part.

        Args:
            parts_shift: lines of the requester in one of the L2 cache, as a power of two.
            sectors: 32-byte sectors of a line of the requester.
        """
        self.line = self.name = page_of_line(self.line, parts_shift)
        self.place = (self.vline & (1 << parts_shift) - 1) * sectors

    @property
    def stores(self) -> bool:
        """Whether it changes the line."""
        return self.kind != Kind.LOAD


def page_of_line(line: int, lines_shift: int) -> int:
    """The tagged page of ``1 << lines_shift`` lines that a tagged line is in."""
    return line & ~VPN_MASK | (line & VPN_MASK) >> lines_shift


def line_in_page(page: int, number: int, lines_shift: int) -> int:
    """The tagged line with a number within a tagged page of ``1 << lines_shift`` lines."""
    return page & ~VPN_MASK | (page & VPN_MASK) << lines_shift | number


class Purpose(IntEnum):
    """Why a page is translated.  None is also a `Kind`: one comparison recognizes a prefetch."""

    DEMAND = 16
    """A warp instruction waits for it."""
    PREFETCH = 17
    """A prefetcher expects that a warp instruction will need it."""
    REPLAY = 18
    """A warp instruction waits for it and has asked before: the page was not there."""


_DEMAND: Final = int(Purpose.DEMAND)


@mypyc_attr(allow_interpreted_subclasses=True)
class Translation(Traveller, Requester):
    """One page on its way through the stages of translation.

    Attributes:
        kind: why it is asked for (`Purpose`).
        slot: hardware slot of the thread block whose lookup missed first.
        warp_slot: hardware slot of its warp.
        access: the warp instruction whose lookup missed first; None behind prefetches.
        read_at: cycle in which `mapping` was read, in a TLB or in the page table; a shootdown of
            that cycle or later makes it void.  -1: not known, so that any shootdown does.
    """

    __slots__ = ("access", "read_at", "slot", "warp_slot")

    def __init__(
        self,
        app: int,
        asid: int,
        sm: int,
        tag: int,
        slot: int,
        warp_slot: int,
        trail: IntList,
        access: Access | None = None,
        kind: int = _DEMAND,
    ) -> None:
        super().__init__(app, asid, sm, tag, trail, kind)
        self.slot = slot
        self.warp_slot = warp_slot
        self.access = access
        self.read_at = -1

    @property
    def vpn(self) -> int:
        """Virtual page number, in the smallest pages of the machine."""
        return self.tag & VPN_MASK


def resolve_trail(trailed: Trailed, start: int, end: int) -> list[Piece]:
    """Cut ``[start, end)`` into ``(state, from, to)`` pieces along a trail, following its links.

    Cycles before the first entry of a trail take that trail's first state, so the pieces always
    tile the whole.
    """
    kept = KeptPieces()
    trailed.cut(start, end, kept)
    kept.pieces.reverse()
    return kept.pieces
