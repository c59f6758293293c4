"""The latency of a load that misses everywhere, on a machine that is otherwise idle."""

from __future__ import annotations

from gpusim.config.schema import GpuConfig


def cold_load(config: GpuConfig) -> int:
    """Core cycles of the way of a load to DRAM and back, and of the walk before it.

    Latencies alone, no queues and no flits.  Of the reads of a walk all but the last one hit in the
    L2 cache, if they go there.
    """
    return _walk(config) + _read(config)


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
