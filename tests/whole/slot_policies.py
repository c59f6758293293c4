"""A user's own policy for every slot, in plain Python: named as "tests.whole.slot_policies:...".

Each has an option, listens to the machine, and does what a policy of gpusim's does: `LIKE` says
which, so that a run with one must count what a run with the other counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from gpusim.core.registry import Slot
from gpusim.files.units import Hertz
from gpusim.plugin import (
    BlockPlacement,
    BlockShares,
    CacheBypass,
    DramQueue,
    Entry,
    Eviction,
    Fault,
    FillPolicy,
    Fits,
    Forwarding,
    FrameAllocator,
    FrameGuess,
    Invalidation,
    Launch,
    Mapping,
    MemoryRequest,
    Migration,
    MshrPolicy,
    PagePlacement,
    PagePrefetch,
    PlainSet,
    RemotePages,
    Replacement,
    Requester,
    Resident,
    Schedulable,
    SetAssociativeArray,
    SetKind,
    Signals,
    SmSharing,
    StageProcess,
    StageSite,
    Step,
    TableLayout,
    TableSite,
    TlbArray,
    TlbConfig,
    TlbSet,
    Translation,
    Waiting,
    Walk,
    WalkOrder,
    WarpScheduler,
)

ATTACHED: list[tuple[str, int]] = []
"""Name of the class, and cycle, of each policy that was attached; a test empties it."""


def listen(policy: Any, signals: Signals) -> None:
    """What `attach` and the option are to each of them."""
    assert signals.apps == 1
    assert policy.level == 3
    ATTACHED.append((type(policy).__name__, signals.now))


class Placement(BlockPlacement):
    def __init__(self, *, level: int = 0) -> None:
        self.level = level
        self.next = 0

    attach = listen

    def pick(self, launch: Launch, block: int, count: int, fits: Fits) -> int | None:
        for step in range(count):
            index = (self.next + step) % count
            if fits(index):
                self.next = (index + 1) % count
                return index
        return None


class Sharing(SmSharing):
    """SMs are dealt out."""

    def __init__(self, clock: Hertz, *, level: int = 0) -> None:
        super().__init__(clock)
        self.level = level

    attach = listen


class Oldest(WarpScheduler):
    """The oldest ready warp; what a class states, `greedy`, is up to its subclasses."""

    def __init__(self, *, level: int = 0) -> None:
        self.level = level
        self.ready: list[Schedulable] = []

    attach = listen

    def add(self, warp: Schedulable) -> None:
        self.ready.append(warp)
        self.ready.sort(key=lambda one: one.age)

    def pick(self) -> Schedulable | None:
        return self.ready.pop(0) if self.ready else None

    def __len__(self) -> int:
        return len(self.ready)


class GreedyOldest(Oldest):
    greedy = True


class PatientOldest(Oldest):
    greedy = False


class Array(TlbArray):
    """Sets of least recently used translations."""

    def __init__(self, config: TlbConfig, *, level: int = 0) -> None:
        self.level = level
        self.ways = config.ways
        self.sets: list[dict[int, Mapping]] = [{} for _ in range(config.entries // config.ways)]

    attach = listen

    def _set(self, tag: int) -> dict[int, Mapping]:
        return self.sets[tag % len(self.sets)]

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        found = self._set(tag).pop(tag, None)
        if found is not None:
            self._set(tag)[tag] = found
        return found

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        entries = self._set(tag)
        there = entries.pop(tag, None)
        evicted = there is None and len(entries) == self.ways
        if evicted:
            del entries[next(iter(entries))]
        entries[tag] = mapping
        return int(evicted)

    def invalidate(self, tag: int) -> bool:
        return self._set(tag).pop(tag, None) is not None

    def flush(self) -> None:
        for one in self.sets:
            one.clear()


class Set:
    """One set, which is no subclass of anything."""

    def __init__(self, ways: PlainSet) -> None:
        self.ways = ways

    def find(self, tag: int) -> Entry | None:
        return self.ways.find(tag)

    def ways_for(self, tag: int, pfn: int) -> PlainSet:
        return self.ways

    def insert(self, entry: Entry) -> int:
        return self.ways.put(entry.tag, entry)

    def remove(self, tag: int) -> bool:
        return self.ways.take(tag) is not None

    def clear(self) -> None:
        self.ways.clear()


class Sets(SetKind):
    def __init__(self, config: TlbConfig, *, level: int = 0) -> None:
        super().__init__(config)
        self.level = level
        self.capacity = config.ways

    def attach(self, signals: Signals) -> None:
        super().attach(signals)
        listen(self, signals)

    def make(self, index_bits: int) -> TlbSet:
        return Set(PlainSet(self.capacity, self.replacement))


class Fill(FillPolicy):
    def __init__(self, apps: int, sms: int, warps: int, *, level: int = 0) -> None:
        self.level = level
        self.lookups = 0

    attach = listen

    def admits(
        self, tag: int, mapping: Mapping, requesters: Sequence[Requester], cycle: int
    ) -> bool:
        assert all(0 <= one.app < 1 for one in requesters)
        return True

    def looked_up(self, requester: Requester, hit: bool, cycle: int) -> None:
        self.lookups += 1


class Bypass(CacheBypass):
    """Is asked, and says no."""

    def __init__(self, *, level: int = 0) -> None:
        self.level = level

    attach = listen

    def bypasses(self, depth: int, app: int, line: int, cycle: int) -> bool:
        return False


class IdleBypass(Bypass):
    """Is never asked."""

    idle = True

    def bypasses(self, depth: int, app: int, line: int, cycle: int) -> bool:
        raise AssertionError("it is idle")


class Queue(DramQueue):
    """Row hits first, then the oldest."""

    def __init__(self, entries: int, banks: int, *, level: int = 0) -> None:
        self.level = level
        self.entries = entries
        self.size = 0
        self.changed = []
        self.banks: list[list[Waiting]] = [[] for _ in range(banks)]

    attach = listen

    def full(self, request: MemoryRequest) -> bool:
        return self.size >= self.entries

    def add(self, waiting: Waiting, now: int) -> None:
        self.size += 1
        self.banks[waiting.bank].append(waiting)
        self.banks[waiting.bank].sort(key=lambda one: one.rank)

    def remove(self, waiting: Waiting) -> None:
        self.size -= 1
        self.banks[waiting.bank].remove(waiting)

    def best(self, bank: int, row: int) -> Waiting | None:
        waiting = self.banks[bank]
        return next((one for one in waiting if one.row == row), waiting[0] if waiting else None)

    def requests(self) -> list[Waiting]:
        return [one for bank in self.banks for one in bank]


class QueueOfReads(Queue):
    """Must not be asked about writes."""

    reads_only = True

    def add(self, waiting: Waiting, now: int) -> None:
        assert not waiting.write
        super().add(waiting, now)


class Frames(FrameAllocator):
    """In the order of the first touch."""

    def __init__(self, frames: int, seed: int, *, level: int = 0) -> None:
        super().__init__(frames, seed)
        self.level = level
        self.used = 0

    attach = listen

    def allocate(self, asid: int, vpn: int) -> int:
        self.used += 1
        return self.used - 1

    def free(self, asid: int, vpn: int, pfn: int, pages: int) -> None:
        raise AssertionError("nothing is unmapped here")


class EagerFrames(Frames):
    eager = True


class Order(WalkOrder):
    def __init__(self, *, level: int = 0) -> None:
        self.level = level

    attach = listen

    def choose(self, waiting: Sequence[Walk], cycle: int) -> int:
        return 0


class LeastRecent(Replacement):
    def __init__(self, *, level: int = 0) -> None:
        super().__init__()
        self.level = level

    attach = listen

    def touch(self, index: int, key: int) -> None:
        entries = self.sets[index]
        entries[key] = entries.pop(key)

    def insert(self, index: int, key: int) -> None:
        """It is at the end."""

    def victim(self, index: int) -> int:
        return next(iter(self.sets[index]))

    def forget(self, index: int, key: int) -> None:
        """The others stay as they are."""


class Around(PagePrefetch):
    """The rest of 64 KiB."""

    def __init__(self, page_bytes: int, *, level: int = 0) -> None:
        super().__init__(page_bytes)
        self.level = level

    attach = listen

    def pages(self, fault: Fault, resident: Resident) -> Iterator[int]:
        first = fault.tag // 16 * 16
        for tag in range(first, first + 16):
            if resident.may_come(tag) and not resident.there(tag):
                yield tag


class First(Eviction):
    """The block of which pages came longest ago."""

    def __init__(self, seed: int, *, level: int = 0) -> None:
        self.level = level
        self.order: list[int] = []

    attach = listen

    def arrived(self, block: int) -> None:
        if block in self.order:
            self.order.remove(block)
        self.order.append(block)

    def left(self, block: int) -> None:
        self.order.remove(block)

    def choose(self, blocks: Sequence[int]) -> int:
        return next(one for one in self.order if one in blocks)


class Recent(First):
    """The block that was accessed longest ago leaves first."""

    counts = True

    def accessed(self, block: int) -> None:
        if block in self.order:
            self.arrived(block)


class Shares(BlockShares):
    """Equal runs of blocks."""

    def __init__(self, sms: Sequence[int], *, level: int = 0) -> None:
        super().__init__(sms)
        self.level = level

    attach = listen

    def deal(self, launch: Launch, gpus: int) -> list[range]:
        cuts = [launch.blocks * gpu // gpus for gpu in range(gpus + 1)]
        return [range(cuts[gpu], cuts[gpu + 1]) for gpu in range(gpus)]


class InTurn(PagePlacement):
    """Pages in turn."""

    def __init__(self, gpus: int, page_bytes: int, *, level: int = 0) -> None:
        super().__init__(gpus, page_bytes)
        self.level = level

    attach = listen

    def place(self, asid: int, vpn: int, gpu: int) -> int:
        return vpn % self.gpus


class OnTouch(RemotePages):
    """A page moves to whichever GPU asks for it."""

    def __init__(self, gpus: int, page_bytes: int, *, level: int = 0) -> None:
        super().__init__(gpus, page_bytes)
        self.level = level

    attach = listen

    def fault(self, tag: int, gpu: int, owner: int) -> bool:
        return True


class AfterAWalk(Invalidation):
    """All GPUs are asked, whose walkers come to the entry first."""

    def __init__(self, gpus: int, table_entries: int, *, level: int = 0) -> None:
        super().__init__(gpus, table_entries)
        self.level = level

    attach = listen

    def asked(self, tag: int, holders: int) -> int:
        return (1 << self.gpus) - 1

    def keeps(self, tag: int, gpu: int) -> bool:
        return False


class Known(Forwarding):
    """What tables have is known, without a filter."""

    def __init__(self, gpus: int, *, level: int = 0) -> None:
        super().__init__(gpus)
        self.level = level
        self.having: set[tuple[int, int]] = set()

    attach = listen

    def entered(self, tag: int, gpu: int) -> None:
        self.having.add((tag, gpu))

    def left(self, tag: int, gpu: int) -> None:
        self.having.discard((tag, gpu))

    def absent(self, tag: int, gpu: int) -> bool:
        return (tag, gpu) not in self.having

    def holder(self, tag: int, gpu: int, queued: int) -> int:
        others = ((gpu + further) % self.gpus for further in range(1, self.gpus))
        return next((one for one in others if queued and (tag, one) in self.having), -1)


class Passes(StageProcess):
    """Passes everything on at once, each way; a warp that waits for it is in a state of its own."""

    states: ClassVar[tuple[str, ...]] = ("passing",)

    def __init__(self, site: StageSite, *, level: int = 0) -> None:
        super().__init__(site)
        self.level = level

    attach = listen

    def asked(self, translation: Translation) -> bool:
        if self.room:
            self.send_on(translation)
            return True
        return False

    def warnings(self) -> Iterator[str]:
        yield f"{self.name} passed {self.counters[0].received}"


# -- what a class states beside its methods -------------------------------------------------------


def stated(base: Any, **facts: Any) -> tuple[type, type]:
    """Two classes: one says what it has to say in its body, the other one in `__init__`."""

    class OfClass(base):
        locals().update(facts)

    class OfObject(base):
        def __init__(self, config: TlbConfig, *, level: int = 0) -> None:
            super().__init__(config, level=level)
            for name, value in facts.items():
                setattr(self, name, value)

    return OfClass, OfObject


SlowArray, SlowArrayToo = stated(Array, extra_cycles=6, pipelined_cycles=2)
EachArray, EachArrayToo = stated(Array, fills_every_slot=True)
SlowSets, SlowSetsToo = stated(Sets, extra_cycles=4)


class Inherited(SetAssociativeArray):
    """States what its base sets anew in `__init__`: that of the base holds, in both forms."""

    extra_cycles = 9

    def __init__(self, config: TlbConfig, *, level: int = 0) -> None:
        super().__init__(config)


class Registers(MshrPolicy):
    """As many as there are."""

    def __init__(self, mshrs: int, apps: int, *, level: int = 0) -> None:
        super().__init__(mshrs, apps)
        self.level = level
        self.under_way: list[int] = []

    attach = listen

    def refuses(self, tag: int, requester: Requester, under_way: int) -> bool:
        assert len(self.under_way) == under_way
        assert tag not in self.under_way
        return under_way >= self.mshrs

    def began(self, tag: int, requester: Requester) -> None:
        self.under_way.append(tag)

    def ended(self, tag: int) -> None:
        self.under_way.remove(tag)


class Radix(TableLayout):
    """Two levels, of which the lower one has tables of 2 MiB."""

    tree = True
    levels = 2

    def __init__(self, site: TableSite, *, level: int = 0) -> None:
        super().__init__(site)
        self.level = level
        self.tables: dict[tuple[int, ...], int] = {}

    attach = listen

    def steps(self, tag: int, mapping: Mapping | None) -> Sequence[Step]:
        asid, vpn = tag >> 52, tag & (1 << 52) - 1
        return [
            Step(self.entry((asid,), vpn >> 18), prefix=vpn >> 18),
            Step(self.entry((asid, vpn >> 18), vpn & 0x3FFFF), prefix=vpn),
        ]

    def entry(self, table: tuple[int, ...], index: int) -> int:
        if table not in self.tables:
            self.tables[table] = self.site.reserve(table[0], 2 << 20)
        return self.tables[table] + 8 * index


class LastDifference(FrameGuess):
    """The difference of the last page of 2 MiB, once it was right."""

    def __init__(self, *, level: int = 0) -> None:
        self.level = level
        self.known: dict[int, tuple[int, int]] = {}

    attach = listen

    def guess(self, tag: int, requester: Requester) -> int | None:
        difference, times = self.known.get(tag >> 9, (0, 0))
        return tag + difference if times > 1 else None

    def learned(self, tag: int, mapping: Mapping, guessed: int | None) -> None:
        difference, times = self.known.get(tag >> 9, (mapping.delta, 0))
        self.known[tag >> 9] = mapping.delta, times + 1 if difference == mapping.delta else 1


class Hot(Migration):
    """Pages come that were accessed 64 times."""

    def __init__(self, page_bytes: int, *, level: int = 0) -> None:
        super().__init__(page_bytes)
        self.level = level
        self.counts: dict[int, int] = {}

    attach = listen

    def accessed(self, tag: int) -> list[int]:
        self.counts[tag] = (self.counts.get(tag, 0) + 1) % 64
        return [] if self.counts[tag] else [tag]


LIKE: dict[str, tuple[Slot, str, str]] = {
    "Placement": (Slot.BLOCK_SCHEDULER, "block_scheduler", "round-robin"),
    "Sharing": (Slot.SM_SHARING, "sharing", "by-sm"),
    "GreedyOldest": (Slot.WARP_SCHEDULER, "sm.scheduler", "gto"),
    "Array": (Slot.TLB_ARRAY, "tlb.L2.array", "set-associative"),
    "Sets": (Slot.TLB_SET, "tlb.L2.sets", "plain"),
    "Fill": (Slot.TLB_FILL, "tlb.L2.fill", "always"),
    "Registers": (Slot.TLB_MSHRS, "tlb.L2.mshr_policy", "any"),
    "Radix": (Slot.PAGE_TABLE, "memory.table", "flattened"),
    "LastDifference": (Slot.FRAME_GUESS, "speculation.guess", "contiguous"),
    "Bypass": (Slot.CACHE_BYPASS, "l2.bypass", "never"),
    "IdleBypass": (Slot.CACHE_BYPASS, "l2.bypass", "never"),
    "Queue": (Slot.DRAM_QUEUE, "dram.scheduler", "fr-fcfs"),
    "QueueOfReads": (Slot.DRAM_QUEUE, "dram.scheduler", "fr-fcfs"),
    "Frames": (Slot.FRAMES, "memory.frames", "first-touch"),
    "EagerFrames": (Slot.FRAMES, "memory.frames", "contiguous"),
    "Order": (Slot.WALK_ORDER, "walk.order", "fcfs"),
    "Around": (Slot.PAGE_PREFETCH, "paging.prefetch", "block"),
    "First": (Slot.EVICTION, "paging.eviction", "lru"),
    "Hot": (Slot.MIGRATION, "paging.mover", "hot-pages"),
    "Recent": (Slot.EVICTION, "paging.eviction", "lru-accesses"),
    "Shares": (Slot.BLOCK_SHARES, "node.blocks", "contiguous"),
    "InTurn": (Slot.PAGE_PLACEMENT, "node.placement", "interleave"),
    "OnTouch": (Slot.REMOTE_PAGES, "node.remote", "migrate-on-touch"),
    "AfterAWalk": (Slot.INVALIDATION, "node.invalidation", "walked"),
    "Known": (Slot.FORWARDING, "node.forwarding", "filtered"),
    "LeastRecent": (Slot.REPLACEMENT, "tlb.L2.replacement", "lru"),
}
"""By the class: its slot, the key of the model, and the policy of gpusim's that it is like."""
