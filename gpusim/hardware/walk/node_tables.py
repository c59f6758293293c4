"""Page tables of a node: one that knows all pages, and what each GPU knows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as Dict
from typing import Final, Protocol

from attrs import frozen

from gpusim.core.errors import UserError
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping, became_part
from gpusim.core.warp_program import Buffer
from gpusim.hardware.walk.frames import Frames
from gpusim.hardware.walk.memory import TABLE_BYTES, Memory
from gpusim.hardware.walk.page_path import NOWHERE, PagePath
from gpusim.hardware.walk.page_table import USER_BITS, PageTable
from gpusim.hardware.walk.table_layout import TableLayout

_NO_COPIES: Final[Dict[int, Mapping]] = {}

Place = Callable[[int, int, int], int]
"""The GPU in whose memory a page will lie: ``place(asid, vpn, gpu that asks)``."""


class Rooms(Protocol):
    """The books of memories of GPUs that have room for some pages only."""

    def has_room(self, tag: int, pages: int, gpu: int) -> bool:
        """Whether a GPU has room for a page of `pages` small ones."""

    def moved(self, tag: int, pages: int, gpu: int) -> None:
        """A page has moved from the memory of one GPU to that of another one."""


@frozen(eq=False, repr=False)
class NodeMemories:
    """The memories of the GPUs of a node, and in which of them pages lie.

    Attributes:
        by_gpu: memories by GPU and address space.
        size: bytes of a GPU's memory; that of GPU *k* begins at address ``k * size``.
        place: where pages will lie.
        by_touch: whether that depends on who asks first, so that no page can be placed before.
        tables: whether the one table of the node lies there, in parts; else it lies with the host.
    """

    by_gpu: Sequence[Sequence[Memory]]
    size: int
    place: Place
    by_touch: bool
    tables: bool


class NodeTable(PageTable):
    """All pages of a node, whose frames lie in the memories of several GPUs.

    Args:
        page_bytes, levels, table_entries: see `PageTable`.
        memories: where pages lie.

    Attributes:
        by_gpu, size: see `NodeMemories`.
        depth, table_entries: `levels`, and entries of a table.
        asking: the GPU that asks for a page now.
        rooms: what keeps the books of memories that have room for some pages only; None: none do.
    """

    def __init__(
        self, page_bytes: int, levels: int, table_entries: int, memories: NodeMemories
    ) -> None:
        super().__init__(page_bytes, levels, memories.by_gpu[0], table_entries)
        self.by_gpu = memories.by_gpu
        self.size = memories.size
        self.depth = levels
        self.table_entries = table_entries
        self.asking = 0
        self.rooms: Rooms | None = None
        self.in_runs = False  # in which memory a page lies may differ from page to page
        self._where = memories
        self._host_tables = 0
        self._copies: dict[int, dict[int, Mapping]] = {}
        """By first page, what GPUs beside the owner have copies of it in, which are read only."""

    def begin(self, asid: int, arrays: Sequence[Buffer]) -> None:
        for memories in self.by_gpu[1:]:
            memories[asid].allocator.begin(asid, arrays)
        on_demand, self.on_demand = self.on_demand, self.on_demand or self._where.by_touch
        super().begin(asid, arrays)
        self.on_demand = on_demand
        if self._where.by_touch and self.by_gpu[0][asid].eager and not on_demand:
            for array in arrays:
                if array.gpu is not None:
                    self._place_ahead(asid, array)

    def _place_ahead(self, asid: int, array: Buffer) -> None:
        """Place the pages of an array that names a GPU, before the start."""
        shift, last = self.page_shift, array.base + max(array.bytes, 1) - 1
        for vpn in range(array.base >> shift, (last >> shift) + 1):
            self.asking = self._where.place(asid, vpn, 0)
            self.walk(asid, vpn)

    def gpu_of(self, pfn: int) -> int:
        """The GPU in whose memory a frame lies."""
        return (pfn << self.page_shift) // self.size

    def with_host(self, pfn: int) -> bool:
        """Whether a frame lies in the host's memory, and in that of no GPU."""
        return self.gpu_of(pfn) >= len(self.by_gpu)

    def place_of(self, pfn: int) -> tuple[int, int]:
        gpu = self.gpu_of(pfn)
        return gpu, pfn - (gpu * self.size >> self.page_shift)

    def of_users(self, tag: int) -> bool:
        """Whether a page lies among the addresses of users."""
        return (tag & VPN_MASK) >> (USER_BITS - self.page_shift) == 0

    def has_frame(self, asid: int, pfn: int) -> bool:
        gpu = self.gpu_of(pfn)
        return 0 <= gpu < len(self.by_gpu) and self.by_gpu[gpu][asid].has_frame(pfn)

    def page_bytes(self, mapping: Mapping) -> int:
        """Bytes of a page."""
        return mapping.pages << self.page_shift

    def touch(self, tag: int, gpu: int) -> Mapping:
        """What covers a page, which is placed now if `gpu` is the first that asks for it."""
        self.asking = gpu
        return self.walk(tag >> ASID_SHIFT, tag & VPN_MASK).mapping

    def place(self, tag: int, gpu: int) -> Mapping:
        """Map a page to frames of a GPU, unless it is mapped."""
        path = self._paths.get(tag)
        if path is not None:
            return path.mapping
        self.asking = gpu
        asid, vpn = tag >> ASID_SHIFT, tag & VPN_MASK
        frames = self._frames_of(gpu, asid, vpn)
        self.mapped_pages += 1
        first = vpn // frames.pages * frames.pages
        return self._enter(asid, first, frames.pfn, frames.pages).mapping

    def move(self, mapping: Mapping, gpu: int) -> bool:
        """Give a page frames of a GPU, its copy if it has one; False: there are none of its size.

        Copies of it are given up in any case.
        """
        own = self._copies.get(mapping.tag, {}).pop(gpu, None)
        copied = self._give_up_copies(mapping)
        if own is not None:
            self._use.count(own.pfn, own.pages, -1)
        pfn = self._frames_for(mapping, gpu) if own is None else own.pfn
        if pfn is None:
            if copied:
                self._replace(mapping, mapping.pfn, writable=True)
            return False
        self._replace(mapping, pfn, writable=copied or mapping.writable)
        self._free(mapping)
        if self.rooms is not None:
            self.rooms.moved(mapping.tag, mapping.pages, gpu)
        return True

    def _frames_for(self, mapping: Mapping, gpu: int) -> int | None:
        """The first of as many free frames of a GPU as a page has; None: there are none."""
        asid, rooms = mapping.asid, self.rooms
        if rooms is not None and not rooms.has_room(mapping.tag, mapping.pages, gpu):
            return None
        memory = self.by_gpu[gpu][asid]
        try:
            frames = memory.new_frames(asid, mapping.vpn)
        except UserError:
            return None
        if frames.pages != mapping.pages:
            memory.free(asid, mapping.vpn, frames.pfn, frames.pages)
            return None
        self._use.give(frames.pfn, frames.pages)
        return frames.pfn

    # -- copies ----------------------------------------------------------------------------------

    def of_gpu(self, tag: int, gpu: int) -> Mapping | None:
        """What a GPU's table may have of a page: its copy, or what all have."""
        mapping = self.find(tag)
        if mapping is None or mapping.tag not in self._copies:
            return mapping
        return self._copies[mapping.tag].get(gpu, mapping)

    def copies(self, tag: int) -> Dict[int, Mapping]:
        """What GPUs have copies of a page in; `tag`: its first page."""
        return self._copies.get(tag, _NO_COPIES)

    def copy(self, mapping: Mapping, gpu: int) -> bool:
        """Give a GPU frames for a copy of a page, read only from now on; False: there are none."""
        pfn = self._frames_for(mapping, gpu)
        if pfn is None:
            return False
        if mapping.writable:
            self._replace(mapping, mapping.pfn, writable=False)
        self._use.count(pfn, mapping.pages, 1)
        copy = Mapping(mapping.tag, pfn, mapping.pages, writable=False)
        self._copies.setdefault(mapping.tag, {})[gpu] = copy
        return True

    def unshare(self, mapping: Mapping) -> None:
        """A page has no copies any more, and may be written where it lies."""
        if self._give_up_copies(mapping):
            self._replace(mapping, mapping.pfn, writable=True)

    def _give_up_copies(self, mapping: Mapping) -> bool:
        """Free the frames of all copies of a page; whether it had any, given up before or now."""
        copies = self._copies.pop(mapping.tag, None)
        for copy in () if copies is None else copies.values():
            self._use.count(copy.pfn, copy.pages, -1)
            self._free(copy)
        return copies is not None

    def unmap(self, asid: int, vpn: int) -> Mapping:
        self._give_up_copies(self.walk(asid, vpn).mapping)
        return super().unmap(asid, vpn)

    def remap(self, asid: int, vpn: int, pfn: int | None = None) -> int:
        self.unshare(self.walk(asid, vpn).mapping)
        return super().remap(asid, vpn, pfn)

    def promote(self, asid: int, vpn: int, pages: int, pfn: int | None = None) -> Mapping | None:
        first = asid << ASID_SHIFT | vpn // pages * pages
        if any(tag in self._copies for tag in range(first, first + pages)):
            return None
        return super().promote(asid, vpn, pages, pfn)

    def wrong_copies(self) -> Iterator[str]:
        """Copies in another memory, or of a page that may be written, a line each."""
        for tag, copies in self._copies.items():
            mapping = self.find(tag)
            for gpu, copy in copies.items():
                owner = -1 if mapping is None else self.gpu_of(mapping.pfn)
                where = self.gpu_of(copy.pfn)
                if mapping is None or mapping.writable or where != gpu or owner == gpu:
                    yield f"GPU {gpu} has a copy, {copy}, of {mapping}"

    # -- all pages -------------------------------------------------------------------------------

    def mappings(self) -> Iterator[Mapping]:
        """All pages that are mapped."""
        for tag, path in self._paths.items():
            if tag == path.mapping.tag:
                yield path.mapping

    def _new_frames(self, asid: int, vpn: int) -> Frames:
        gpu = self.asking
        if self.of_users(vpn):
            gpu = self._where.place(asid, vpn, self.asking)
        return self._frames_of(gpu, asid, vpn)

    def _frames_of(self, gpu: int, asid: int, vpn: int) -> Frames:
        """Frames of a GPU that no page lies in."""
        frames = self.by_gpu[gpu][asid].new_frames(asid, vpn)
        self._use.give(frames.pfn, frames.pages)
        return frames

    def _memory_of(self, asid: int, pfn: int) -> Memory:
        return self.by_gpu[self.gpu_of(pfn)][asid]

    def _new_table(self, asid: int) -> int:
        if self._where.tables:
            return self.by_gpu[self.asking][asid].new_table()
        self._host_tables += TABLE_BYTES
        return len(self.by_gpu) * self.size + self._host_tables - TABLE_BYTES


def _stays(_tag: int) -> bool:
    """No page moves."""
    return False


class SharedTable(PageTable):
    """The one table of a node, as the walkers of a GPU walk it.

    Args:
        node: the table.
        gpu: the GPU.
        layout: where its entries lie, if they are in no radix tree.
    """

    def __init__(self, node: NodeTable, gpu: int, layout: TableLayout | None = None) -> None:
        super().__init__(
            1 << node.page_shift, node.depth, node.by_gpu[gpu], node.table_entries, layout
        )
        self._node = node
        self._gpu = gpu

    def walk(self, asid: int, vpn: int) -> PagePath:
        self._node.asking = self._gpu
        return self._node.walk(asid, vpn)

    def look(self, asid: int, vpn: int) -> PagePath:
        self._node.asking = self._gpu
        return self._node.look(asid, vpn)

    def find(self, tag: int) -> Mapping | None:
        return self._node.find(tag)

    def knows(self, tag: int) -> bool:
        return self._node.knows(tag)


class MovingTable(SharedTable):
    """The one table of a node whose pages may move: while one does, no walk finds it.

    Attributes:
        moving: whether a page moves now, named by its first one.
    """

    def __init__(self, node: NodeTable, gpu: int, layout: TableLayout | None = None) -> None:
        super().__init__(node, gpu, layout)
        self.on_demand = True
        self.moving: Callable[[int], bool] = _stays

    def look(self, asid: int, vpn: int) -> PagePath:
        path = super().look(asid, vpn)
        if path.mapping is NOWHERE or not self.moving(path.mapping.tag):
            return path
        return PagePath(path.entries, path.prefixes, NOWHERE)

    def find(self, tag: int) -> Mapping | None:
        mapping = super().find(tag)
        return None if mapping is None or self.moving(mapping.tag) else mapping


class GpuTable(SharedTable):
    """The table of one GPU, in its own memory: the pages that it has asked for.

    A page that it does not know is entered when a walk asks for it.
    """

    def walk(self, asid: int, vpn: int) -> PagePath:
        path = self._paths.get(asid << ASID_SHIFT | vpn)
        if path is not None:
            return self._laid_out(path.mapping.tag, path.mapping) if self.moves else path
        mapping = super().walk(asid, vpn).mapping
        return self._put(self._node.of_gpu(mapping.tag, self._gpu) or mapping)

    def look(self, asid: int, vpn: int) -> PagePath:
        node, tag = self._node, asid << ASID_SHIFT | vpn
        if node.on_demand and node.of_users(tag) and node.find(tag) is None:
            return self._without(tag)
        return self.walk(asid, vpn)

    def _without(self, tag: int) -> PagePath:
        """What the walk of a page reads that is not in this table."""
        if self.layout is not None:
            return self._laid_out(tag, None)
        entries, prefixes = self._tree.trace(tag >> ASID_SHIFT, tag & VPN_MASK, 1)
        return PagePath(entries, prefixes, NOWHERE)

    def stale(self) -> Iterator[str]:
        """Pages that lie elsewhere than this table says, a line each: at the end there are none."""
        for tag, path in self._paths.items():
            right = self._node.of_gpu(tag, self._gpu)
            if right is not path.mapping and not became_part(path.mapping, right, tag):
                yield f"the table of GPU {self._gpu} has {path.mapping}, but it is {right}"

    def enter(self, mapping: Mapping) -> None:
        """Put in a page, unless it is there; smaller pages that have become parts of it go."""
        for tag in range(mapping.tag, mapping.tag + mapping.pages):
            path = self._paths.get(tag)
            if path is not None and path.mapping.pages < mapping.pages:
                self.shoot_down(tag)
        if mapping.tag not in self._paths:
            self._put(mapping)

    def shoot_down(self, tag: int | None) -> None:
        """Forget a page (None: all)."""
        if tag is None:
            for mapping in [path.mapping for path in self._paths.values()]:
                self.shoot_down(mapping.tag)
            return
        path = self._paths.get(tag)
        if path is not None:
            mapping = path.mapping
            if self.layout is not None:
                self.layout.unmapped(mapping)
            for page in range(mapping.tag, mapping.tag + mapping.pages):
                del self._paths[page]


class FarTable(GpuTable):
    """The table of a GPU that asks the host for pages which it does not know.

    What lies above the addresses of users is the GPU's own, and never asked for.
    """

    def __init__(self, node: NodeTable, gpu: int, layout: TableLayout | None = None) -> None:
        super().__init__(node, gpu, layout)
        self.on_demand = True

    def look(self, asid: int, vpn: int) -> PagePath:
        tag = asid << ASID_SHIFT | vpn
        own = not self._node.of_users(tag)
        return self.walk(asid, vpn) if own or tag in self._paths else self._without(tag)

    def find(self, tag: int) -> Mapping | None:
        path = self._paths.get(tag)
        return None if path is None else path.mapping

    def may_have(self, tag: int) -> Mapping | None:
        """What this table has of a page if the GPU has asked for it: its copy, or what all have."""
        return self._node.of_gpu(tag, self._gpu)
