"""Side caches: caches beside the L1 caches, each for accesses of one kind, as tables of a model."""

from __future__ import annotations

from attrs import frozen

from gpusim.config.choices import choice_of
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, policy_of
from gpusim.files.units import Bytes, Duration, cycles

SIDE_CACHES = ("scalar", "constant", "read_only", "instruction")
"""Their tables in a model; `gpusim.core.warp_program.SIDE_OPS` tells whose accesses they take."""


GROUPS = ("sm", "tpc", "gpc")
"""Groups of SMs that may share one, of which an instance has one or more."""


@frozen
class SideTlbConfig:
    """The own TLB of a side cache, in front of the second stage of translation.

    Attributes:
        entries, ways: its shape (ways = entries: fully associative).
        ports: lookups a cycle.
        latency: of a lookup.
        mshrs: pages that may be outstanding.
        replacement: replacement policy: which entry of a set goes.
    """

    entries: int
    ways: int
    ports: int = 1
    latency: Duration = cycles(1)
    mshrs: int = 32
    replacement: PolicyConfig = policy_of(Slot.REPLACEMENT, "lru")


@frozen
class SideCacheConfig:
    """A cache beside the L1 caches that only reads; what it misses takes the usual way.

    Attributes:
        size, line, ways: its shape; lines are fetched whole.
        scope: how many SMs share one: ``"sm"``, ``"tpc"`` or ``"gpc"``.
        ports: transactions that it starts a cycle.
        queue: warp instructions that wait in front of it.
        latency: of a hit.
        mshrs: lines that may be outstanding.
        mshr_merge: requests that one MSHR can hold.
        translation: ``"before"`` it, ``"parallel"`` to it, ``"after"`` it (of what it misses), or
            ``"after-l2"``, as the L1 caches have it then.
        at_launch: ``"invalidate"`` or ``"keep"``, as of the L1 cache.
        replacement: replacement policy: which line of a set goes.
        tlb: its own TLB; None (``"none"`` in a model): it asks the first TLB of the first SM that
            it serves.
    """

    size: Bytes
    ways: int
    line: Bytes = Bytes(64)
    scope: str = choice_of(*GROUPS)
    ports: int = 1
    queue: int = 8
    latency: Duration = cycles(4)
    mshrs: int = 16
    mshr_merge: int = 64
    translation: str = choice_of("before", "parallel", "after", "after-l2")
    at_launch: str = choice_of("invalidate", "keep")
    replacement: PolicyConfig = policy_of(Slot.REPLACEMENT, "lru")
    tlb: SideTlbConfig | None = None


@frozen
class InstructionCacheConfig(SideCacheConfig):
    """The instruction cache; a warp waits for the lines that it goes through, and no others.

    Attributes:
        ahead: lines after the one that a warp is at which its instruction buffer fetches, too,
            within the page.
    """

    ahead: int = 0
