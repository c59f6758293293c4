"""The states of a warp: in every cycle of its life it is in exactly one.

States are small ints, so that intervals are compact; TLB levels come last because a machine has
as many as its model names, and after them what its components add (`Component.states`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final


class State(IntEnum):
    """What a warp does, or what it waits for."""

    ISSUING = 0
    """A memory, barrier or shared-memory instruction takes its issue cycles."""
    COMPUTING = 1
    """Compute instructions take issue cycles, or their results are not there yet."""
    READY = 2
    """Could issue, but its scheduler chose another warp."""
    LSU = 3
    """Waits for the load/store unit: its queue, or the port of the L1 TLB and L1 cache."""
    BARRIER = 4
    """Waits for the other warps of its block."""
    SHARED = 5
    """Waits for shared memory: conflicts and latency."""
    CREDIT = 6
    """Waits for a store credit."""
    MSHR = 7
    """Waits for a free MSHR."""
    CACHE = 8
    """Waits for the L1 cache."""
    INTERCONNECT = 9
    """Waits for the crossbar, either direction, queueing included."""
    L2 = 10
    """Waits for an L2 cache bank, queueing included."""
    DRAM_QUEUE = 11
    """Waits in the queue of a DRAM channel."""
    DRAM = 12
    """Waits for DRAM commands and data."""
    WALKER = 13
    """Waits for a free page-table walker."""
    WALK = 14
    """Waits for a page walk under way."""
    TLB = 15
    """Waits for the first TLB level; level *n* is ``TLB + n``, queueing included."""


STATES: Final = 1 << 8
"""How many states there can be, with those of TLB levels and components."""

TLB_PREFIX = "tlb_"
"""With which the names of the TLB levels' states begin, and no others."""

FAMILIES: Mapping[str, range] = {
    "working": range(State.ISSUING, State.LSU),
    "sm": range(State.LSU, State.CACHE),
    "memory": range(State.CACHE, State.WALKER),
    "translation": range(State.WALKER, STATES),
}
"""States by what they have in common: a warp works, or waits for its SM, memory or translation."""


def family(state: int) -> str:
    """The family that a state of gpusim's own belongs to."""
    return next(name for name, states in FAMILIES.items() if state in states)


def families(states: Sequence[str]) -> tuple[str, ...]:
    """The family of each state of a machine whose components add none."""
    return tuple(map(family, range(len(states))))


def state_names(tlb_levels: Sequence[str], stages: Sequence[str] = ()) -> tuple[str, ...]:
    """Names of all states of a machine, in order.

    Args:
        tlb_levels: its TLB levels.
        stages: further stages of translation, whose states come after those of the TLBs.
    """
    fixed = tuple(state.name.lower() for state in State if state is not State.TLB)
    return (
        *fixed,
        *(f"{TLB_PREFIX}{level}" for level in tlb_levels),
        *(f"stage_{name}" for name in stages),
    )
