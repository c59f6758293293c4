"""Joins the GPUs of a node by links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from gpusim.config.node import NodeConfig
from gpusim.config.schema import GpuConfig
from gpusim.core.component import Component
from gpusim.core.engine import Environment
from gpusim.hardware.node import (
    SWITCH,
    CrossbarPorts,
    Gateway,
    GatewaySite,
    NodeLink,
    NodeLinkSite,
    PairTraffic,
    Switch,
    make_topology,
)
from gpusim.machine.memory_system import MemorySystem


class Node:
    """The links of a node, and what joins GPUs to them.

    Args:
        env: the environment.
        config: the machine.
        node: its table of the node.
        systems: the memory system of each GPU.
        apps: applications that share the machine.

    Attributes:
        gateways: by GPU.
        links, pairs: of all GPUs.
    """

    def __init__(
        self,
        env: Environment,
        config: GpuConfig,
        node: NodeConfig,
        systems: Sequence[MemorySystem],
        apps: int,
    ) -> None:
        gpus = node.gpus
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
        if self._switch is not None:
            self._switch.connect(self.links)

    @property
    def components(self) -> Iterator[Component]:
        """All parts."""
        yield from self.gateways
        if self._switch is not None:
            yield self._switch
        yield from self.links
        yield from self.pairs


def _gateway(
    env: Environment, config: GpuConfig, node: NodeConfig, system: MemorySystem
) -> Gateway:
    """What joins a GPU to the links: it has the last entrances and links of its networks."""
    requests, replies, domain = system.requests, system.replies, system.domain
    ports, size = domain.link_ports, config.memory.size
    sms = len(replies.links) - ports
    return Gateway(
        GatewaySite(
            env,
            domain.index,
            lambda address: address // size,
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


def _end(gpu: int) -> str:
    return "switch" if gpu == SWITCH else str(gpu)
