"""Builds the page tables of a machine, and the memories in which pages and tables lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from gpusim.config.node import NodeConfig
from gpusim.config.schema import GpuConfig
from gpusim.core.errors import UserError
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping
from gpusim.core.registry import Slot, make_policy
from gpusim.core.warp_program import Buffer
from gpusim.hardware.walk import (
    FarTable,
    FrameAllocator,
    GpuTable,
    Memory,
    MovingTable,
    NodeMemories,
    NodeTable,
    PageTable,
    SharedTable,
    TableLayout,
    TableSite,
)
from gpusim.machine.domains import Domain, Part

if TYPE_CHECKING:
    from gpusim.hardware.node import ArrayHomes, PagePlacement

_TABLE_SHARE, _ROOM = 64, 4
"""Page tables get a 64th of physical memory, or, if they are sparse, 4 times what tables take that
map all of it."""


@frozen(eq=False, repr=False)
class PageTables:
    """The page tables of a machine.

    Attributes:
        table: of all address spaces; it knows every page.
        walked: by domain, what its walkers walk: that table, or what a GPU of a node knows of it.
        frames: the frame allocator of each memory.
        homes: in the memory of which GPU of a node pages lie; None: there is one GPU.
    """

    table: PageTable
    walked: Sequence[PageTable]
    frames: Sequence[FrameAllocator]
    homes: ArrayHomes | None = None

    @property
    def layouts(self) -> list[TableLayout]:
        """Where entries lie that are in no radix tree."""
        return list(dict.fromkeys(one.layout for one in self.walked if one.layout is not None))

    @property
    def holders(self) -> list[GpuTable]:
        """Tables of GPUs, which have to forget pages that change."""
        return [table for table in self.walked if isinstance(table, GpuTable)]

    def come_on_demand(self) -> None:
        """Pages are mapped only when they have come to a device."""
        for table in (self.table, *self.walked):
            table.on_demand = True
            if not isinstance(table, FarTable | MovingTable):
                table.walks_again = False
        for allocator in self.frames:
            allocator.on_demand = True

    def home(self, tag: int, gpu: int) -> int:
        """The GPU in whose memory a page will lie that comes because `gpu` asks for it."""
        if self.homes is None:
            return 0
        return self.homes.place(tag >> ASID_SHIFT, tag & VPN_MASK, gpu)

    def place(self, tag: int, gpu: int) -> Mapping:
        """Map a page to a free frame of a GPU."""
        if isinstance(self.table, NodeTable):
            return self.table.place(tag, gpu)
        return self.table.walk(tag >> ASID_SHIFT, tag & VPN_MASK).mapping

    def gpu_of(self, tag: int) -> int:
        """The GPU in whose memory a page lies; 0: it lies in none."""
        mapping = self.table.find(tag)
        if mapping is None or not isinstance(self.table, NodeTable):
            return 0
        return self.table.gpu_of(mapping.pfn)

    def begin(self, asid: int, name: str, arrays: Sequence[Buffer], gpus: Sequence[int]) -> None:
        """An application begins, with some arrays.

        Args:
            asid: its address space.
            name: for messages.
            arrays: its arrays, as far as it names any.
            gpus: the GPUs that it has, which its arrays count from 0 on.

        Raises:
            UserError: an array lies with a GPU that the application does not have, or is one that
                its program maps, on a node whose pages may move.
        """
        for one in arrays:
            if one.gpu is not None and one.gpu >= len(gpus):
                raise UserError(
                    f"array {one.name!r} lies with GPU {one.gpu}, and {name!r} has {len(gpus)}, "
                    "numbered from 0 on: set node.gpus, or run it with fewer"
                )
            if one.piece and any(isinstance(own, FarTable | MovingTable) for own in self.walked):
                raise UserError(
                    f"array {one.name!r} of {name!r} is mapped piece by piece by its program, and "
                    "pages that it maps cannot move: leave out node.host_mmu"
                )
        if self.homes is not None:
            self.homes.begin(asid, arrays, gpus)
        self.table.begin(asid, arrays)


def build_page_tables(
    config: GpuConfig, domains: Sequence[Domain], apps: int, seed: int
) -> PageTables:
    """The page tables of a machine of some domains, in which `apps` applications run."""
    if config.node is not None:
        return _of_node(config, config.node, domains, apps, seed)
    memories: dict[int, Memory] = {}
    for domain in domains:
        memories.update(_memories(config, domain, seed))
    in_order = [memories[asid] for asid in range(apps)]
    memory = config.memory
    layout = _layout(config, in_order)
    table = PageTable(memory.page, memory.levels, in_order, memory.table_entries, layout)
    return PageTables(table, [table for _ in domains], _allocators(in_order))


def _of_node(
    config: GpuConfig, node: NodeConfig, domains: Sequence[Domain], apps: int, seed: int
) -> PageTables:
    from gpusim.hardware.node import ArrayHomes

    memory = config.memory
    memories = []
    for domain in domains:
        own = _memories(config, domain, seed)
        memories.append([own[asid] for asid in range(apps)])
    placement: PagePlacement = make_policy(
        Slot.PAGE_PLACEMENT, node.placement, node.gpus, memory.page
    )
    shared = node.page_tables == "shared"
    homes = ArrayHomes(placement)
    where = NodeMemories(memories, memory.size, homes.place, placement.by_touch, shared)
    table = NodeTable(memory.page, memory.levels, memory.table_entries, where)
    asks = node.host_mmu is not None
    kind = (MovingTable if asks else SharedTable) if shared else FarTable if asks else GpuTable
    walked = [
        kind(table, gpu, _layout(config, memories[gpu], node.gpus)) for gpu in range(node.gpus)
    ]
    return PageTables(table, walked, _allocators([one for own in memories for one in own]), homes)


def _memories(config: GpuConfig, domain: Domain, seed: int) -> dict[int, Memory]:
    """By application, the memory of a domain in which its pages lie."""
    memories: dict[int, Memory] = {}
    for part in domain.parts:
        memories.update(dict.fromkeys(part.apps, _memory(config, part, seed)))
    return memories


def _memory(config: GpuConfig, part: Part, seed: int) -> Memory:
    page = config.memory.page
    usable = part.size - part.size // min(_TABLE_SHARE, config.memory.table_entries // _ROOM)
    frames: FrameAllocator = make_policy(Slot.FRAMES, config.memory.frames, usable // page, seed)
    ahead = config.memory.mapped == "ahead"
    return Memory(page, part.size, frames, part.base, ahead=ahead)


def _layout(config: GpuConfig, memories: Sequence[Memory], gpus: int = 1) -> TableLayout | None:
    """Where entries of page tables lie; None: in radix trees.

    Args:
        config: the machine.
        memories: by address space.
        gpus: whose pages it may hold.
    """
    memory = config.memory
    if memory.table is None:
        return None
    distinct = list(dict.fromkeys(memories))
    site = TableSite(
        memory.page.bit_length() - 1,
        memory.levels,
        memory.table_entries,
        gpus * max(one.allocator.frames for one in distinct),
        lambda asid: distinct.index(memories[asid]),
        lambda asid, size: memories[asid].reserve(size),
    )
    layout: TableLayout = make_policy(Slot.PAGE_TABLE, memory.table, site)
    return layout


def _allocators(memories: Sequence[Memory]) -> list[FrameAllocator]:
    return list(dict.fromkeys(memory.allocator for memory in memories))
