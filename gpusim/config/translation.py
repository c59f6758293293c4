"""The tables of translation: TLBs, walkers and their caches, and the forward table."""

from __future__ import annotations

from attrs import evolve, field, frozen

from gpusim.config.auxiliary import GROUPS
from gpusim.config.choices import CHOICES, choice_of
from gpusim.config.field_facts import later
from gpusim.core.interleaving import XOR
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, maybe_policy_of, policy_of
from gpusim.files.units import Bytes, Duration, cycles

SLICES = "slices"
"""The scope of a TLB that is dealt out to the slices of a multi-instance GPU."""

SCOPES = (*GROUPS, SLICES, "instance", "gpu")
"""Scopes of a stage of translation, from the narrowest to the widest."""

CUT = ("entries", "ways", "ports", "mshrs", "queue", "victims")
"""What each slice has a part of then; sets stay as many."""

XOR_SLICES = "xor-slices"
"""Hash of a TLB of two slices, of which the parity of the page number chooses one."""


@frozen
class TlbConfig:
    """One TLB level; levels are listed from the SM outward.

    Attributes:
        scope: how many share one TLB: ``"sm"``, ``"tpc"``, ``"gpc"``, ``"instance"`` (one, whatever
            the size of the instance), ``"slices"`` (one, to which each slice of an instance brings
            its part of all `CUT`) or ``"gpu"``.
        entries, ways: its shape (ways = entries: fully associative).
        sub_entries: pages of one entry's range that it can map, a power of two.
        ports: lookups a cycle.
        latency: of a lookup.
        mshrs: pages that may be outstanding.
        misses: of the first level: which may be under way at once: ``"mshr"`` (as many as there
            are MSHRs), ``"hit-under-miss"`` (those of one warp instruction of an SM; another one
            that misses waits in front of the TLB, and what is behind it), ``"hits-pass"`` (the
            same, but hits pass what waits) or ``"lsu-blocking"`` (one, and nothing else is
            translated meanwhile).
        merging: whether misses on one page wait for one translation, or each asks for its own
            (`mshrs` is then the number of misses).
        queue: requests that fit in front of it.
        trip: latency of the way to it from the level before.
        array: TLB array policy: in which set a translation may be.
        sets: TLB set policy: what a set of an array of sets can hold.
        hash: ``"xor"``: all bits of the page number, folded, choose the set; ``"xor-slices"``: so
            in each of two slices, between which their parity chooses; None (``"none"`` in a
            model): the lowest bits do.
        victims: entries of a victim buffer behind the array; None (``"none"``): there is none.
        fill: TLB fill policy: which translations that come back may go into the array.
        replacement: replacement policy: which entry of a set goes.
        mshr_policy: TLB MSHR policy: which misses may be under way at once; None (``"none"``): as
            many as there are MSHRs.
        ideal: every lookup hits, at the lookup latency.
    """

    scope: str = field(metadata={CHOICES: SCOPES})
    entries: int
    ways: int
    sub_entries: int = 1
    ports: int = 1
    latency: Duration = cycles(1)
    mshrs: int = 32
    misses: str = later(choice_of("mshr", "hit-under-miss", "hits-pass", "lsu-blocking"))
    merging: bool = later(True)
    queue: int = 64
    trip: Duration = cycles(0)
    array: PolicyConfig = policy_of(Slot.TLB_ARRAY, "set-associative")
    sets: PolicyConfig = policy_of(Slot.TLB_SET, "plain")
    hash: str | None = choice_of(XOR, XOR_SLICES, default=None)
    victims: int | None = None
    fill: PolicyConfig = policy_of(Slot.TLB_FILL, "always")
    replacement: PolicyConfig = later(policy_of(Slot.REPLACEMENT, "lru"))
    mshr_policy: PolicyConfig | None = maybe_policy_of(Slot.TLB_MSHRS)
    ideal: bool = False

    def part(self, slices: int, whole: int) -> TlbConfig:
        """The TLB of an instance with `slices` of the `whole` slices of a GPU."""
        if self.scope != SLICES:
            return self
        given = {name: value for name in CUT if (value := getattr(self, name)) is not None}
        return evolve(self, **{name: value * slices // whole for name, value in given.items()})


@frozen
class WalkCacheConfig:
    """A page-walk cache.

    Attributes:
        kind: ``"levels"`` keeps upper-level entries and skips the levels above the deepest match;
            ``"split"`` does so with as many entries for each level, ``"paths"`` with entries of
            all upper levels of a path; ``"lines"`` keeps lines of the page table and is probed at
            each level.
        entries: of a ``"levels"`` or ``"paths"`` cache; of each level of a ``"split"`` one.
        size: of a ``"lines"`` cache.
        ways: ways of either (0: fully associative).
        line: of a ``"lines"`` cache: 8 bytes, an entry each, or as of other caches.
        latency: of a probe.
        replacement: replacement policy: which entry or line of a set goes.
    """

    kind: str = field(metadata={CHOICES: ("levels", "split", "paths", "lines")})
    entries: int = 0
    size: Bytes = Bytes(0)
    ways: int = 0
    line: Bytes = Bytes(64)
    latency: Duration = cycles(0)
    replacement: PolicyConfig = later(policy_of(Slot.REPLACEMENT, "lru"))

    @property
    def blocks(self) -> int:
        """Entries (of each level, if it is split) or lines that fit."""
        if self.kind != "lines":
            return self.entries
        return self.size // self.line if self.line else 0


@frozen
class WarpWalksConfig:
    """Walks that warps execute, one of each SM beside those of programs.

    Attributes:
        lanes: walks at once on an SM.
        begin: instructions at the begin of a walk: of taking it, and of its first address.
        level: instructions before each read: of its address, and the load itself.
        end: instructions at its end: of answering.
        placed: which SM walks: the next one in turn (``"round-robin"``) or the ``"requester"``.
    """

    lanes: int = 32
    begin: int = 4
    level: int = 4
    end: int = 4
    placed: str = choice_of("round-robin", "requester")


@frozen
class WalkConfig:
    """Page-table walkers behind the last TLB level.

    Attributes:
        walkers: walks at once.
        cost: ``"fixed"`` (`latency` a walk), ``"per-level"`` (`latency` a level that the walk
            cache does not cover) or ``"memory"`` (a read request a level).
        latency: see `cost`.
        memory: where the reads of a ``"memory"`` walk go: ``"l2"`` or ``"dram"``.
        sent_by: what sends them to the L2 cache: the ``"walkers"``, beside its banks, or the
            ``"sms"`` that asked, through the crossbar, before their data.
        trip: latency from the last TLB level to the walkers.
        queue: walks that wait for a walker.
        order: walk order policy: which waiting walk gets a walker that is free.
        cache: the page-walk cache, if any.
        warps: walks are executed by warps of the SMs; `walkers` is of no effect then.  None: by
            walkers of the hardware.
    """

    walkers: int
    cost: str = choice_of("fixed", "per-level", "memory")
    latency: Duration = cycles(500)
    memory: str = choice_of("l2", "dram")
    sent_by: str = later(choice_of("walkers", "sms"))
    trip: Duration = cycles(0)
    queue: int = 1024
    order: PolicyConfig = later(policy_of(Slot.WALK_ORDER, "fcfs"))
    cache: WalkCacheConfig | None = None
    warps: WarpWalksConfig | None = None

    def reads(self, memory: str) -> bool:
        """Whether walks really read the page table, and from there: ``"l2"`` or ``"dram"``."""
        return self.cost == "memory" and self.memory == memory


SUB_PAGE = 4096
"""Bytes of the smallest page, which an entry of the table with a line vector maps."""

FBT_LEVEL = "FBT"
"""Name of the forward table among the TLB levels, and of the state of warps that wait for it."""


@frozen
class RemappingConfig:
    """Dynamic synonym remapping: a table beside each L1 and side cache (VC §4.3).

    Attributes:
        entries: pages that it maps to their leading pages; it is fully associative.
        latency: of a lookup, which every access to the cache meets first.
    """

    entries: int
    latency: Duration = cycles(0)


@frozen
class FbtConfig:
    """The forward–backward table, which makes virtual L2 caches correct (VC §4).

    Attributes:
        entries, ways: its shape, of the forward and of the backward table alike.
        latency: of a lookup.
        trip: latency of the way between the L2 banks and it.
        second_level: misses of the last TLB level ask the forward table before the walkers.
        large_pages: how pages above 4 KiB are kept: ``"sub-pages"`` (an entry for each 4 KiB that
            were touched) or ``"counter"`` (one entry, which counts the lines in the L2 cache).
        remapping: synonyms are given their leading names before they look in an L1 cache.
    """

    entries: int
    ways: int
    latency: Duration = cycles(5)
    trip: Duration = cycles(10)
    second_level: bool = False
    large_pages: str = choice_of("sub-pages", "counter")
    remapping: RemappingConfig | None = None
