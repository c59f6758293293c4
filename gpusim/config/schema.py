"""A GPU model as data: frozen attrs classes, one a component.

Every class is one table of a model file; every attribute one key.  `gpusim.config.load` reads TOML
into them and refuses what is unknown; `check` refuses what is impossible.  Times of the DRAM table
are in DRAM clocks, all others in core cycles, unless they are given in ns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from attrs import evolve, field, frozen

from gpusim.config.auxiliary import SIDE_CACHES, InstructionCacheConfig, SideCacheConfig
from gpusim.config.choices import choice_of
from gpusim.config.dram import DramConfig
from gpusim.config.field_facts import later
from gpusim.config.mapping_calls import MappingCallsConfig
from gpusim.config.mig import MigConfig
from gpusim.config.node import NodeConfig
from gpusim.config.paging import PagingConfig
from gpusim.config.shootdown import ShootdownConfig
from gpusim.config.sm import SmConfig
from gpusim.config.speculation import SpeculationConfig
from gpusim.config.translation import SCOPES, FbtConfig, TlbConfig, WalkConfig
from gpusim.core.interleaving import HASHES, RANDOM, XOR
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, maybe_policy_of, policy_of
from gpusim.files.units import Bytes, Duration, Hertz, cycles, parse_bytes

LRU = PolicyConfig("lru")
"""Replacement of every array, unless a model says otherwise."""


LINES = (32, 64, 128, 256)
"""Bytes that a line of a cache can have."""


@frozen
class L1BanksConfig:
    """The banks of an L1 cache, of which each serves one word or line of an instruction a cycle.

    Its data lie in 32 banks of a word each.

    Attributes:
        tags: lines of one instruction that may be looked up in a cycle, each in its own bank; a
            power of two.
        width: bytes that registers take from the cache in a cycle.
    """

    tags: int
    width: Bytes


@frozen
class L1Config:
    """The L1 data cache of an SM: write-through.

    Attributes:
        size, line, ways: its shape.
        sector: bytes fetched at once; equal to `line` for a cache without sectors.
        latency: of a hit.
        mshrs: lines that may be outstanding.
        mshr_merge: requests that one MSHR can hold.
        translation: where virtual becomes physical: ``"parallel"`` (beside the TLB; after a TLB
            miss the cache is asked anew), ``"virtually-indexed"`` (beside the TLB, and physically
            tagged: after a TLB miss what is left of the access, at least the cycle in which tags
            are compared), ``"before"`` (TLB first), ``"after"`` (virtual cache, TLB on a miss) or
            ``"after-l2"`` (the L2 cache is virtual, too: its misses are translated).
        at_launch: ``"invalidate"``: each launch begins with an empty cache, as stores of other SMs
            do not reach it; ``"keep"``: with what the launch before has left.
        writes: what a store does beside going on to the L2 cache: ``"update"``: changes its line if
            it is there; ``"allocate"``: leaves the sectors that it writes in whole;
            ``"evict"``: takes its line away.
        unified: memory that is L1 cache and shared memory, divided at each launch: the cache has
            what the smallest of `carve_outs` leaves that holds the shared memory of as many
            blocks as an SM can hold at once.  The cache keeps its sets (those of `size` and `ways`)
            and changes its ways.  None (``"none"`` in a model): the cache has its `size`.
        carve_outs: sizes that shared memory can have, the smallest first: ``"0KiB 8KiB 16KiB"``.
        allocate: ``"on-fill"``: a line takes its place when it arrives; ``"on-miss"``: a miss
            evicts at once, and its place is reserved until then.
        hash: ``"xor"``: all bits of the line number, folded, choose the set; None (``"none"`` in a
            model): its lowest ones.
        replacement: replacement policy: which line of a set goes.
        banks: an instruction passes the cache in as many cycles as its lanes need; None: the
            load/store unit starts `sm.lsu_width` transactions at once, a line each, whatever their
            lanes ask for.
    """

    size: Bytes
    ways: int
    line: Bytes = Bytes(128)
    sector: Bytes = Bytes(128)
    latency: Duration = cycles(4)
    mshrs: int = 32
    mshr_merge: int = 64
    translation: str = choice_of("parallel", "virtually-indexed", "before", "after", "after-l2")
    at_launch: str = later(choice_of("invalidate", "keep"))
    writes: str = later(choice_of("update", "allocate", "evict"))
    unified: Bytes | None = None
    carve_outs: str | None = None
    allocate: str = later(choice_of("on-fill", "on-miss"))
    hash: str | None = choice_of(XOR, default=None)
    replacement: PolicyConfig = later(policy_of(Slot.REPLACEMENT, "lru"))
    banks: L1BanksConfig | None = None

    @property
    def sets(self) -> int:
        """Sets of lines."""
        return self.size // self.line // self.ways

    @cached_property
    def splits(self) -> Sequence[tuple[int, int]]:
        """How unified memory can be divided: bytes of shared memory, and ways of the cache.

        Raises:
            ValueError: a carve-out is no size.
        """
        whole = self.unified or 0
        sizes = [parse_bytes(word) for word in (self.carve_outs or "").split()]
        return [(size, (whole - size) // self.line // self.sets) for size in sizes]


WALK_STAGE = "walk"
"""Name of the walkers among the stages of translation."""


@frozen
class StageConfig:
    """A stage of translation that is neither a TLB level nor the walkers.

    Attributes:
        kind: stage policy: what it does.
        scope: how many SMs share one, as of a TLB level.
        queue: translations that fit in front of it.
        trip: latency of the way to it from the stage before.
    """

    kind: PolicyConfig = policy_of(Slot.STAGE)
    scope: str = choice_of(*SCOPES, default="gpu")
    queue: int = 64
    trip: Duration = cycles(0)


@frozen
class MemoryConfig:
    """Address spaces and physical memory.

    Attributes:
        page: 4 KiB, 64 KiB or 2 MiB.
        size: physical memory.
        frames: frame allocation policy: ``contiguous``, ``region``, ``first-touch``, ``scattered``.
        levels: of the radix page table for 4 KiB and 64 KiB pages; 2 MiB pages take one less.
        table_entries: of each page table, which fills 4 KiB: 512 of 8 bytes, as x86-64 has them,
            or fewer, further apart.
        mapped: when the pages of an application's arrays are mapped: ``"ahead"``: before it begins,
            in the order of the arrays; None (``"none"`` in a model): as the frames policy has it.
        table: page table policy: where entries lie, and what a walk reads; None (``"none"`` in a
            model): a radix tree.
    """

    page: Bytes = Bytes(4096)
    size: Bytes = Bytes(4 << 30)
    frames: PolicyConfig = policy_of(Slot.FRAMES, "first-touch")
    levels: int = choice_of(3, 4, 5, default=4)
    table_entries: int = later(choice_of(32, 64, 128, 256, 512, default=512))
    mapped: str | None = choice_of("ahead", default=None)
    table: PolicyConfig | None = maybe_policy_of(Slot.PAGE_TABLE)

    @property
    def walk_levels(self) -> int:
        """Levels of a walk of `page`."""
        small, index = self.page.bit_length() - 13, self.table_entries.bit_length() - 1
        return self.levels - small // index


@frozen
class CrossbarConfig:
    """The interconnect between SMs and L2 banks, one network a direction.

    Attributes:
        latency: of one packet, either way.
        bytes_per_cycle: of each input and output port.
        queue: packets of one source that are in the network at most.
        pipelined: whether those that fill its way count beside the queue: one a cycle of the
            latency, and of an L2 bank's lookup, whose hits are sent ahead.
        ideal: no latency, no contention.
        order: which of the events of a cycle come first: None (``"none"`` in a model): whichever
            were due first, on both sides of the crossbar; ``"memory-first"``: those of the L2
            cache, DRAM and the walkers, then those of SMs, TLBs and L1 caches, so that the two
            sides may run on two cores.
    """

    latency: Duration = cycles(8)
    bytes_per_cycle: int = 32
    queue: int = 16
    pipelined: bool = later(False)
    ideal: bool = False
    order: str | None = choice_of("memory-first", default=None)


@frozen
class L2Config:
    """The shared, banked, write-allocate L2 cache.

    Attributes:
        size: of all banks together.
        ways, line: shape.
        banks: interleaved by line.
        sector: bytes fetched and written back at once; None (``"none"`` in a model): a whole line.
        byte_masks: whether the bytes that stores write are followed, so that a sector (which may be
            a whole line) that several of them cover together need not be fetched; None (``"none"``
            in a model): they are not.
        partial_writes: what becomes of sectors that leave with some bytes written: None
            (``"none"`` in a model): DRAM writes these bytes; ``"fill"``: they are read and then
            written in whole, as a memory whose check bits are of whole sectors needs it.
        partitions: parts of the chip in which banks and SMs lie: banks in their order, and GPCs
            of SMs in theirs, as many in each (`gpusim.machine.domains.Partitions`).
        far: cycles that a request of an SM to a bank of another partition takes longer, there and
            back together; None (``"none"`` in a model) with one partition.
        copies: what a partition keeps of lines whose bank is in another: None (``"none"`` in a
            model): nothing, requests go there; ``"reads"``: copies of what its SMs load.
        hash: which bank a line goes to: None (``"none"`` in a model): consecutive lines to
            consecutive banks; ``"xor"`` or ``"ipoly"``: upper address bits are folded in;
            ``"random"``: any (`gpusim.core.interleaving`).
        interleave: bytes of neighbouring lines that go to one bank; None (``"none"`` in a model):
            a line.
        ports: requests that a bank starts a cycle.
        entry: from the network, or the walkers, to a bank's queue: what GPGPU-Sim calls the ROP
            latency; None (``"none"`` in a model): nothing.
        latency: of a hit.
        mshrs: lines (or sectors) of a bank that may be outstanding.
        mshr_merge: requests that one MSHR can hold.
        mshr_grain: what an MSHR follows: a ``"line"``, or a ``"sector"`` of one.
        queue: requests that wait in front of a bank.
        atomic_interval: cycles in which a bank changes a word once; the lanes of an atomic that
            change one word take turns, and the bank looks up nothing else meanwhile.  None
            (``"none"`` in a model): an atomic takes a lookup, whatever its lanes do.
        atomic_grain: what changes at once with `atomic_interval`, each word once: None (``"none"``
            in a model): a line; ``"sector"``: a sector, and the sectors of a line in turns.
        atomic_whole: cycles in which all words of such a part change once; None (``"none"`` in a
            model): as many as for some of them.
        store_to_load: with `copies`, from the lookup of a store to that of a load of its line, at
            least; the bank looks up nothing else meanwhile.  None (``"none"`` in a model): nothing.
        writes: when DRAM gets what stores and atomics change: ``"back"``: when the line leaves;
            ``"through"``: at once.
        page_table_reads: which page-table reads that wait at a bank are looked up: ``"first"``,
            before the requests of the SMs, or ``"in-order"`` of arrival with them.
        bypass: cache bypass policy: which page-table reads go past it, straight to DRAM.
        partition: ``"none"``, or ``"ways"``: each of *n* applications has ``ways / n`` ways of
            every set (±1 if that is no whole number) for its lines and its page table's.
        replacement: replacement policy: which line of a set goes, among those of its part.
    """

    size: Bytes
    ways: int
    line: Bytes = Bytes(128)
    sector: Bytes | None = None
    byte_masks: bool | None = None
    partial_writes: str | None = choice_of("fill", default=None)
    banks: int = 8
    partitions: int = later(1)
    far: Duration | None = None
    copies: str | None = choice_of("reads", default=None)
    hash: str | None = choice_of(*HASHES, RANDOM, default=None)
    interleave: Bytes | None = None
    ports: int = 1
    entry: Duration | None = None
    latency: Duration = cycles(10)
    mshrs: int = 64
    mshr_merge: int = 64
    mshr_grain: str = later(choice_of("line", "sector"))
    queue: int = 16
    atomic_interval: float | None = None
    atomic_grain: str | None = choice_of("sector", default=None)
    atomic_whole: float | None = None
    store_to_load: Duration | None = None
    writes: str = later(choice_of("back", "through"))
    page_table_reads: str = later(choice_of("first", "in-order"))
    bypass: PolicyConfig = policy_of(Slot.CACHE_BYPASS, "never")
    partition: str = choice_of("none", "ways")
    replacement: PolicyConfig = later(policy_of(Slot.REPLACEMENT, "lru"))

    @property
    def sectored(self) -> bool:
        """Whether lines are fetched and written back in parts, or stores take them unfetched."""
        return self.sector is not None and (self.sector < self.line or self.byte_masks is True)

    @property
    def atomic_grain_bytes(self) -> int:
        """Bytes that an atomic changes at once; 0: whatever it changes takes one lookup."""
        if self.atomic_interval is None:
            return 0
        return (self.sector or self.line) if self.atomic_grain == "sector" else self.line


@frozen
class GpuConfig:
    """A whole GPU: one model file, variants and overrides applied.

    Attributes:
        name, description, source: what it is, and where its numbers come from.
        clock: core clock, the unit of all cycles.
        block_scheduler: thread-block scheduler policy.
        sharing: SM sharing policy: which SMs several applications have, how much of each, and when.
        sms_per_tpc, tpcs_per_gpc: grouping of SMs, for TLB scopes.
        tlb: TLB levels by name, from the SM outward.
        stages: stages of translation from the SM outward: names of TLB levels and of tables
            ``[stage.NAME]``, and at the end ``"walk"``; empty: the TLB levels in their order, and
            the walkers.
        stage: the stages that are neither.
        fbt: the forward–backward table of virtual L2 caches.
        paging: memory shared with the host, whose pages come on demand; None: all are there.
        speculation: loads fetch their lines at guessed frames while they wait for translations;
            None: they do not.
        shootdown: what a shootdown takes; None: nothing but what has to be translated again.
        mapping_calls: what calls take by which a program maps and unmaps pieces of an array; None:
            what its defaults say.
        scalar, constant, read_only, instruction: side caches, for accesses of these kinds.
        watchdog: cycles without progress after which a run is stopped; those in which it only waits
            for the next event do not count.
        launch_overhead: cycles between a launch and its first block.
        dispatch: warps that the thread-block scheduler starts a cycle; None (``"none"`` in a
            model): a block.
        concurrent_kernels: kernel launches of one application that may be under way at once, in
            different streams; None (``"none"`` in a model): no limit.
        mig: into which instances it can be cut, if any; workloads without instances have it whole.
        node: the GPUs of a node, each of which is as all other tables say; None: there is one GPU.
    """

    name: str
    clock: Hertz
    sm: SmConfig
    l1: L1Config
    tlb: Mapping[str, TlbConfig]
    walk: WalkConfig
    l2: L2Config
    dram: DramConfig
    crossbar: CrossbarConfig = CrossbarConfig()
    memory: MemoryConfig = MemoryConfig()
    block_scheduler: PolicyConfig = policy_of(Slot.BLOCK_SCHEDULER, "round-robin")
    sharing: PolicyConfig = later(policy_of(Slot.SM_SHARING, "by-sm"))
    sms_per_tpc: int = 1
    tpcs_per_gpc: int = 1
    fbt: FbtConfig | None = None
    paging: PagingConfig | None = None
    shootdown: ShootdownConfig | None = None
    mapping_calls: MappingCallsConfig | None = None
    speculation: SpeculationConfig | None = None
    scalar: SideCacheConfig | None = None
    constant: SideCacheConfig | None = None
    read_only: SideCacheConfig | None = None
    instruction: InstructionCacheConfig | None = None
    watchdog: Duration = cycles(200_000)
    launch_overhead: Duration = later(cycles(0))
    dispatch: int | None = None
    concurrent_kernels: int | None = None
    stages: tuple[str, ...] = ()
    stage: Mapping[str, StageConfig] = field(factory=dict)
    mig: MigConfig | None = None
    node: NodeConfig | None = None
    description: str = ""
    source: str = ""

    @property
    def knows_covered(self) -> bool:
        """Whether a cache asks which sectors a store writes in whole."""
        return self.l2.sectored or self.l1.writes == "allocate"

    @property
    def stores_late(self) -> bool:
        """Whether what a store leaves in an L1 cache is known when it is acknowledged."""
        return self.l1.writes == "allocate" and self.l1.translation == "after-l2"

    @property
    def knows_sectors(self) -> bool:
        """Whether a cache asks for parts of a line."""
        return self.knows_covered or self.l1.sector < self.l1.line

    @property
    def side_caches(self) -> Mapping[str, SideCacheConfig]:
        """The side caches that it has, by name."""
        named = ((name, getattr(self, name)) for name in SIDE_CACHES)
        return {name: cache for name, cache in named if cache is not None}

    @property
    def stage_names(self) -> tuple[str, ...]:
        """The stages of translation, from the SM outward; the last one is `WALK_STAGE`."""
        return self.stages or (*self.tlb, WALK_STAGE)

    @property
    def gpus(self) -> int:
        """How many GPUs there are."""
        return 1 if self.node is None else self.node.gpus

    @property
    def sms(self) -> int:
        """The SMs of all GPUs."""
        return self.sm.count * self.gpus

    @property
    def gpcs(self) -> int:
        """How many GPCs its SMs make; the last one may be smaller."""
        return -(-self.sm.count // self.sms_of("gpc"))

    def tlb_users(self, tlb: TlbConfig, apps: int) -> tuple[int, int, int]:
        """Who shares one TLB of a level: applications, SMs, and warp slots of an SM."""
        return apps, self.sms_of(tlb.scope), self.sm.max_warps

    def sms_of(self, scope: str) -> int:
        """How many SMs share one TLB of a scope; of ``"instance"``, in the smallest instance."""
        slices = max(1, self.mig.slices) if self.mig else 1
        return {
            "sm": 1,
            "tpc": self.sms_per_tpc,
            "gpc": self.sms_per_tpc * self.tpcs_per_gpc,
            "instance": self.sm.count // slices,
        }.get(scope, self.sm.count)

    def instance(self, slices: int) -> GpuConfig:
        """The GPU that a MIG instance of `slices` slices is, alone: its part of what is cut.

        What a TLB, a bank, a channel or a walk cache is like does not depend on their number, but
        for TLBs of scope ``"slices"``.
        """
        assert self.mig is not None
        whole = self.mig.slices
        return evolve(
            self,
            sm=evolve(self.sm, count=self.sm.count * slices // whole),
            tlb={name: tlb.part(slices, whole) for name, tlb in self.tlb.items()},
            walk=evolve(self.walk, walkers=self.walk.walkers * slices // whole),
            memory=evolve(self.memory, size=Bytes(self.memory.size * slices // whole)),
            l2=evolve(
                self.l2,
                size=Bytes(self.l2.size * slices // whole),
                banks=self.l2.banks * slices // whole,
            ),
            dram=evolve(self.dram, channels=self.dram.channels * slices // whole),
        )
