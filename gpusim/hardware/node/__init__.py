"""A node of several GPUs: links between them, and what crosses them.

Each GPU has SMs, TLBs, walkers and a memory of its own.  A request to an address of another GPU
leaves the crossbar at a gateway (`gateway`), crosses links (`link`) on a route of the topology
(`topology`), and goes through that GPU's crossbar, L2 cache and DRAM; its answer comes back the
same way.  `traffic` counts by pair of GPUs; `placement` says where pages lie at first.

A page that a GPU's own table does not have is a far fault (`far_faults`): the host's MMU
(`host_mmu`) finds it, and it is mapped where it lies, moves, or is copied (`page_moves`), as a
policy says (`remote_pages`).  Stores to pages with copies wait until these are given up
(`held_stores`).
"""

from gpusim.hardware.node.accesses import AccessesUnderWay, WatchedExit
from gpusim.hardware.node.array_homes import ArrayHomes
from gpusim.hardware.node.coalesced_groups import CoalescedGroups, GroupCounters
from gpusim.hardware.node.copy_engines import CopyEngines, CopyEngineSite, CopyPorts
from gpusim.hardware.node.far_faults import FarFaults, FarFaultSite
from gpusim.hardware.node.forwarding import Forwarding
from gpusim.hardware.node.gateway import CrossbarPorts, Gateway, GatewaySite, Switch
from gpusim.hardware.node.griffin import ClassifiedPages, DelayedFirstTouch
from gpusim.hardware.node.held_stores import HeldStores, HeldStoresSite
from gpusim.hardware.node.home_slices import HomeCounters, HomeSlices
from gpusim.hardware.node.host_mmu import HostMmu
from gpusim.hardware.node.invalidation import Invalidation
from gpusim.hardware.node.least_tlb import LeastTlb, SharedTlbCounters
from gpusim.hardware.node.link import NodeLink, NodeLinkSite
from gpusim.hardware.node.move_site import GpuSide, MoveSite
from gpusim.hardware.node.packet import Packet, RemoteAccess
from gpusim.hardware.node.page_history import PageHistory, PageSchemes
from gpusim.hardware.node.page_moves import PageMoves
from gpusim.hardware.node.placement import PagePlacement
from gpusim.hardware.node.reader_copies import AskedBanks, BeyondDram, ReaderCopies
from gpusim.hardware.node.remote_pages import RemotePages
from gpusim.hardware.node.routing import BeyondMemory, ToMemories
from gpusim.hardware.node.topology import SWITCH, Topology, make_topology
from gpusim.hardware.node.traffic import PairTraffic

__all__ = [
    "SWITCH",
    "AccessesUnderWay",
    "ArrayHomes",
    "AskedBanks",
    "BeyondDram",
    "BeyondMemory",
    "CopyEngineSite",
    "CoalescedGroups",
    "CopyEngines",
    "CopyPorts",
    "ClassifiedPages",
    "CrossbarPorts",
    "DelayedFirstTouch",
    "FarFaultSite",
    "FarFaults",
    "Forwarding",
    "Gateway",
    "GatewaySite",
    "GpuSide",
    "HeldStores",
    "HeldStoresSite",
    "GroupCounters",
    "HomeCounters",
    "HomeSlices",
    "HostMmu",
    "Invalidation",
    "LeastTlb",
    "MoveSite",
    "NodeLink",
    "NodeLinkSite",
    "Packet",
    "PageHistory",
    "PageSchemes",
    "PageMoves",
    "PagePlacement",
    "PairTraffic",
    "ReaderCopies",
    "RemoteAccess",
    "RemotePages",
    "SharedTlbCounters",
    "Switch",
    "ToMemories",
    "Topology",
    "WatchedExit",
    "make_topology",
]
