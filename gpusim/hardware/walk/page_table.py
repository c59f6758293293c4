"""Page tables that lie in simulated physical memory, with pages of several sizes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from gpusim.core.errors import UserError
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping, Mappings
from gpusim.core.unboxed import IntDict
from gpusim.core.warp_program import Buffer
from gpusim.hardware.walk.frame_use import FrameUse
from gpusim.hardware.walk.frames import FrameRun, Frames
from gpusim.hardware.walk.memory import Memory
from gpusim.hardware.walk.page_path import NOWHERE, PagePath
from gpusim.hardware.walk.pages_ahead import PageRun, PagesAhead
from gpusim.hardware.walk.radix_tree import SMALL_SHIFT, RadixTree
from gpusim.hardware.walk.reserved_ranges import ReservedRanges
from gpusim.hardware.walk.table_layout import TableLayout, levels_of

USER_BITS: Final = 47
"""Virtual addresses of users' arrays have this many bits; those above are the device's own."""
_REACH_BITS: Final = 9
"""Usable bits of a page number for each level: what tables of 8-byte entries reach."""


class PageTable(Mappings):
    """One radix tree an address space; pages are mapped when they are first asked for.

    The number of a 4 KiB page is cut, from its low bits up, into indices of 9 bits (of tables of
    512 entries).  A 64 KiB page is found by the first of its 16 entries, as the hardware that
    marks 16 neighbouring entries; a page of 2 MiB is an entry of the level above, so its walk is
    one read shorter.  Which size a page has its frame allocator says; all of them may lie side by
    side in one address space, none smaller than `page_bytes`, in which pages are counted.

    Tables of fewer entries reach less: an address space has a root for each range of addresses
    that a root reaches, 4 GiB with four levels of 32 entries; and a page of 2 MiB is found by the
    first of its entries in the lowest level of which one entry does not reach further.

    With a layout, what is mapped is kept here, and the layout says what a walk reads.

    Args:
        page_bytes: of the smallest pages: 4 KiB, 64 KiB or 2 MiB.
        levels: of 4 KiB pages.
        memories: see below.
        table_entries: of a table, which fills 4 KiB: 512 of 8 bytes; a power of two.
        layout: where entries lie; None: in a radix tree.

    Attributes:
        memories: by address space, where its pages and tables lie.
        levels: of a walk of the smallest pages, the longest there is; with a layout, as many
            steps as are counted apart.
        mapped_pages: mappings made when pages were first asked for, and by `map`.
        on_demand: whether pages are mapped only once they are on the device (`look`).
        walks_again: whether a walk begins anew whose page has changed after it had read its entry;
            else it is answered with what there is at its end.
        moves: whether the path of a page may have changed since it was mapped.
        first_is_enough: whether a step of several reads ends with the first one of them.
        arrays: of the application of each address space, as far as it names any.
        reserved: pages of arrays that their programs map themselves.
    """

    def __init__(
        self,
        page_bytes: int,
        levels: int,
        memories: Sequence[Memory],
        table_entries: int = 512,
        layout: TableLayout | None = None,
    ) -> None:
        self.page_shift = page_bytes.bit_length() - 1
        self._tree = RadixTree(levels, table_entries, self.page_shift, self._new_table)
        self.layout = layout
        self.levels = self._tree.levels if layout is None else levels_of(layout)
        self.moves = layout is not None and layout.moves
        self.first_is_enough = layout is not None and layout.first_is_enough
        self._reach_bits = max(levels * _REACH_BITS + SMALL_SHIFT - self.page_shift, 0)
        self.memories = memories
        self._paths: IntDict[PagePath] = IntDict()
        """By tagged page, each page of a larger one by itself."""
        self._ahead = PagesAhead(self.page_shift)
        """Pages that are mapped, and enter `_paths` when they are first asked for."""
        self.in_runs = layout is None
        """Whether pages may be mapped ahead in runs: entries and frames depend on nothing else."""
        self._arrays: dict[int, list[tuple[int, int]]] = {}
        self.arrays: dict[int, tuple[Buffer, ...]] = {}
        self.reserved = ReservedRanges(self.page_shift)
        self.on_map: list[Callable[[Mapping], None]] = []
        """Called with a page that has an entry from now on, but for those mapped ahead."""
        self.on_unmap: list[Callable[[Mapping], None]] = []
        """Called with a page that has no entry any more, or another one."""
        self._use = FrameUse()
        self.mapped_pages = 0
        self.on_demand = False
        self.walks_again = True

    def has_frame(self, asid: int, pfn: int) -> bool:
        """Whether the memory of an address space has a frame."""
        return self.memories[asid].has_frame(pfn)

    # -- what a walk finds -----------------------------------------------------------------------

    def walk(self, asid: int, vpn: int) -> PagePath:
        """What the walk of a page reads, from the root down; maps the page if need be.

        Raises:
            UserError: it lies beyond the tree, physical memory is full, or the page's program has
                not mapped it.
        """
        path = self._path(asid << ASID_SHIFT | vpn)
        if path is None:
            self.reserved.refuse(asid, vpn)
            path = self.map_new(asid, vpn)
        elif self.moves:
            return self._laid_out(asid << ASID_SHIFT | vpn, path.mapping)
        return path

    def map_new(self, asid: int, vpn: int) -> PagePath:
        """Map a page that is not, to frames of the allocator's choice."""
        frames = self._new_frames(asid, vpn)
        path = self._enter(asid, vpn // frames.pages * frames.pages, frames.pfn, frames.pages)
        self.mapped_pages += 1
        return path

    def is_gone(self, tag: int) -> bool:
        """Whether a page has no frame, and gets none by being asked for."""
        if tag in self._paths:
            return False
        return self.reserved.array_of(tag >> ASID_SHIFT, tag & VPN_MASK) is not None

    def look(self, asid: int, vpn: int) -> PagePath:
        """What the walk of a page reads; `NOWHERE` for a page that demand paging has not brought.

        What lies above the addresses of users (local memory, code, constants) is the device's own,
        and not paged.

        Raises:
            UserError: it lies beyond the tree, or physical memory is full.
        """
        own = vpn >> (USER_BITS - self.page_shift) > 0
        if own or not self.on_demand or self._path(asid << ASID_SHIFT | vpn) is not None:
            return self.walk(asid, vpn)
        if self.layout is not None:
            return self._laid_out(asid << ASID_SHIFT | vpn, None)
        entries, prefixes = self._tree.trace(asid, vpn, 1)
        return PagePath(entries, prefixes, NOWHERE)

    def translate(self, asid: int, vpn: int) -> int:
        """The frame of a page; maps it if need be."""
        return self.walk(asid, vpn).mapping.delta + vpn

    def find(self, tag: int) -> Mapping | None:
        """The mapping that covers a tagged page now, if one does."""
        path = self._paths.get(tag) or self._path(tag)
        return None if path is None else path.mapping

    def learn(self, tag: int, first: int, frame: int, pages: int, writable: bool) -> Mapping:
        """The mapping of a page that is mapped, maybe by another process.

        Args:
            tag: the page.
            first: first page of the mapping, tagged.
            frame: its first frame.
            pages: how many of the smallest pages it covers.
            writable: whether stores to it are allowed.
        """
        known = self.find(tag)
        if known is None:
            known = Mapping(first, frame, pages, writable=writable)
            path = PagePath((), (), known)
            for page in range(first, first + pages):
                self._paths[page] = path
        return known

    def _path(self, tag: int) -> PagePath | None:
        """What a walk of a tagged page reads, if it is mapped."""
        path = self._paths.get(tag)
        if path is not None:
            return path
        mapping = self._ahead.take(tag)
        if mapping is None:
            return None
        self._use.give(mapping.pfn, mapping.pages)
        self._use.count(mapping.pfn, mapping.pages, 1)
        return self._put(mapping)

    def pages_of(self, asid: int) -> Iterator[Mapping]:
        """All pages of an address space that are mapped now, in the order of their numbers."""
        for tag in self._ahead.tags(asid):
            self._path(tag)
        for tag in sorted(tag for tag in self._paths if tag >> ASID_SHIFT == asid):
            mapping = self._paths[tag].mapping
            if mapping.tag == tag:
                yield mapping

    def place_of(self, pfn: int) -> tuple[int, int]:
        """The GPU in whose memory a frame lies, and its number there."""
        return 0, pfn

    def knows(self, tag: int) -> bool:
        """Whether a tagged page is mapped, or would be if it was asked for: it is in an array."""
        if self._path(tag) is not None:
            return True
        if self.is_gone(tag):
            return False
        arrays = self._arrays.get(tag >> ASID_SHIFT, [])
        vpn = tag & VPN_MASK
        index = bisect_right(arrays, vpn, key=lambda ends: ends[0]) - 1
        return index >= 0 and vpn <= arrays[index][1]

    def pages_of_frames(self) -> dict[int, int]:
        """By frame, a tagged smallest page that lies in it, of those asked for; takes a while."""
        return {path.mapping.frame(tag): tag for tag, path in self._paths.items()}

    def begin(self, asid: int, arrays: Sequence[Buffer]) -> None:
        """An application begins, with these arrays as far as it names any."""
        shift = self.page_shift
        self.arrays[asid] = tuple(arrays)
        self._arrays[asid] = sorted(
            (one.base >> shift, (one.base + max(one.bytes, 1) - 1) >> shift) for one in arrays
        )
        self.reserved.begin(asid, arrays)
        memory = self.memories[asid]
        memory.allocator.begin(asid, arrays)
        if not memory.eager or self.on_demand:
            return
        for one in arrays:
            if one.piece:
                continue
            end = (one.base + max(one.bytes, 1) - 1 >> shift) + 1
            self._map_ahead(asid, one.base >> shift, end)

    def _map_ahead(self, asid: int, first: int, end: int) -> None:
        """Map pages up to `end`, as walks of one after the other would: frames and tables."""
        vpn = first
        while vpn < end and not self.in_runs:
            self.walk(asid, vpn)
            vpn += 1
        while vpn < end:
            most = self._ahead.unmapped(asid << ASID_SHIFT | vpn, end - vpn, self._paths)
            if most:
                self.reserved.refuse(asid, vpn, most)
                vpn = self._enter_run(asid, vpn, self.memories[asid].new_run(asid, vpn, most))
            else:
                vpn += 1

    def _enter_run(self, asid: int, vpn: int, run: FrameRun) -> int:
        """Map the page that `vpn` is in, and those behind it, to a run; returns the end of it."""
        pages = run.pages
        first = vpn // pages * pages
        end = first + run.count * pages
        self._check(asid << ASID_SHIFT | first, run.pfn, pages)
        self._tree.make(asid, first, end, pages)
        self._ahead.add(
            PageRun(asid << ASID_SHIFT | first, asid << ASID_SHIFT | end, run.pfn, pages)
        )
        self.mapped_pages += run.count
        return end

    # -- changes: `gpusim.machine.pages` invalidates translations that are kept elsewhere ------

    def map(
        self, asid: int, vpn: int, pfn: int, pages: int = 1, *, writable: bool = True
    ) -> Mapping:
        """Map a page to frames that the caller chose.

        Args:
            asid: address space.
            vpn: its first page, in the smallest pages.
            pfn: its first frame.
            pages: how many of the smallest pages it has.
            writable: whether stores to it are allowed.

        Raises:
            UserError: there is no such size, it is not aligned, or a part of it is mapped.
        """
        mapping = self._enter(asid, vpn, pfn, pages, writable=writable).mapping
        self.mapped_pages += 1
        return mapping

    def unmap(self, asid: int, vpn: int) -> Mapping:
        """Forget the page that `vpn` is in, whose frames become free; returns what it was.

        Raises:
            UserError: it is not mapped.
        """
        mapping = self._forget(asid, vpn)
        self._free(mapping)
        return mapping

    def remap(self, asid: int, vpn: int, pfn: int | None = None) -> int:
        """Map a page to another frame, a fresh one by default; returns it."""
        old = self.walk(asid, vpn).mapping
        if pfn is None:
            frames = self._new_frames(asid, old.vpn)
            if frames.pages != old.pages:
                raise UserError(
                    f"memory.frames: {old} cannot move to {frames.pages} frames; it has {old.pages}"
                )
            pfn = frames.pfn
        if pfn % old.pages:
            raise UserError(f"{old} cannot move to frame {pfn}, which is not aligned")
        self._replace(old, pfn, writable=old.writable)
        return pfn

    def protect(self, asid: int, vpn: int, *, writable: bool) -> None:
        """Set the permission of a page; all pages may be written at first."""
        old = self.walk(asid, vpn).mapping
        self._replace(old, old.pfn, writable=writable)

    def writable(self, asid: int, vpn: int) -> bool:
        """Whether stores to a page are allowed."""
        mapping = self.find(asid << ASID_SHIFT | vpn)
        return mapping is None or mapping.writable

    def promote(self, asid: int, vpn: int, pages: int, pfn: int | None = None) -> Mapping | None:
        """Make one page of several.

        Args:
            asid: address space.
            vpn: any of the smallest pages in it.
            pages: how many of the smallest pages it will have.
            pfn: its first frame; None: the frames that its parts have already.

        Returns:
            the new mapping; None: not all of its parts are mapped with the same permission, or
            (without `pfn`) their frames are not side by side, or not aligned.
        """
        self._tree.check_size(pages)
        first = vpn // pages * pages
        old = [self.find(asid << ASID_SHIFT | page) for page in range(first, first + pages)]
        head = old[0]
        if head is None or head.pages >= pages:
            return None
        base = head.pfn if pfn is None else pfn
        for number, mapping in enumerate(old):
            if mapping is None or mapping.writable != head.writable:
                return None
            if pfn is None and mapping.delta + first + number != base + number:
                return None
        if base % pages:
            return None
        for mapping in dict.fromkeys(one for one in old if one is not None):
            self._forget(asid, mapping.vpn)
            if pfn is not None:
                self._free(mapping)
        return self._enter(asid, first, base, pages, writable=head.writable).mapping

    # -- the tree --------------------------------------------------------------------------------

    def _enter(
        self, asid: int, vpn: int, pfn: int, pages: int, *, writable: bool = True
    ) -> PagePath:
        """Put a mapping into the tree."""
        tag = asid << ASID_SHIFT | vpn
        self._check(tag, pfn, pages)
        path = self._put(Mapping(tag, pfn, pages, writable=writable))
        self._use.count(pfn, pages, 1)
        for tell in self.on_map:
            tell(path.mapping)
        return path

    def _put(self, mapping: Mapping) -> PagePath:
        """Put a mapping into the tree, where no page of it is mapped."""
        if self.layout is not None:
            self.layout.mapped(mapping)
            path = self._laid_out(mapping.tag, mapping)
        else:
            entries, prefixes = self._tree.trace(mapping.asid, mapping.vpn, mapping.pages)
            path = PagePath(entries, prefixes, mapping)
        for page in range(mapping.tag, mapping.tag + mapping.pages):
            self._paths[page] = path
        return path

    def _laid_out(self, tag: int, mapping: Mapping | None) -> PagePath:
        """What a walk of a page reads as the layout says it; None: the page is not mapped.

        Raises:
            UserError: it reads nothing.
        """
        layout = self.layout
        assert layout is not None
        steps = layout.steps(tag, mapping)
        if not steps:
            raise UserError(
                f"memory.table: {type(layout).__qualname__}.steps gave a walk of page {tag:#x} "
                "nothing to read; allowed: one step or more"
            )
        beside = tuple([step.beside for step in steps])
        return PagePath(
            tuple([step.address for step in steps]),
            tuple([step.prefix for step in steps]),
            NOWHERE if mapping is None else mapping,
            beside if any(beside) else (),
        )

    def _check(self, tag: int, pfn: int, pages: int) -> None:
        vpn = tag & VPN_MASK
        if vpn >> self._reach_bits:
            raise UserError(
                f"page {vpn:#x} lies beyond the {self._reach_bits} bits of page number that "
                f"{self.levels} levels of page table reach; raise memory.levels"
            )
        self._tree.check_size(pages)
        if vpn % pages or pfn % pages:
            raise UserError(
                f"memory.frames: page {vpn:#x} of {pages} small ones in frame {pfn} is not aligned"
            )
        for page in range(tag, tag + pages):
            covered = self.find(page)
            if covered is not None:
                raise UserError(
                    f"memory.frames: page {vpn:#x} of {pages} small ones would cover "
                    f"{covered}, which is mapped"
                )

    def _new_frames(self, asid: int, vpn: int) -> Frames:
        """Frames that no page lies in."""
        frames = self.memories[asid].new_frames(asid, vpn)
        self._use.give(frames.pfn, frames.pages)
        return frames

    def _free(self, mapping: Mapping) -> None:
        """Give back the frames of a page that an allocator gave, and no other page lies in."""
        for frame, pages in self._use.released(mapping.pfn, mapping.pages):
            vpn = mapping.vpn + frame - mapping.pfn
            self._memory_of(mapping.asid, frame).free(mapping.asid, vpn, frame, pages)

    def _new_table(self, asid: int) -> int:
        """Physical address of a free page for a table."""
        return self.memories[asid].new_table()

    def _memory_of(self, asid: int, pfn: int) -> Memory:
        """The memory that a frame of an address space belongs to."""
        return self.memories[asid]

    def _forget(self, asid: int, vpn: int) -> Mapping:
        mapping = self.find(asid << ASID_SHIFT | vpn)
        if mapping is None:
            raise UserError(f"page {vpn:#x} of address space {asid} is not mapped")
        for page in range(mapping.tag, mapping.tag + mapping.pages):
            del self._paths[page]
        if self.layout is not None:
            self.layout.unmapped(mapping)
        self._use.count(mapping.pfn, mapping.pages, -1)
        for tell in self.on_unmap:
            tell(mapping)
        return mapping

    def _replace(self, old: Mapping, pfn: int, *, writable: bool) -> None:
        """Give a page another frame or permission; its place in the tree stays."""
        path = self._paths[old.tag]
        mapping = Mapping(old.tag, pfn, old.pages, writable=writable)
        new = PagePath(path.entries, path.prefixes, mapping, path.beside)
        if self.layout is not None:
            self.layout.unmapped(old)
            self.layout.mapped(mapping)
            new = self._laid_out(old.tag, mapping)
        for page in range(old.tag, old.tag + old.pages):
            self._paths[page] = new
        self._use.count(old.pfn, old.pages, -1)
        self._use.count(pfn, old.pages, 1)
        for tell in self.on_unmap:
            tell(old)
        for tell in self.on_map:
            tell(mapping)
