"""The latency of a load that misses everywhere, on a machine that is otherwise idle."""

from __future__ import annotations

from gpusim.config.schema import GpuConfig


def cold_load(config: GpuConfig) -> int:
    """Core cycles of the way of a load to DRAM and back, and of the walk before it.

    Latencies alone, no queues and no flits.  Of the reads of a walk all but the last one hit in the
    L2 cache, if they go there.  On a node it is DRAM of the farthest GPU, of a page that is mapped
    where it lies.
    """
    return _walk(config) + _read(config) + _links(config) + _far_fault(config)


def _walk(config: GpuConfig) -> int:
    """A walk, and the TLBs before it; 0 if one of them always hits."""
    tlbs, walk, clock = config.tlb.values(), config.walk, config.clock
    if any(tlb.ideal for tlb in tlbs):
        return 0
    before = sum(tlb.trip.cycles(clock) + tlb.latency.cycles(clock) for tlb in tlbs)
    before += walk.trip.cycles(clock)
    if walk.cost == "fixed":
        return before + walk.latency.cycles(clock)
    if walk.cost == "per-level":
        return before + config.memory.walk_levels * walk.latency.cycles(clock)
    if walk.memory == "dram":
        return before + config.memory.walk_levels * _dram(config)
    entry = _bank(config) + (2 * _network(config) if walk.sent_by == "sms" else 0)
    return before + config.memory.walk_levels * entry + _dram(config)


def _read(config: GpuConfig) -> int:
    l1 = config.l1.latency.cycles(config.clock)
    return l1 + 2 * _network(config) + _bank(config) + _dram(config)


def _links(config: GpuConfig) -> int:
    """The way to the farthest GPU and back, and through its crossbar."""
    node = config.node
    if node is None or node.gpus == 1:
        return 0
    from gpusim.hardware.node import make_topology

    routes = make_topology(node.link.topology, node.gpus).routes
    most = max(len(way) for ways in routes for way in ways)
    before = _bank(config) if node.caching == "reader" else 0
    return before + 2 * (most * node.link.latency.cycles(config.clock) + _network(config))


def _far_fault(config: GpuConfig) -> int:
    """What the host takes to answer for a page; the walk that is begun anew is left out."""
    if config.node is None or config.node.host_mmu is None:
        return 0
    host, clock = config.node.host_mmu, config.clock
    return 2 * host.trip.cycles(clock) + host.latency.cycles(clock)


def _network(config: GpuConfig) -> int:
    return 0 if config.crossbar.ideal else config.crossbar.latency.cycles(config.clock)


def _bank(config: GpuConfig) -> int:
    entry = 0 if config.l2.entry is None else config.l2.entry.cycles(config.clock)
    return entry + config.l2.latency.cycles(config.clock)


def _dram(config: GpuConfig) -> int:
    """The way to a channel, through a cache in front of it, and a row that has to be opened."""
    dram, timing = config.dram, config.dram.timing
    trip = 0 if dram.trip is None else dram.trip.cycles(dram.clock)
    if dram.ideal:
        access = dram.ideal_latency.cycles(dram.clock)
    else:
        parts = (timing.RCDRD, timing.CL, timing.BL)
        access = sum(part.cycles(dram.clock) for part in parts)
    side = 0 if dram.memory_side is None else dram.memory_side.latency.cycles(config.clock)
    return side - (-(trip + access) * int(config.clock) // int(dram.clock))
