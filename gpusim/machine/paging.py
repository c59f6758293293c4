"""Demand paging of a machine: the driver, the link, and what stands where of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from attrs import frozen

from gpusim.config.check_paging import LARGE_PAGES
from gpusim.config.paging import PagingConfig
from gpusim.config.schema import GpuConfig
from gpusim.config.shootdown import shootdown_parts
from gpusim.core.component import Component
from gpusim.core.engine import Environment, Sink
from gpusim.core.errors import UserError, few, nearest
from gpusim.core.interfaces import Route
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping
from gpusim.core.registry import Slot, make_policy
from gpusim.core.signals import SignalBoard
from gpusim.core.stage import Stage
from gpusim.core.warp_program import Buffer
from gpusim.hardware.paging import (
    HOST_BASE,
    AccessCounters,
    DeviceMemories,
    DeviceMemory,
    Driver,
    DriverSite,
    FaultSite,
    HostMemory,
    Link,
    Migration,
    Mover,
    PageFaults,
    Placement,
    RouteBeyond,
    Sharers,
    WatchedWay,
)
from gpusim.hardware.paging.prefetch import VA_BLOCK
from gpusim.hardware.tlb.level import TlbLevel
from gpusim.hardware.walk import Memory, NodeTable
from gpusim.machine.domains import Domain
from gpusim.machine.page_tables import PageTables
from gpusim.machine.pages import Pages
from gpusim.machine.tenants import Tenant

_TIMES_IN_VAIN, _PAGES_IN_VAIN = 10, 100
"""How often the whole device memory may be replaced while no warp gets on, and how many pages more
where it holds few [our choice]."""


@frozen(eq=False, repr=False)
class PagingSite:
    """Where demand paging stands in a machine.

    Attributes:
        env: the environment.
        config: the machine.
        tables: the page tables of all address spaces.
        pages: the pages in them.
        drop: forgets the lines of a frame.
    """

    env: Environment
    config: GpuConfig
    tables: PageTables
    pages: Pages
    drop: Callable[[Mapping], None]


class Paging:
    """All parts of demand paging; made before the memory system, and then connected to it.

    Args:
        site: where it stands.
        tenants: the applications.
        seed: of the run.

    Attributes:
        driver: its component.
        hosts: by GPU, the host's memory behind its link; empty: no line is read there.
        links: by GPU, to the host.
        stages: those in front of the walkers of each domain.
        first_tlbs: the TLBs next to the SMs, which know the warps that wait for a page.
    """

    def __init__(self, site: PagingSite, tenants: Sequence[Tenant], seed: int) -> None:
        env, config, tables = site.env, site.config, site.tables
        assert config.paging is not None
        self._env = env
        self._config = config
        self._paging = paging = config.paging
        self._tenants = tenants
        self._tables = tables
        self._page = page = config.memory.page
        self._frames = _memories_by_gpu(tables)
        self.memories = DeviceMemories(self._device_memories(seed), tables.home)
        rooms = [one.room or 0 for one in self.memories.all]
        self._most_in_vain = _TIMES_IN_VAIN * sum(rooms) + _PAGES_IN_VAIN
        self._work = self._left = 0
        """Work of warps when the watchdog last saw some, and pages that had left by then."""
        self._pinned = [self._named_pages(tenant, paging.pinned) for tenant in tenants]
        self._own = [self._named_pages(tenant, paging.device) for tenant in tenants]
        remote = paging.migration != "fault"
        self.placement = Placement(
            site.pages,
            tables.place,
            self.memories,
            self._stays,
            remote,
            site.drop,
        )
        self.links = [
            Link(env, paging.link, config.clock, len(tenants), gpu if config.node else None)
            for gpu in range(config.gpus)
        ]
        self.stages: list[PageFaults] = []
        self._stages_of: list[list[PageFaults]] = [[] for _ in self.links]
        self.first_tlbs: Sequence[TlbLevel] = ()
        self.driver = Driver(
            DriverSite(
                env,
                paging,
                config.clock,
                page,
                len(tenants),
                shootdown_parts(config.shootdown, config.clock),
                self._wholes(),
            ),
            self.memories,
            self.placement,
            make_policy(Slot.PAGE_PREFETCH, paging.prefetch, page),
            self.links,
            self._replay,
        )
        self.mover: Migration | None = None
        if paging.mover is not None:
            self.mover = make_policy(Slot.MIGRATION, paging.mover, page)
        read = remote or any(self._pinned)
        self.hosts = [self._host_memory(gpu) for gpu in range(len(self.links))] if read else []
        tables.come_on_demand()

    # -- building --------------------------------------------------------------------------------

    def _device_memories(self, seed: int) -> list[list[DeviceMemory]]:
        """By GPU and application; those whose pages lie in the same memory share one."""
        made: dict[Memory, DeviceMemory] = {}
        for gpu, memories in enumerate(self._frames):
            for memory in dict.fromkeys(memories):
                apps = [app for app, one in enumerate(memories) if one is memory]
                made[memory] = self._device_memory(gpu, memory, apps, seed)
        return [[made[memory] for memory in memories] for memories in self._frames]

    def _device_memory(
        self, gpu: int, memory: Memory, apps: Sequence[int], seed: int
    ) -> DeviceMemory:
        """What keeps the books of a memory of a GPU, in which pages of some applications lie.

        Raises:
            UserError: its room cannot be.
        """
        paging, page = self._paging, self._page
        bytes_ = sum(buffer.bytes for app in apps for buffer in self._arrays(app))
        room = paging.room(bytes_, len(self._frames))
        if room is not None and not page <= room <= memory.allocator.frames * page:
            raise UserError(
                f"paging: there would be {room} bytes of device memory for the "
                f"{bytes_} bytes of the arrays; allowed: from {page}, a page, to "
                f"{memory.allocator.frames * page}, what memory.size holds"
            )
        return DeviceMemory(
            None if room is None else room // page,
            max(paging.eviction_block // page, 1),
            make_policy(Slot.EVICTION, paging.eviction, seed),
            gpu,
        )

    @property
    def _several_sizes(self) -> bool:
        """Whether the allocator of frames says which pages are large, and not `large_pages`."""
        return self._config.memory.frames.policy in LARGE_PAGES

    def _wholes(self) -> Callable[[int], Sequence[int]]:
        """Sizes of the pages that may be made around a page."""
        if self._several_sizes:
            frames, tables = self._frames, self._tables
            return lambda tag: frames[tables.gpu_of(tag)][tag >> ASID_SHIFT].allocator.wholes(
                tag >> ASID_SHIFT, tag & VPN_MASK
            )
        sizes = (VA_BLOCK // self._page,) if self._paging.large_pages else ()
        return lambda _: sizes

    def _host_memory(self, gpu: int) -> HostMemory:
        """The host's memory as a GPU accesses it; each GPU counts its own accesses."""
        paging, shift = self._paging, self._page.bit_length() - 1
        migrate = partial(self.driver.migrate, gpu)
        accessed = None
        if paging.migration == "accesses":
            accessed = AccessCounters(
                self.placement,
                paging.threshold,
                paging.migration_block // self._page,
                shift,
                migrate,
            ).accessed
        if self.mover is not None:
            accessed = Mover(self.mover, self.placement, shift, migrate).accessed
        l2 = self._config.l2
        whole = self._config.node is None and not l2.sectored
        return HostMemory(
            self._env,
            self.links[gpu],
            paging.host_latency.cycles(self._config.clock),
            int(l2.line) if whole else None,
            len(self._tenants),
            accessed,
        )

    def begin(self) -> None:
        """Put pages where they are at first: on the device as far as there is room, or remote."""
        for app in range(len(self._tenants)):
            self._place_own(self._own[app])
            for tag in self._all_pages(app):
                if tag in self._own[app]:
                    continue
                if self._stays(tag) or self._paging.migration != "fault":
                    self.placement.map_remote(tag)
                elif self._paging.arrays == "device":
                    memory = self.memories.home(tag, 0)
                    if memory.room is None or memory.free():
                        self.placement.place(tag, memory)
            for memory in self.memories.of_app(app):
                if memory.blocks and self._several_sizes:
                    self.driver.join(memory.pages())

    # -- what the machine asks for ---------------------------------------------------------------

    def beyond(self, to_dram: Route) -> Route:
        """The route from an address to its channel, or to the host's memory.

        On a node requests to the host leave the GPU before its L2 cache, as those to other GPUs.
        """
        if not self.hosts or self._config.node is not None:
            return to_dram
        return RouteBeyond(to_dram, self.hosts[0].requests)

    def before(self, below: Stage, domain: Domain, several: bool) -> PageFaults:
        """The stage in front of the walkers of a domain, or of what stands before these."""
        instance = domain.index
        name = f"faults[{instance}]" if several else "faults"
        config, paging = self._config, self._paging
        gpu = instance if config.node is not None else 0

        def waiting_warps(tag: int) -> list[int]:
            found = (sm for tlb in self.first_tlbs for sm in tlb.waiting_warps(tag))
            return [sm for sm in found if sm in domain.sms]

        site = FaultSite(
            self._env,
            name,
            instance,
            config.walk.queue,
            len(self._tenants),
            None if paging.utlb_faults is None else waiting_warps,
            paging.utlb_faults,
            config.sms_per_tpc,
            paging.fault_interval.cycles(config.clock),
            0 if paging.host_walk is None else paging.host_walk.cycles(config.clock),
            HOST_BASE // self._page,
        )
        stage = PageFaults(site, below, self.driver.buffers[gpu], self.driver.wake)
        self.stages.append(stage)
        self._stages_of[gpu].append(stage)
        return stage

    def share(self, sharers: Sharers) -> None:
        """GPUs have tables of their own, and pages may move between their memories."""
        self.driver.sharers = sharers
        if isinstance(self._tables.table, NodeTable):
            self._tables.table.rooms = self.memories

    def watched(self, way: Sink) -> Sink:
        """The way out of an SM, on which stores and accesses are noted."""
        counts = any(memory.eviction.counts for memory in self.memories.all)
        return WatchedWay(way, self.memories, counts)

    def attach(self, board: SignalBoard) -> None:
        """Hand its policies the signals of the machine."""
        everywhere = board.at(range(self._config.sms))
        for _, policy in self.driver.policies():
            policy.attach(everywhere)  # type: ignore[attr-defined]
        if self.mover is not None:
            self.mover.attach(everywhere)

    @property
    def components(self) -> Iterator[Component]:
        """All of them but the stages."""
        yield self.driver
        yield from self.links
        yield from self.hosts

    def progress(self, work: int, walked: int) -> int:
        """Changes whenever warps get on, or pages move for them.

        Pages that come and go while no warp gets on are no progress: when more have left since then
        than several times as many as there is room for, only work counts.

        Args:
            work: instructions that were issued, and lines that came to warps.
            walked: walks that have ended.
        """
        counters = self.driver.counters
        left = sum(one.pages_out for one in counters)
        if work != self._work:
            self._work, self._left = work, left
        if left - self._left > self._most_in_vain:
            return work
        migrated = sum(one.pages_migrated for one in counters)
        came = left + sum(one.count_pages() for one in self.memories.all)
        return work + walked + self.driver.whole.batches + came + left + migrated

    # -- helpers ---------------------------------------------------------------------------------

    def _replay(self, gpu: int, still: Collection[int]) -> None:
        for stage in self._stages_of[gpu]:
            stage.replay(still)

    def _arrays(self, app: int) -> Sequence[Buffer]:
        return self._tenants[app].application.buffers

    def _all_pages(self, app: int) -> Iterator[int]:
        """Pages of all arrays of an application, none twice."""
        pages = (tag for one in self._arrays(app) for tag in self._pages_of(app, one))
        yield from dict.fromkeys(pages)

    def _pages_of(self, app: int, array: Buffer) -> range:
        first = array.base // self._page
        last = (array.base + max(array.bytes, 1) - 1) // self._page
        return range(app << ASID_SHIFT | first, (app << ASID_SHIFT | last) + 1)

    def _named_pages(self, tenant: Tenant, names: Collection[str]) -> frozenset[int]:
        """Pages of the arrays of these names."""
        app = self._tenants.index(tenant)
        named = [array for array in self._arrays(app) if array.name in names]
        return frozenset(tag for array in named for tag in self._pages_of(app, array))

    def _stays(self, tag: int) -> bool:
        return tag in self._pinned[tag >> ASID_SHIFT]

    def _place_own(self, tags: frozenset[int]) -> None:
        """Put pages on the device for good, and make the largest ones of them that can be."""
        for tag in sorted(tags):
            self.placement.own(tag)
        sizes = self._wholes()
        found = {(size, tag // size * size) for tag in tags for size in sizes(tag)}
        for size, first in sorted(found):
            if all(tag in tags for tag in range(first, first + size)):
                self.placement.join(first, size)


def _memories_by_gpu(tables: PageTables) -> Sequence[Sequence[Memory]]:
    """By GPU and application, the memories in which pages get frames."""
    table = tables.table
    return table.by_gpu if isinstance(table, NodeTable) else [table.memories]


def check_pinned(paging: PagingConfig, tenants: Sequence[Tenant]) -> None:
    """Refuse names of arrays, pinned or the device's own, that no application has.

    Raises:
        UserError: tells the nearest names.
    """
    names = [one.name for tenant in tenants for one in tenant.application.buffers]
    wanted = [("pinned", name) for name in paging.pinned]
    for key, name in [*wanted, *(("device", name) for name in paging.device)]:
        if name not in names:
            raise UserError(
                f"paging.{key}: no application has an array {name!r}{nearest(name, names)}; "
                f"allowed: {few(dict.fromkeys(names), name) or 'none, as they name no arrays'}"
            )
