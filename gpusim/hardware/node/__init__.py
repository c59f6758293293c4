"""A node of several GPUs: links between them, and what crosses them.

Each GPU has SMs, TLBs, walkers and a memory of its own.  A request to an address of another GPU
leaves the crossbar at a gateway (`gateway`), crosses links (`link`) on a route of the topology
(`topology`), and goes through that GPU's crossbar, L2 cache and DRAM; its answer comes back the
same way.  `traffic` counts by pair of GPUs; `placement` says where pages lie.
"""

from gpusim.hardware.node.gateway import CrossbarPorts, Gateway, GatewaySite, Switch
from gpusim.hardware.node.link import NodeLink, NodeLinkSite
from gpusim.hardware.node.packet import Packet, RemoteAccess
from gpusim.hardware.node.placement import PagePlacement
from gpusim.hardware.node.routing import BeyondMemory, by_memory, with_ports
from gpusim.hardware.node.topology import SWITCH, Topology, make_topology
from gpusim.hardware.node.traffic import PairTraffic

__all__ = [
    "SWITCH",
    "BeyondMemory",
    "CrossbarPorts",
    "Gateway",
    "GatewaySite",
    "NodeLink",
    "NodeLinkSite",
    "Packet",
    "PagePlacement",
    "PairTraffic",
    "RemoteAccess",
    "Switch",
    "Topology",
    "by_memory",
    "make_topology",
    "with_ports",
]
