"""Builds a GPU from a model and applications: the one place where components are wired."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import evolve, frozen

import gpusim.sm.thrashing_aware  # noqa: F401  (registers its policy)
from gpusim.cache import CacheBypass, L1Cache, L2Bank
from gpusim.cache.page_table_reads import Way, level_rows, make_levels, way_with_bypass
from gpusim.config.schema import GpuConfig, TlbConfig
from gpusim.config.units import cycles
from gpusim.counters import CounterRow
from gpusim.crossbar import Network, reply_bytes, request_bytes
from gpusim.dram import TranslationPressure, build_dram
from gpusim.engine import Environment, Port, Probe, Watchdog
from gpusim.errors import UserError
from gpusim.registry import Slot, make_policy
from gpusim.request import ASID_SHIFT, MemoryRequest, Translation
from gpusim.sm.block_scheduler import BlockPlacement, BlockScheduler
from gpusim.sm.ledger import Ledger
from gpusim.sm.sm import Sm
from gpusim.sm.translation import LOAD_STORE_UNITS
from gpusim.states import State, state_names
from gpusim.tlb import AlwaysFill, FillPolicy, IdealArray, TlbArray, TlbLevel
from gpusim.walk import FrameAllocator, PageTable, Walkers
from gpusim.warp_program import Application

_TABLE_SHARE = 64
"""One part in so many of physical memory is kept for page tables."""


@frozen
class Tenant:
    """An application and the SMs that it runs on.

    Attributes:
        name: for results.
        application: the program, freshly started.
        sms: indices of its SMs.
        restart: makes a fresh application, which runs when it has ended and others have not yet
            run once; None: it runs only once.
    """

    name: str
    application: Application
    sms: Sequence[int]
    restart: Callable[[], Application] | None = None


@frozen
class FirstRun:
    """What an application that was started again did in its first complete run.

    Attributes:
        counters: its counters.
        state_sums: (SMs, states) warp-cycles.
        warps: its warps.
    """

    counters: tuple[CounterRow, ...]
    state_sums: tuple[tuple[int, ...], ...]
    warps: int


class Machine:
    """A GPU with its tenants, ready to run.

    Attributes:
        env: simulated time.
        sms, l1s: SMs and their L1 caches.
        tlbs: the TLBs of each level, from the SM outward.
        walkers, page_table, banks, channels, networks: the rest of the memory system.
        schedulers: one block scheduler a tenant.
        first_runs: by index, the first run of each application that may be started again.
        on_interval: see `gpusim.sm.ledger.Ledger`.
    """

    def __init__(self, config: GpuConfig, tenants: Sequence[Tenant], seed: int) -> None:
        self.config = config
        self.tenants = tenants
        self.names = tuple(tenant.name for tenant in tenants)
        self.states = state_names(tuple(config.tlb))
        self.env = Environment()
        self.on_interval: Probe[[int, int, int, int, int, int, int]] = Probe()
        self.first_runs: dict[int, FirstRun] = {}
        self._warps = 0
        self._build_page_table(seed)
        self._build_memory()
        self._build_translation()
        self._build_sms()
        self._start_tenants()
        self.watchdog = Watchdog(
            self.env, config.watchdog.cycles(config.clock), self.in_flight, self._progress,
            self._report,
        )  # fmt: skip

    # -- wiring ----------------------------------------------------------------------------------

    def _build_page_table(self, seed: int) -> None:
        memory = self.config.memory
        usable = memory.size - memory.size // _TABLE_SHARE
        frames: FrameAllocator = make_policy(
            Slot.FRAMES, memory.frames, usable // memory.page, seed
        )
        self.page_table = PageTable(memory.page, memory.levels, memory.size, frames)
        if frames.eager:
            shift = memory.page.bit_length() - 1
            for asid, tenant in enumerate(self.tenants):
                for buffer in tenant.application.buffers:
                    last = buffer.base + max(buffer.bytes, 1) - 1
                    for vpn in range(buffer.base >> shift, (last >> shift) + 1):
                        self.page_table.walk(asid, vpn)

    def _build_memory(self) -> None:
        """DRAM, L2 banks and the two networks, from memory toward the SMs."""
        env, config, apps = self.env, self.config, len(self.tenants)
        self.channels, mapping = build_dram(
            env,
            config.dram,
            config.clock,
            apps=apps,
            request_bytes=config.l2.line,
            depth=config.l2.mshrs * -(-config.l2.banks // config.dram.channels),
        )
        channel_ports = [channel.requests for channel in self.channels]
        self._channel: Callable[[int], Port[MemoryRequest]] = lambda address: channel_ports[
            mapping.channel(address)
        ]
        self.page_table_levels = make_levels(apps, self.page_table.levels)
        banks = config.l2.banks
        line_shift = config.l2.line.bit_length() - 1
        self.requests = Network(
            env, "crossbar.requests", config.crossbar, config.clock, config.sm.count, banks,
            lambda request: (request.address >> line_shift) % banks, request_bytes,
        )  # fmt: skip
        self.replies = Network(
            env, "crossbar.replies", config.crossbar, config.clock, banks, config.sm.count,
            lambda request: request.sm, reply_bytes,
        )  # fmt: skip
        self.banks = [
            L2Bank(
                env, i, config.l2, config.clock, self.page_table_levels, self._channel,
                self.requests.links[i], self.replies.entrances[i],
            )
            for i in range(banks)
        ]  # fmt: skip
        ports = [bank.requests for bank in self.banks]
        self._bank_port: Way = lambda read: ports[(read.address >> line_shift) % banks]

    def _way_of_reads(self) -> Way:
        """Where page-table reads go; a bypass policy that lets some past the L2 cache is wired."""
        l2, channel = self.config.l2, self._channel

        def to_dram(read: MemoryRequest) -> Port[MemoryRequest]:
            return channel(read.address)

        if self.config.walk.memory == "dram":
            return to_dram
        bypass: CacheBypass = make_policy(Slot.CACHE_BYPASS, l2.bypass)
        if bypass.idle:
            return self._bank_port
        for bank in self.banks:
            bank.on_lookup.listen(bypass.l2_lookup)
        return way_with_bypass(
            self.env, bypass, self.page_table_levels, l2.line, self._bank_port, to_dram
        )

    def _build_translation(self) -> None:
        """The walkers, then the TLB levels from the last to the first."""
        env, config, apps = self.env, self.config, len(self.tenants)
        self.walkers = Walkers(
            env, config.walk, config.clock, self.page_table, apps, self._way_of_reads()
        )
        self.tlbs: dict[str, list[TlbLevel]] = {}
        names = list(config.tlb)
        for level in range(len(names) - 1, -1, -1):
            name = names[level]
            last = level == len(names) - 1
            state = State.WALKER if last else State.TLB + level + 1
            tlb = config.tlb[name]
            self.tlbs[name] = [
                TlbLevel(
                    env, f"tlb.{name}[{index}]", level, index, tlb, config.clock,
                    self._array(name, tlb), apps,
                    self._below(None if last else names[level + 1], tlb.scope, index), state,
                    self._fill_policy(tlb),
                )
                for index in range(self._scopes(tlb.scope))
            ]  # fmt: skip
        self.tlbs = {name: self.tlbs[name] for name in names}
        self._show_translation(self.tlbs[names[0]])

    def _show_translation(self, first_tlbs: Sequence[TlbLevel]) -> None:
        """Tell DRAM queues that ask for it of page walks and the warps that wait for them."""
        queues = [queue for channel in self.channels for queue in channel.queues if queue.epoch]
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

        self.walkers.on_admit.listen(pressure.walk_begun)
        self.walkers.on_walk.listen(ended)

    def _array(self, name: str, config: TlbConfig) -> TlbArray:
        if config.ideal:
            return IdealArray(self.page_table.translate)
        in_cycles = evolve(config, latency=cycles(config.latency.cycles(self.config.clock)))
        array: TlbArray = make_policy(Slot.TLB_ARRAY, config.array, in_cycles)
        if 0 < array.most_spaces < len(self.tenants):
            raise UserError(
                f"tlb.{name}.array: {config.array.policy!r} serves {array.most_spaces} "
                f"applications, there are {len(self.tenants)}"
            )
        return array

    def _fill_policy(self, config: TlbConfig) -> FillPolicy | None:
        """None where everything goes into the array, so that nobody need be asked."""
        if config.ideal:
            return None
        policy: FillPolicy = make_policy(
            Slot.TLB_FILL, config.fill, *self.config.tlb_users(config, len(self.tenants))
        )
        return None if type(policy) is AlwaysFill else policy

    def _below(self, level: str | None, scope: str, index: int) -> Port[Translation]:
        """Where TLB number `index` of a level of `scope` sends its misses."""
        if level is None:
            return self.walkers.requests
        return self._tlb_of(level, index * self.config.sms_of(scope)).requests

    def _tlb_of(self, level: str, sm: int) -> TlbLevel:
        """The TLB of a level that serves an SM."""
        return self.tlbs[level][sm // self.config.sms_of(self.config.tlb[level].scope)]

    def _scopes(self, scope: str) -> int:
        return -(-self.config.sm.count // self.config.sms_of(scope))

    def _build_sms(self) -> None:
        env, config, apps = self.env, self.config, len(self.tenants)
        first = next(iter(config.tlb))
        self.sms: list[Sm] = []
        self.l1s: list[L1Cache] = []
        for index in range(config.sm.count):
            ledger = Ledger(index, apps, len(self.states), self.on_interval)
            sm = Sm(
                env, index, config, apps, ledger,
                lambda: make_policy(Slot.WARP_SCHEDULER, config.sm.scheduler),
            )  # fmt: skip
            l1 = L1Cache(env, f"l1[{index}]", config.l1, config.clock, apps)
            sm.lsu = LOAD_STORE_UNITS[config.l1.translation](
                env, sm, config, self._tlb_of(first, index), l1,
                self.requests.entrances[index], self.replies.links[index],
            )  # fmt: skip
            sm.tlb_arrays = [self._tlb_of(level, index).array for level in config.tlb]
            self.sms.append(sm)
            self.l1s.append(l1)

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

            self._tlb_of(first, sm).on_lookup.listen(tell)

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

    def components(self) -> Iterator[Any]:
        """Everything that has `in_flight` and `waiting`, from the SMs to DRAM."""
        yield from self.schedulers
        yield from self.sms
        yield from self.l1s
        for tlbs in self.tlbs.values():
            yield from tlbs
        yield from (self.walkers, self.requests, self.replies)
        yield from self.banks
        yield from self.channels

    def in_flight(self) -> int:
        """Warps, requests and translations that are not finished."""
        return sum(component.in_flight() for component in self.components())

    def counter_rows(self) -> Iterator[CounterRow]:
        """All counters of all components."""
        names = self.names
        for sm in self.sms:
            yield from sm.counter_rows(names)
        for index, l1 in enumerate(self.l1s):
            yield from l1.counter_rows("l1", index, names)
        for name, tlbs in self.tlbs.items():
            for index, tlb in enumerate(tlbs):
                yield from tlb.counter_rows(f"tlb/{name}", index, names)
        yield from self.walkers.counter_rows("walk", names)
        yield from self.requests.counter_rows("crossbar/requests")
        yield from self.replies.counter_rows("crossbar/replies")
        for index, bank in enumerate(self.banks):
            yield from bank.counter_rows("l2", index, names)
        if self.config.walk.reads("l2"):
            yield from level_rows(self.page_table_levels, names)
        for channel in self.channels:
            yield from channel.counters(names)

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
        walked = sum(c.walks for c in self.walkers.counters)
        return issued + filled + walked + self.replies.counters.packets

    def _report(self) -> str:
        return "\n".join(
            f"  {line}" for component in self.components() for line in component.waiting()
        )
