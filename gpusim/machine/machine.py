"""Builds a GPU from a model and applications: the one place where components are wired."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from gpusim.config.schema import GpuConfig
from gpusim.core.component import Component, metrics_of
from gpusim.core.counters import CounterRow
from gpusim.core.engine import Environment, LeadingEnvironment, Probe, Sink, Watchdog
from gpusim.core.mapping import Mapping
from gpusim.core.registry import Slot, make_policy
from gpusim.core.stage import Prefetches
from gpusim.core.states import FAMILIES, TLB_PREFIX, families, state_names
from gpusim.hardware.cache import L1_PATH, CacheSite, L1Cache
from gpusim.hardware.cache.page_table_reads import PageTableLevel, StageTables, make_levels
from gpusim.hardware.sm.block_scheduler import ApplicationSite
from gpusim.hardware.sm.ledger import Ledger
from gpusim.hardware.sm.load_store_unit import LoadStoreUnit
from gpusim.hardware.sm.lsu_interfaces import LsuSite
from gpusim.hardware.sm.occupancy import Occupancy
from gpusim.hardware.sm.sharing import SmSharing
from gpusim.hardware.sm.sm import Sm
from gpusim.hardware.sm.speculation import SpeculativeFetches
from gpusim.hardware.sm.untimed.scheduler import Pace, SkippingScheduler
from gpusim.hardware.sm.walk_warp import WalkWarp
from gpusim.machine.auxiliary_caches import build_sides
from gpusim.machine.domains import divide, gpus_of
from gpusim.machine.first_runs import FirstRuns, FirstRunsWatchdog
from gpusim.machine.mapping_calls import calls_of
from gpusim.machine.memory_system import MemorySystem, nothing_beyond
from gpusim.machine.page_tables import build_page_tables
from gpusim.machine.pages import Pages
from gpusim.machine.schedulers import SchedulerSite, share_sms
from gpusim.machine.signal_board import attach_policies, make_boards
from gpusim.machine.speculation import Speculation
from gpusim.machine.tenants import Tenant
from gpusim.machine.translation import TranslationStages, tlb_states
from gpusim.machine.virtual_caches import connect_fbt, leading_names, shootdowns_of
from gpusim.machine.warp_walks import walk_warps

if TYPE_CHECKING:
    from gpusim.machine.node import Node
    from gpusim.machine.paging import Paging
    from gpusim.machine.sides import JoinedSides
    from gpusim.machine.sides.apart import MemoryApart


class Machine:
    """A GPU with its tenants, ready to run.

    Attributes:
        env: simulated time.
        sms, l1s: SMs and their L1 caches.
        sides: the side caches, if the model has some.
        speculations: speculative fetches of each SM, if the model has some.
        walk_warps: the warp of each SM that executes walks, if warps do.
        tlbs: the TLBs of each level, from the SM outward.
        translation: what is between the SMs and the walkers.
        stages: all stages of translation but the walkers, level by level.
        prefetches: whether a stage of them may prefetch, so that prefetches are counted.
        pages: what may be done to pages; tells whatever holds their translations.
        frames: the frame allocator of each memory.
        page_table: of all address spaces.
        layouts: where entries of page tables lie that are in no radix tree.
        systems: the rest of the memory system: one for all SMs, or one for each MIG instance or GPU
            of a node.
        node: what joins the GPUs of a node; None: there is one.
        system_of: by SM, its own of them.
        page_table_levels: the levels whose reads go to the L2 cache.
        fbts: forward–backward tables of virtual caches, by application; empty: caches are physical.
        schedulers: one block scheduler a tenant.
        sharing: decides how they share the SMs.
        time_slicer: lets them take turns; None: all may place blocks all the time.
        first_runs: what applications did in their first run, where that is kept apart.
        on_interval: see `gpusim.hardware.sm.ledger.Ledger`.
        states, families: names of the states of a warp, and what they have in common.
        metrics: headline numbers that its components declare.
        memory_env: simulated time of the memory side, where that has a loop of its own.
        joined: both sides of the crossbar, where each has a loop of its own; else None.
        apart: what reads the memory side, where that is in another process; else None.
    """

    def __init__(
        self,
        config: GpuConfig,
        tenants: Sequence[Tenant],
        seed: int,
        pace: Pace | None = None,
    ) -> None:
        self.config = config
        self.tenants = tenants
        self.names = tuple(tenant.name for tenant in tenants)
        self.states = state_names(tlb_states(config), tuple(config.stage))
        self.families = families(self.states)
        self.apart: MemoryApart | None = None
        self.env: Environment = Environment()
        self.memory_env = self.env
        if config.crossbar.order is not None:
            self.env = LeadingEnvironment()
        self.on_interval: Probe[[int, int, int, int, int, int, int]] = Probe()
        self.first_runs = FirstRuns(self)
        self._warps = 0
        self._pace = pace
        self._kind_of_scheduler = None if pace is None else pace.kind_of_scheduler()
        self._domains = divide(config, tenants)
        if config.crossbar.order is not None:
            from gpusim.machine.sides import refuse_together

            refuse_together(self._domains, tenants, paced=pace is not None)
        self._build_page_table(seed)
        self._build_memory()
        self._build_translation()
        self._build_sms()
        self.walk_warps: list[WalkWarp] = []
        if config.walk.warps is not None:
            self.walk_warps += walk_warps(
                self.env, config.sm, config.walk.warps, self.sms, self.system_of
            )
        self.sides = build_sides(
            self.env, config, self.systems, self.translation, self.sms, len(tenants)
        )
        if self.fbts:
            self.pages.virtual = shootdowns_of(self.fbts)
            self._connect_fbts()
        self._board, board_of_memory = make_boards(self)
        attach_policies(self, self._board, board_of_memory)
        if self.paging is not None:
            self.paging.begin()
            if self.node is not None and self.node.far is not None:
                self.node.far.enter_placed()
        self._start_tenants()
        self._further: list[Component] = []
        self._own_states: list[str] = []
        self._take_in()
        patience = config.watchdog.cycles(config.clock)
        self.watchdog = Watchdog(self.env, patience, self.in_flight, self._progress, self._report)
        if any(tenant.restart is not None for tenant in self.tenants):
            FirstRunsWatchdog(self, patience, self._report)

    # -- wiring ----------------------------------------------------------------------------------

    def _build_page_table(self, seed: int) -> None:
        self._tables = build_page_tables(self.config, self._domains, len(self.tenants), seed)
        self.page_table = self._tables.table
        self.pages = Pages(self.page_table)
        self.frames = self._tables.frames
        self.layouts = self._tables.layouts
        self.paging: Paging | None = None
        if self.config.paging is not None:
            from gpusim.machine.paging import Paging, PagingSite, check_pinned

            check_pinned(self.config.paging, self.tenants)
            site = PagingSite(self.env, self.config, self._tables, self.pages, self._drop)
            self.paging = Paging(site, self.tenants, seed)
        self.mapping_calls = calls_of(self.env, self.config, self.tenants, self.pages)
        for asid, tenant in enumerate(self.tenants):
            gpus = gpus_of(self._domains, tenant.sms)
            self._tables.begin(asid, tenant.name, tenant.application.buffers, gpus)

    def _build_memory(self) -> None:
        several = len(self._domains) > 1
        apps = len(self.tenants)
        levels = make_levels(apps, self._tables.walked[0].levels)
        depths = range(1, self._tables.walked[0].levels + 1) if self.config.walk.reads("l2") else ()
        self.page_table_levels = [PageTableLevel(depth, levels) for depth in depths]
        if self.config.stage:
            self.page_table_levels.append(StageTables(levels))
        paging = self.paging
        beyond = nothing_beyond if paging is None else paging.beyond
        self.systems = [
            MemorySystem(self.memory_env, domain, several, table, levels, beyond)
            for domain, table in zip(self._domains, self._tables.walked, strict=True)
        ]
        self.node: Node | None = None
        if self.config.node is not None:
            from gpusim.machine.node import Node

            self.node = Node(self.env, self.config, self.systems, self._tables, apps, self._drop)
        if paging is not None:
            for system in self.systems:
                below, domain = system.translations, system.domain
                system.translations = paging.before(below, domain, several)
            if self.node is not None:
                self.node.reach_hosts([host.requests for host in paging.hosts])
                if self.node.far is not None:
                    paging.share(self.node.far.moves.departures)
        self.joined: JoinedSides | None = None
        if isinstance(self.env, LeadingEnvironment):
            from gpusim.machine.sides import join_sides

            self.joined = join_sides(self.env, self.systems[0], self.page_table)
        self.system_of = {sm: system for system in self.systems for sm in system.domain.sms}
        self.fbts = {
            app: system.fbt
            for system in self.systems
            if system.fbt is not None
            for app in system.domain.apps
        }

    def _build_translation(self) -> None:
        self.translation = TranslationStages(
            self.env,
            self.config,
            self.system_of,
            self.pages,
            len(self.tenants),
            self.fbts,
        )
        self.pages.holders += self._tables.holders
        self.tlbs = self.translation.levels
        if self.paging is not None:
            self.paging.first_tlbs = next(iter(self.tlbs.values()), ())
        self.stages = self.translation.in_order
        self.prefetches = bool(self.config.stage)

    def _build_sms(self) -> None:
        env, config, apps = self.env, self.config, len(self.tenants)
        first = next(iter(config.tlb))
        speculation: Speculation | None = None
        if config.speculation is not None:
            has_frame = self.page_table.has_frame
            speculation = Speculation(env, config, config.speculation, apps, has_frame)
        self.sms: list[Sm] = []
        self.speculations: list[SpeculativeFetches] = []
        self.l1s: list[L1Cache] = []
        for index, system in self.system_of.items():
            own = index - system.domain.sms.start
            ledger = Ledger(index, apps, len(self.states), self.on_interval)
            sm = Sm(
                env,
                index,
                config,
                apps,
                ledger,
                lambda: make_policy(Slot.WARP_SCHEDULER, config.sm.scheduler),
            )
            l1 = self._l1(index)
            out: Sink = system.entrances[own]
            if self.paging is not None:
                out = self.paging.watched(out)
            if self.node is not None:
                out = self.node.watched(out, system.domain.index)
            tlb, replies = self.translation.of(first, index), system.exits[own]
            if speculation is not None:
                self.speculations.append(speculation.of(tlb, l1, out))
                out = self.speculations[-1].way
            sm.lsu = LoadStoreUnit(LsuSite(env, config, tlb, l1, out, replies), sm)
            if speculation is not None:
                self.speculations[-1].translations = sm.lsu.point.translated
            l1.connect(sm.lsu.send_again)
            self.sms.append(sm)
            self.l1s.append(l1)
        if self.node is not None:
            self.node.connect(self.translation.holders_of, self.sms)

    def _l1(self, index: int) -> L1Cache:
        config, apps, fbt = self.config, len(self.tenants), self.system_of[index].fbt
        site = CacheSite(self.env, L1_PATH, index, config.clock, apps)
        return L1Cache(site, config.l1, leading_names(config, fbt, apps, config.l1.line))

    def _connect_fbts(self) -> None:
        """Introduce the forward–backward table of each system to what lies around it there."""
        first = next(iter(self.config.tlb))
        for system in self.systems:
            sms = system.domain.sms
            caches = [self.l1s[sm] for sm in sms]
            caches += [path.cache for path in self.sides if path.side.sms.start in sms]
            tlb = self.translation.of(first, sms.start)
            if system.fbt is not None:
                connect_fbt(system.fbt, self.pages.holders, tlb, system.banks, caches)

    def _start_tenants(self) -> None:
        self.schedulers = []
        board = self._board
        self.sharing: SmSharing = make_policy(
            Slot.SM_SHARING, self.config.sharing, self.config.clock
        )
        self.sharing.attach(board.at(range(self.config.sms)))
        rooms = [Occupancy(self.config.sm) for _ in self.sms]
        engines = [] if self.node is None else [one.orders for one in self.node.copy_engines]
        around = SchedulerSite(
            self.env,
            self.config,
            self._kind_of_scheduler,
            self._domains,
            board,
            engines,
            [] if self.node is None else [one.invalidate for one in self.node.copies],
        )
        for app, tenant in enumerate(self.tenants):
            site = ApplicationSite(
                app,
                app,
                tenant.timed or tenant.application,
                self._number_warps,
                self.first_runs.run_ended,
                self.mapping_calls,
            )
            scheduler = around.make(site, tenant)
            if isinstance(scheduler, SkippingScheduler) and self._pace is not None:
                scheduler.pace = self._pace
            scheduler.most_threads = self.sharing.threads(tenant.share, self.config.sm.max_threads)
            scheduler.start(
                [self.sms[index] for index in tenant.sms], [rooms[index] for index in tenant.sms]
            )
            self.schedulers.append(scheduler)
        self.page_table.reserved.runs_now = lambda asid: self.schedulers[asid].runs_now()
        self.time_slicer = share_sms(self.env, self.sharing, self.schedulers)

    def _number_warps(self, count: int) -> int:
        first = self._warps
        self._warps += count
        return first

    def _drop(self, mapping: Mapping) -> None:
        """A page is not where it was, or not there any more: no cache keeps lines of it."""
        if self.fbts:
            return  # virtual caches have forgotten it with its translation
        shift = self.page_table.page_shift
        for cache in (*self.l1s, *(side.cache for side in self.sides)):
            cache.drop(mapping, shift)
        shift -= self.config.l2.line.bit_length() - 1
        for line in range(mapping.pfn << shift, (mapping.pfn + mapping.pages) << shift):
            for system in self.systems:
                system.bank_of(line).lines.remove_of_all(line)

    # -- what components declare -----------------------------------------------------------------

    def add(self, component: Component) -> None:
        """Take in a further part, before the first cycle; it is wired already.

        Raises:
            UserError, ValueError: what it declares contradicts what others do.
        """
        self._further.append(component)
        self._take_in()

    def _take_in(self) -> None:
        """Number the states that components add, and gather their headline numbers."""
        for component in self.components():
            for name in component.states:
                self._add_state(name, component.state_family)
            component.state_numbers = tuple(map(self.states.index, component.states))
        self.metrics = metrics_of(self.components(), len(self.tenants))

    def _add_state(self, name: str, family: str) -> None:
        if name in self._own_states:
            if self.families[self.states.index(name)] != family:
                raise ValueError(f"the state {name!r} is of two families")
            return
        if name in self.states or name.startswith(TLB_PREFIX) or family not in FAMILIES:
            raise ValueError(
                f"a component cannot add a state {name!r} of family {family!r}: its name is taken, "
                f"or begins with {TLB_PREFIX!r}, or the family is none of {', '.join(FAMILIES)}"
            )
        self._own_states.append(name)
        self.states += (name,)
        self.families += (family,)
        for sm in self.sms:
            sm.ledger.add_states(1)

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
        if self.time_slicer is not None:
            yield self.time_slicer
        yield from self.sms
        for stages in self.stages:
            yield from stages
        if self.paging is not None:
            yield from self.paging.stages
            yield from self.paging.components
        yield from self.l1s
        yield from self.speculations
        yield from self.walk_warps
        for side in self.sides:
            yield from side.components
        for system in self.systems:
            yield from system.components
        if self.node is not None:
            yield from self.node.components
        if self.mapping_calls is not None:
            yield self.mapping_calls
        yield from self.page_table_levels
        if self.prefetches:
            stages = (*chain.from_iterable(self.stages), *(one.walkers for one in self.systems))
            yield from (Prefetches(stage) for stage in stages if stage.prefetches)
        yield from self._further

    def recordable(self) -> Iterator[tuple[str, Any]]:
        """What can be recorded of it: names of event tables, each with a probe for its rows.

        Auxiliary caches are left out: tables number SMs and TLB levels without them.
        """
        auxiliary = {id(one) for side in self.sides for one in side.components}
        yield "intervals", self.on_interval
        for component in self.components():
            if id(component) not in auxiliary:
                yield from component.recordable()

    def policies(self) -> Iterator[tuple[str, object]]:
        """All that its components ask, and those between them, each with its key in the model."""
        for component in self.components():
            yield from component.policies()
        for system in self.systems:
            if system.bypass is not None:
                yield "l2.bypass", system.bypass
        if self.time_slicer is None:
            yield "sharing", self.sharing
        if self.node is not None:
            yield from self.node.policies()
        if self.paging is not None and self.paging.mover is not None:
            yield "paging.mover", self.paging.mover
        yield from (("memory.frames", frames) for frames in self.frames)
        yield from (("memory.table", layout) for layout in self.layouts)

    def memory_side(self) -> Sequence[Component]:
        """The components behind the crossbar."""
        return [*chain.from_iterable(s.components for s in self.systems), *self.page_table_levels]

    def in_flight(self) -> int:
        """Warps, requests and translations that are not finished."""
        return sum(left for _, left in self.unfinished())

    def unfinished(self) -> Iterator[tuple[Component, int]]:
        """All components, each with what it has not finished."""
        if self.apart is not None:
            yield from self.apart.unfinished()
        else:
            yield from ((component, component.in_flight()) for component in self.components())

    def counter_rows(self) -> Iterator[CounterRow]:
        """All counters of all components."""
        return self.own_counter_rows() if self.apart is None else self.apart.counter_rows()

    def own_counter_rows(self) -> Iterator[CounterRow]:
        """All counters, as this process has counted them."""
        for component in self.components():
            yield from component.counter_rows(self.names)

    def _progress(self) -> int:
        """Changes whenever a transaction is issued or answered, a page walked, a warp ended.

        So it does when a call has mapped a piece of an array.

        Where pages come on demand, they and their walks count while warps get on between them.
        """
        issued = sum(c.instructions + c.warps for sm in self.sms for c in sm.counters)
        filled = sum(c.fills for l1 in self.l1s for c in l1.counters)
        apart = self.apart
        walked, replied = self.progress_of_memory() if apart is None else apart.ask("progress")
        work = issued + filled + replied
        if self.mapping_calls is not None:
            work += self.mapping_calls.pieces()
        return work + walked if self.paging is None else self.paging.progress(work, walked)

    def progress_of_memory(self) -> tuple[int, int]:
        """Walks that have ended, and replies that the memory side has sent."""
        walked = sum(c.walks for system in self.systems for c in system.walkers.counters)
        return walked, sum(system.replies.counters.packets for system in self.systems)

    def _report(self) -> str:
        apart = self.apart
        each = (component.waiting() for component in self.components())
        waiting = chain.from_iterable(each) if apart is None else apart.waiting()
        return "\n".join(f"  {line}" for line in waiting)
