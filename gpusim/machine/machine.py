"""Builds a GPU from a model and applications: the one place where components are wired."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import gpusim.hardware.sm.thrashing_aware  # noqa: F401  (registers its policy)
from gpusim.config.schema import FBT_LEVEL, GpuConfig
from gpusim.core.component import Component, metrics_of
from gpusim.core.counters import CounterRow
from gpusim.core.engine import Environment, Probe, Watchdog
from gpusim.core.registry import Slot, make_policy
from gpusim.core.request import ASID_SHIFT
from gpusim.core.states import state_names
from gpusim.core.warp_program import Application
from gpusim.hardware.cache import L1Cache, RemappingL1Cache, VirtualL1Cache
from gpusim.hardware.cache.page_table_reads import PageTableLevel, make_levels
from gpusim.hardware.dram import TranslationPressure
from gpusim.hardware.sm.block_scheduler import BlockPlacement, BlockScheduler
from gpusim.hardware.sm.ledger import Ledger
from gpusim.hardware.sm.load_store_unit import LoadStoreUnit
from gpusim.hardware.sm.sm import Sm
from gpusim.hardware.tlb import TlbLevel
from gpusim.hardware.walk import FrameAllocator, Memory, PageTable
from gpusim.machine.domains import Part, divide
from gpusim.machine.memory_system import MemorySystem
from gpusim.machine.tenants import FirstRun, Tenant
from gpusim.machine.translation import TlbHierarchy
from gpusim.machine.virtual_caches import connect_fbt

_TABLE_SHARE = 64
"""One part in so many of physical memory is kept for page tables."""


class Machine:
    """A GPU with its tenants, ready to run.

    Attributes:
        env: simulated time.
        sms, l1s: SMs and their L1 caches.
        tlbs: the TLBs of each level, from the SM outward.
        page_table: of all address spaces.
        systems: the rest of the memory system: one for all SMs, or one for each MIG instance.
        system_of: by SM, its own of them.
        page_table_levels: those whose reads go to the L2 cache.
        fbt: forward–backward table of virtual caches; None: caches are physical.
        schedulers: one block scheduler a tenant.
        first_runs: by index, the first run of each application that may be started again.
        on_interval: see `gpusim.hardware.sm.ledger.Ledger`.
        metrics: headline numbers that its components declare.
    """

    def __init__(self, config: GpuConfig, tenants: Sequence[Tenant], seed: int) -> None:
        self.config = config
        self.tenants = tenants
        self.names = tuple(tenant.name for tenant in tenants)
        self.states = state_names((*config.tlb, FBT_LEVEL) if config.fbt else tuple(config.tlb))
        self.env = Environment()
        self.on_interval: Probe[[int, int, int, int, int, int, int]] = Probe()
        self.first_runs: dict[int, FirstRun] = {}
        self._warps = 0
        self._domains = divide(config, tenants)
        self._build_page_table(seed)
        self._build_memory()
        self._build_translation()
        self._build_sms()
        if self.fbt is not None:
            connect_fbt(self.fbt, self.tlbs.values(), self.systems[0].banks, self.l1s)
        self._start_tenants()
        self.metrics = metrics_of(self.components(), len(tenants))
        self.watchdog = Watchdog(
            self.env, config.watchdog.cycles(config.clock), self.in_flight, self._progress,
            self._report,
        )  # fmt: skip

    # -- wiring ----------------------------------------------------------------------------------

    def _build_page_table(self, seed: int) -> None:
        page = self.config.memory.page
        memories: dict[int, Memory] = {}
        for part in (part for domain in self._domains for part in domain.parts):
            memories.update(dict.fromkeys(part.apps, self._memory(part, seed)))
        in_order = [memories[asid] for asid in range(len(self.tenants))]
        self.page_table = PageTable(page, self.config.memory.levels, in_order)
        shift = page.bit_length() - 1
        for asid, tenant in enumerate(self.tenants):
            for buffer in tenant.application.buffers if memories[asid].eager else ():
                last = buffer.base + max(buffer.bytes, 1) - 1
                for vpn in range(buffer.base >> shift, (last >> shift) + 1):
                    self.page_table.walk(asid, vpn)

    def _memory(self, part: Part, seed: int) -> Memory:
        page = self.config.memory.page
        usable = part.size - part.size // _TABLE_SHARE
        frames: FrameAllocator = make_policy(
            Slot.FRAMES, self.config.memory.frames, usable // page, seed
        )
        return Memory(page, part.size, frames, part.base)

    def _build_memory(self) -> None:
        several = len(self._domains) > 1
        levels = make_levels(len(self.tenants), self.page_table.levels)
        depths = range(1, self.page_table.levels + 1) if self.config.walk.reads("l2") else ()
        self.page_table_levels = [PageTableLevel(depth, levels) for depth in depths]
        self.systems = [
            MemorySystem(self.env, domain, several, self.page_table, levels)
            for domain in self._domains
        ]
        self.system_of = {sm: system for system in self.systems for sm in system.domain.sms}
        self.fbt = self.systems[0].fbt

    def _build_translation(self) -> None:
        self._tlbs = TlbHierarchy(
            self.env, self.config, self.system_of, self.page_table, len(self.tenants), self.fbt
        )
        self.tlbs = self._tlbs.levels
        self._show_translation(next(iter(self.tlbs.values())))

    def _show_translation(self, first_tlbs: Sequence[TlbLevel]) -> None:
        """Tell DRAM queues that ask for it of page walks and the warps that wait for them."""
        channels = [channel for system in self.systems for channel in system.channels]
        queues = [queue for channel in channels for queue in channel.queues if queue.epoch]
        if not queues:
            return
        pressure = TranslationPressure(len(self.tenants), queues[0].epoch)
        for queue in queues:
            queue.watch(pressure)
        for tlb in first_tlbs:
            tlb.on_miss.listen(pressure.missed)
            tlb.on_fill.listen(pressure.filled)

        def ended(
            asid: int, vpn: int, _sm: int, app: int, _asked: int, _began: int, now: int, _read: int
        ) -> None:
            pressure.walk_ended(app, asid << ASID_SHIFT | vpn, now)

        for system in self.systems:
            system.walkers.on_admit.listen(pressure.walk_begun)
            system.walkers.on_walk.listen(ended)

    def _build_sms(self) -> None:
        env, config, apps = self.env, self.config, len(self.tenants)
        first = next(iter(config.tlb))
        self.sms: list[Sm] = []
        self.l1s: list[L1Cache] = []
        for index, system in self.system_of.items():
            own = index - system.domain.sms.start
            ledger = Ledger(index, apps, len(self.states), self.on_interval)
            sm = Sm(
                env, index, config, apps, ledger,
                lambda: make_policy(Slot.WARP_SCHEDULER, config.sm.scheduler),
            )  # fmt: skip
            l1 = self._l1(index)
            sm.lsu = LoadStoreUnit(
                env, sm, config, self._tlbs.of(first, index), l1,
                system.requests.entrances[own], system.replies.links[own],
            )  # fmt: skip
            if isinstance(l1, RemappingL1Cache):
                l1.connect(sm.lsu.send_again)
            sm.tlb_arrays = [self._tlbs.of(level, index).array for level in config.tlb]
            self.sms.append(sm)
            self.l1s.append(l1)

    def _l1(self, index: int) -> L1Cache:
        config = self.config
        common = self.env, index, config.l1, config.clock, len(self.tenants)
        if self.fbt is None or config.fbt is None:
            return L1Cache(*common)
        if config.fbt.remapping is not None:
            return RemappingL1Cache(*common, self.fbt.lines_shift, config.fbt.remapping)
        return VirtualL1Cache(*common, self.fbt.lines_shift)

    def _start_tenants(self) -> None:
        self.schedulers = []
        for app, tenant in enumerate(self.tenants):
            placement = make_policy(Slot.BLOCK_SCHEDULER, self.config.block_scheduler)
            if placement.watches_tlbs:
                self._show_tlbs(placement, tenant.sms)
            scheduler = BlockScheduler(
                self.env, app, app, tenant.application, self.config.sm, placement,
                self._number_warps, self._run_ended,
            )  # fmt: skip
            scheduler.start([self.sms[index] for index in tenant.sms])
            self.schedulers.append(scheduler)

    def _show_tlbs(self, placement: BlockPlacement, sms: Sequence[int]) -> None:
        """Tell a placement of the lookups in the first TLBs of its SMs."""
        first = next(iter(self.tlbs))
        for position, sm in enumerate(sms):

            def tell(
                _level: int, _index: int, _tag: int, hit: bool, cycle: int, position: int = position
            ) -> None:
                placement.tlb_lookup(position, hit, cycle)

            self._tlbs.of(first, sm).on_lookup.listen(tell)

    def _number_warps(self, count: int) -> int:
        first = self._warps
        self._warps += count
        return first

    def _run_ended(self, app: int) -> Application | None:
        """Keep the statistics of a first run; start again while others have not had theirs."""
        tenant, scheduler = self.tenants[app], self.schedulers[app]
        if tenant.restart is not None and app not in self.first_runs:
            self.first_runs[app] = FirstRun(
                tuple(row for row in self.counter_rows() if row.app == tenant.name),
                tuple(tuple(sm.ledger.sums[app]) for sm in self.sms),
                scheduler.warps_launched,
            )
        if any(other.in_flight() for other in self.schedulers):
            return tenant.restart() if tenant.restart is not None else None
        for other in self.schedulers:
            other.stop()
        return None

    # -- reports ---------------------------------------------------------------------------------

    @property
    def transactions(self) -> int:
        """Coalesced data transactions issued so far."""
        return sum(c.transactions for sm in self.sms for c in sm.counters)

    @property
    def warps_ended(self) -> int:
        """Warps that have ended so far."""
        return sum(c.warps for sm in self.sms for c in sm.counters)

    def components(self) -> Iterator[Component]:
        """All parts, from the SMs to DRAM."""
        yield from self.schedulers
        yield from self.sms
        for tlbs in self.tlbs.values():
            yield from tlbs
        yield from self.l1s
        for system in self.systems:
            yield from system.components
        yield from self.page_table_levels

    def policies(self) -> Iterator[tuple[str, object]]:
        """All that its components ask, and those between them, each with its key in the model."""
        for component in self.components():
            yield from component.policies()
        for system in self.systems:
            if system.bypass is not None:
                yield "l2.bypass", system.bypass

    def in_flight(self) -> int:
        """Warps, requests and translations that are not finished."""
        return sum(component.in_flight() for component in self.components())

    def counter_rows(self) -> Iterator[CounterRow]:
        """All counters of all components."""
        for component in self.components():
            yield from component.counter_rows(self.names)

    def first_run_rows(self) -> Iterator[CounterRow]:
        """All counters; of applications that were started again, those of the first run."""
        names = {self.names[app] for app in self.first_runs}
        yield from (row for row in self.counter_rows() if row.app not in names)
        for first_run in self.first_runs.values():
            yield from first_run.counters

    def first_run_state_sums(self, app: int) -> Sequence[Sequence[int]]:
        """(SMs, states) warp-cycles of an application, in its first run."""
        if app in self.first_runs:
            return self.first_runs[app].state_sums
        return [sm.ledger.sums[app] for sm in self.sms]

    def _progress(self) -> int:
        """Changes whenever a transaction is issued or answered, a page walked, a warp ended."""
        issued = sum(c.instructions + c.warps for sm in self.sms for c in sm.counters)
        filled = sum(c.fills for l1 in self.l1s for c in l1.counters)
        walked = sum(c.walks for system in self.systems for c in system.walkers.counters)
        replied = sum(system.replies.counters.packets for system in self.systems)
        return issued + filled + walked + replied

    def _report(self) -> str:
        return "\n".join(
            f"  {line}" for component in self.components() for line in component.waiting()
        )
