"""Wires what GPUs of a node need that ask a host for pages: far faults, the host's MMU, moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from gpusim.config.node import HostMmuConfig, NodeConfig
from gpusim.config.schema import GpuConfig
from gpusim.core.component import Component
from gpusim.core.engine import Environment, Sink
from gpusim.core.mapping import Mapping as Page
from gpusim.core.registry import Slot, make_policy
from gpusim.core.signals import SignalBoard
from gpusim.core.stage import Stage
from gpusim.hardware.node import (
    AccessesUnderWay,
    FarFaults,
    FarFaultSite,
    Forwarding,
    Gateway,
    GpuSide,
    HeldStores,
    HeldStoresSite,
    HostMmu,
    Invalidation,
    MoveSite,
    PageMoves,
    RemotePages,
    WatchedExit,
)
from gpusim.hardware.sm.sm import Sm
from gpusim.hardware.walk import FarTable, MovingTable, NodeTable, PageTable
from gpusim.machine.memory_system import MemorySystem


class FarMemory:
    """Far faults of a node, and what resolves them.

    Args:
        env: the environment.
        config: the machine.
        node: its table of the node.
        host: its table of the host's MMU.
        table: knows all pages.
        apps: applications that share the machine.
        drop: caches forget the lines of a page.

    Attributes:
        policy: which pages move.
        moves, host: components.
        stages: by GPU, in front of its walkers.
    """

    def __init__(
        self,
        env: Environment,
        config: GpuConfig,
        host: HostMmuConfig,
        table: NodeTable,
        apps: int,
        drop: Callable[[Page], None],
    ) -> None:
        assert config.node is not None
        node: NodeConfig = config.node
        self._env = env
        self._config = config
        self._table = table
        self._apps = apps
        self._trip = host.trip.cycles(config.clock)
        self.policy: RemotePages = make_policy(
            Slot.REMOTE_PAGES, node.remote, node.gpus, config.memory.page
        )
        self._invalidation: Invalidation | None = None
        if node.invalidation is not None:
            self._invalidation = make_policy(
                Slot.INVALIDATION, node.invalidation, node.gpus, config.memory.table_entries
            )
        self._forwarding: Forwarding | None = None
        if node.forwarding is not None:
            self._forwarding = make_policy(Slot.FORWARDING, node.forwarding, node.gpus)
        site = MoveSite(
            env,
            config.clock,
            apps,
            self._trip,
            node.migration,
            drop,
            self._invalidation,
            self._forwarding,
            config.paging is not None,
            node.page_tables == "shared",
        )
        self.moves = PageMoves(site, table, self.policy)
        self.host = HostMmu(env, host, config.clock, apps, self.moves.resolve, self._forwarding)
        self.moves.on_gone.listen(self.host.shoot_down)
        self.stages: list[FarFaults] = []
        self._follows = self.policy.moves or config.paging is not None
        self._accesses = [AccessesUnderWay(gpu) for gpu in range(node.gpus)]
        if self.policy.copies:
            self.moves.stores = [self._held_stores(one) for one in self._accesses]

    def before(self, system: MemorySystem) -> FarFaults:
        """The stage in front of the walkers of a GPU."""
        site = FarFaultSite(
            self._env,
            system.domain.index,
            self._config.walk.queue,
            self._apps,
            self.host.requests,
            self._trip,
            self.moves.enter,
            self._table.of_users,
            system.domain.sms.start,
            self._invalidation,
            self._forwarding,
        )
        stage = FarFaults(site, system.walkers)
        self.stages.append(stage)
        self.moves.faults = self.host.gpus = self.stages
        return stage

    def _held_stores(self, accesses: AccessesUnderWay) -> HeldStores:
        """What holds stores of a GPU to pages with copies."""
        return HeldStores(
            HeldStoresSite(
                self._env,
                accesses.gpu,
                self._apps,
                self.host.requests,
                self._trip,
                self._table.page_shift,
                self.moves,
                accesses,
            )
        )

    def watched(self, way: Sink, gpu: int) -> Sink:
        """The way out of an SM, on which accesses under way are noted."""
        if not self._follows:
            return way
        guard = self.moves.stores[gpu] if self.moves.stores else None
        return WatchedExit(way, self._accesses[gpu], guard)

    def connect(
        self,
        gateways: Sequence[Gateway],
        tables: Sequence[PageTable],
        holders_of: Mapping[int, Sequence[Stage]],
        sms_of: Sequence[Sequence[Sm]],
    ) -> None:
        """Introduce moves to all GPUs, and enter the pages that lie somewhere before the start."""
        self.moves.known.gpus = [
            GpuSide(gateway, self._accesses[gpu], _forget(holders_of[gpu], table), _enter(table))
            for gpu, (gateway, table) in enumerate(zip(gateways, tables, strict=True))
        ]
        for table in tables:
            if isinstance(table, MovingTable):
                table.moving = self.moves.departures.is_moving
        self.enter_placed()
        if self.policy.counts:
            own = self.policy.counts_own
            seen = [one.on_left for one in self._accesses] if own else []
            for probe in seen or [gateway.on_remote for gateway in gateways]:
                probe.listen(self.moves.accessed)
        for gpu, sms in enumerate(sms_of) if self._follows else ():
            for sm in sms:
                sm.lsu.on_request.listen(self._accesses[gpu].ended)

    def enter_placed(self) -> None:
        """Enter the pages that lie somewhere before the start into tables of their GPUs."""
        known = self.moves.known
        for mapping in self._table.mappings():
            if self._table.with_host(mapping.pfn):
                continue
            gpu = self._table.gpu_of(mapping.pfn)
            known.enter(mapping, gpu)
            known.expect(mapping.tag, gpu)

    def attach(self, board: SignalBoard) -> None:
        """Hand the policies the signals of the machine."""
        signals = board.at(range(self._config.sms))
        for policy in (self.policy, self._invalidation, self._forwarding):
            if policy is not None:
                policy.attach(signals)

    @property
    def components(self) -> Iterator[Component]:
        """All parts."""
        yield from self.stages
        yield from self.moves.stores
        yield self.host
        yield self.moves


def _enter(table: PageTable) -> Callable[[Page], None]:
    """Enters a page into a GPU's own table, if it has one."""
    return table.enter if isinstance(table, FarTable) else lambda _: None


def _forget(holders: Sequence[Stage], table: PageTable) -> Callable[[Page], None]:
    """Lets all parts of a GPU forget a page."""
    own = table if isinstance(table, FarTable) else None

    def forget(mapping: Page) -> None:
        for tag in range(mapping.tag, mapping.tag + mapping.pages):
            for holder in holders:
                holder.shoot_down(tag)
            if own is not None:
                own.shoot_down(tag)

    return forget
