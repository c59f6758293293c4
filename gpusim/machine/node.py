"""Joins the GPUs of a node by links."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

from gpusim.config.node import CopyEngineConfig, NodeConfig
from gpusim.config.schema import GpuConfig
from gpusim.core.component import Component
from gpusim.core.engine import Environment, Sink
from gpusim.core.mapping import Mapping as Page
from gpusim.core.signals import SignalBoard
from gpusim.core.stage import Stage
from gpusim.hardware.node import (
    SWITCH,
    CopyEngines,
    CopyEngineSite,
    CopyPorts,
    CrossbarPorts,
    Gateway,
    GatewaySite,
    NodeLink,
    NodeLinkSite,
    PairTraffic,
    ReaderCopies,
    Switch,
    make_topology,
)
from gpusim.hardware.sm.sm import Sm
from gpusim.hardware.walk import NodeTable, PageTable
from gpusim.machine.far_memory import FarMemory
from gpusim.machine.memory_system import MemorySystem
from gpusim.machine.page_tables import PageTables


class Node:
    """The links of a node, and what joins GPUs to them.

    Args:
        env: the environment.
        config: the machine.
        systems: the memory system of each GPU.
        tables: the page tables.
        apps: applications that share the machine.
        drop: caches forget the lines of a page.

    Attributes:
        gateways: by GPU.
        links, pairs: of all GPUs.
        copies: by GPU, of other GPUs' lines; empty: there are none.
        copy_engines: by GPU; empty: there are none.
        far: what GPUs need that ask a host for pages; None: they do not.
    """

    def __init__(
        self,
        env: Environment,
        config: GpuConfig,
        systems: Sequence[MemorySystem],
        tables: PageTables,
        apps: int,
        drop: Callable[[Page], None],
    ) -> None:
        assert config.node is not None
        node, gpus = config.node, config.node.gpus
        self._tables = tables
        self._systems = systems
        topology = make_topology(node.link.topology, gpus)
        self._switch = Switch(env) if node.link.topology == "switch" else None
        self.gateways = [_gateway(env, config, node, system) for system in systems]
        self.links: list[NodeLink] = []
        site = NodeLinkSite(env, node.link, config.clock, apps)
        for number, (source, target) in enumerate(topology.ends):
            end = self._switch if target == SWITCH else self.gateways[target]
            assert end is not None
            name = f"link[{_end(source)}→{_end(target)}]"
            self.links.append(NodeLink(site, number, name, end.arrivals))
        pairs = {
            (source, target): PairTraffic(source, target, gpus, apps)
            for source, target in product(range(gpus), repeat=2)
        }
        self.pairs = [pair for (source, target), pair in pairs.items() if source != target]
        for source, gateway in enumerate(self.gateways):
            own = [pairs[source, target] for target in range(gpus)]
            gateway.connect(self.links, topology.routes[source], own)
            systems[source].remote_walks = gateway.walks
        self.copies = [
            _reader_copies(config, system, gateway, apps)
            for system, gateway in zip(systems, self.gateways, strict=True)
            if system.domain.caches_others
        ]
        if self._switch is not None:
            self._switch.connect(self.links)
        self.copy_engines = [
            _copy_engines(env, config, node.copy_engines, system, tables.table, apps)
            for system in systems
            if node.copy_engines is not None
        ]
        self.far: FarMemory | None = None
        if node.host_mmu is not None:
            assert isinstance(tables.table, NodeTable)
            self.far = FarMemory(env, config, node.host_mmu, tables.table, apps, drop)
            for system in systems:
                system.translations = self.far.before(system)

    def watched(self, way: Sink, gpu: int) -> Sink:
        """The way out of an SM of a GPU, on which is noted what moves of pages have to know."""
        return way if self.far is None else self.far.watched(way, gpu)

    def reach_hosts(self, hosts: Sequence[Sink]) -> None:
        """Name, by GPU, where requests to the host's memory go; empty: no page lies there."""
        for gateway, host in zip(self.gateways, hosts, strict=False):
            gateway.reach_host(host)

    def connect(self, holders_of: Mapping[int, Sequence[Stage]], sms: Sequence[Sm]) -> None:
        """Introduce what holds translations, by GPU, and all SMs."""
        if self.far is not None:
            sms_of = [[sms[sm] for sm in system.domain.sms] for system in self._systems]
            self.far.connect(self.gateways, self._tables.walked, holders_of, sms_of)

    def name_tables(self, board: SignalBoard) -> None:
        """Policies of a GPU know of pages what its own table says, where GPUs ask a host."""
        if self.far is not None:
            for system, table in zip(self._systems, self._tables.walked, strict=True):
                board.find_of.update(dict.fromkeys(system.domain.sms, table.find))

    def attach(self, board: SignalBoard) -> None:
        """Hand all policies here the signals of the machine."""
        sms = [sm for system in self._systems for sm in system.domain.sms]
        if self._tables.homes is not None:
            self._tables.homes.policy.attach(board.at(sms))
        if self.far is not None:
            self.far.attach(board)

    def stale(self) -> Iterator[str]:
        """Pages that tables have in different places, a line each; there are none at the end."""
        for table in self._tables.holders:
            yield from table.stale()
        assert isinstance(self._tables.table, NodeTable)
        yield from self._tables.table.wrong_copies()

    def policies(self) -> Iterator[tuple[str, object]]:
        """Policies that no component asks, each with its key in the model."""
        if self._tables.homes is not None:
            yield "node.placement", self._tables.homes.policy

    @property
    def components(self) -> Iterator[Component]:
        """All parts."""
        yield from self.gateways
        if self._switch is not None:
            yield self._switch
        yield from self.links
        yield from self.pairs
        yield from self.copies
        yield from self.copy_engines
        if self.far is not None:
            yield from self.far.components


def _gateway(
    env: Environment, config: GpuConfig, node: NodeConfig, system: MemorySystem
) -> Gateway:
    """What joins a GPU to the links: it has the last entrances and links of its networks."""
    requests, replies, domain = system.requests, system.replies, system.domain
    ports = domain.link_ports
    sms = len(replies.links) - ports
    return Gateway(
        GatewaySite(
            env,
            domain.index,
            int(config.memory.size),
            system.own_walks,
            node.link.overhead,
        ),
        CrossbarPorts(
            requests.links[-ports:],
            requests.entrances[-ports:],
            replies.links[-ports:],
            replies.entrances[-ports:],
            domain.sms.start + sms,
            config.l2.line.bit_length() - 1,
        ),
    )


def _copy_engines(
    env: Environment,
    config: GpuConfig,
    engines: CopyEngineConfig,
    system: MemorySystem,
    table: PageTable,
    apps: int,
) -> CopyEngines:
    """The copy engines of a GPU, whose ports are before those of links."""
    assert isinstance(table, NodeTable)
    requests, replies, domain = system.requests, system.replies, system.domain
    count, end = domain.copy_ports, len(replies.links) - domain.link_ports
    return CopyEngines(
        CopyEngineSite(
            env,
            domain.index,
            engines,
            config.clock,
            apps,
            config.l1.line,
            table.page_shift,
            table.touch,
            int(config.l2.atomic_grain_bytes),
            bool(config.l2.byte_masks),
        ),
        CopyPorts(
            requests.entrances[end - count : end],
            replies.links[end - count : end],
            domain.sms.start + end - count,
        ),
    )


def _reader_copies(
    config: GpuConfig, system: MemorySystem, gateway: Gateway, apps: int
) -> ReaderCopies:
    """What the L2 cache of a GPU keeps of other GPUs' memories."""
    assert system.far_misses is not None
    copies = ReaderCopies(
        system.domain.index, apps, config.l2, system.drop_line, system.drop_others
    )
    gateway.keep_copies(copies, system.far_misses, system.asked_banks())
    return copies


def _end(gpu: int) -> str:
    return "switch" if gpu == SWITCH else str(gpu)
