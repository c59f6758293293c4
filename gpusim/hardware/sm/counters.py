"""Counters of an SM."""

from __future__ import annotations

import attr

from gpusim.core.counters import count
from gpusim.core.law import Law, laws_of
from gpusim.core.metrics import (
    FRACTION,
    INSTRUCTIONS,
    Metric,
    PerCycle,
    Ratio,
    RatioIfCounted,
    Total,
    declare_metrics,
)


@attr.s(auto_attribs=True, eq=False, repr=False)
class SmCounters:
    """What one SM did for one application."""

    instructions: int = count("warp instructions issued (waits are not instructions)")
    compute_instructions: int = count("of these, arithmetic")
    memory_instructions: int = count("of these, loads, stores and atomics")
    shared_instructions: int = count("of these, shared-memory accesses")
    barriers: int = count("of these, barriers")
    loads: int = count("load and atomic instructions")
    stores: int = count("store and reduction instructions")
    transactions: int = count("coalesced transactions of the memory instructions")
    issue_cycles: int = count("cycles of issue ports taken", "cycles")
    blocks: int = count("thread blocks that ended here")
    warps: int = count("warps that ended here")
    l1_passes: int = count(
        "cycles of the L1 cache that memory instructions take, by their lanes", "cycles", later=True
    )
    l1_conflicts: int = count(
        "of these, because lanes ask one bank for several words or lines", "cycles", later=True
    )
    shared_passes: int = count(
        "cycles of shared memory that its accesses take", "cycles", later=True
    )
    shared_conflicts: int = count(
        "of these, because lanes ask one bank for several words", "cycles", later=True
    )


declare_metrics(
    SmCounters,
    Metric(INSTRUCTIONS, "1", "warp instructions issued", Total("instructions")),
    Metric("ipc", "1/cycle", "warp instructions a cycle", PerCycle("instructions")),
    Metric(
        "memory_instructions",
        "1",
        "loads, stores and atomics of warps",
        Total("memory_instructions"),
    ),
    Metric("transactions", "1", "coalesced memory transactions", Total("transactions")),
    Metric(
        "transactions_per_instruction",
        "1",
        "transactions a memory instruction",
        Ratio("transactions", "memory_instructions"),
    ),
    Metric(
        "l1_passes_per_instruction",
        "cycles",
        "L1 cache passes of a memory instruction",
        RatioIfCounted("l1_passes", "memory_instructions"),
    ),
    Metric(
        "l1_conflict_share",
        FRACTION,
        "L1 cache passes that are conflicts",
        Ratio("l1_conflicts", "l1_passes"),
    ),
    Metric(
        "shared_conflict_share",
        FRACTION,
        "shared-memory passes that are conflicts",
        Ratio("shared_conflicts", "shared_passes"),
    ),
)

LAWS = laws_of(
    [SmCounters],
    Law(
        "instructions",
        "compute_instructions + memory_instructions + shared_instructions + barriers",
    ),
    Law("memory_instructions", "loads + stores"),
)
