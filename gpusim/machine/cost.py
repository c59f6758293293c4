"""Storage costs of a machine's mechanisms, in bits, and the difference of two machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from gpusim.config.auxiliary import SideCacheConfig
from gpusim.config.load import LoadedModel
from gpusim.config.schema import GpuConfig, L1Config, StageConfig
from gpusim.config.translation import FbtConfig, TlbConfig
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, make_policy
from gpusim.core.replacement import make_replacement
from gpusim.core.stage import Stage
from gpusim.core.structures import Dimensions, Storage
from gpusim.hardware.cache import CacheBypass, InvalidationFilter, SynonymTable
from gpusim.hardware.dram import DramQueue
from gpusim.hardware.dram.pressure import walk_counters, warp_counters
from gpusim.hardware.fbt import make_table
from gpusim.hardware.node import Forwarding, Invalidation, RemotePages
from gpusim.hardware.paging import AccessCounters, Eviction, FaultBuffer, Migration
from gpusim.hardware.sm.block_placement import BlockPlacement
from gpusim.hardware.sm.frame_guess import FrameGuess
from gpusim.hardware.sm.schedulers import WarpScheduler
from gpusim.hardware.tlb import FillPolicy, make_array
from gpusim.hardware.walk import WalkOrder, walk_cache_storage
from gpusim.machine.dimensions import dimensions
from gpusim.machine.mock_site import trial_site


@frozen
class Part:
    """A structure, and where it is.

    Attributes:
        where: component, by its key in the model.
        instances: how many of the component there are.
        storage: of one of them; None: its policy does not state it.
    """

    where: str
    instances: int
    storage: Storage | None

    @property
    def bits(self) -> int:
        """The bits of all instances; 0: not stated."""
        return 0 if self.storage is None else self.instances * self.storage.bits


@frozen
class Difference:
    """A structure in two machines.

    Attributes:
        new: in the one; None: it does without.
        old: in the other one.
    """

    new: Part | None
    old: Part | None

    @property
    def part(self) -> Part:
        """The structure."""
        part = self.new or self.old
        assert part is not None
        return part

    @property
    def added_bits(self) -> int:
        """By which the one is larger."""
        return (self.new.bits if self.new else 0) - (self.old.bits if self.old else 0)


def storage(model: LoadedModel) -> list[Part]:
    """The structures of the components, as their policies state them.

    Valid bits, orders of sets (LRU) and address space ids are not counted, as in the papers; only
    of arrays with sub-entries valid and dirty bits are, as in STAR.
    """
    config = model.config
    sizes = dimensions(config)
    return [
        *_sm_parts(config, sizes),
        *_tlb_parts(config, sizes),
        *_fbt_parts(config, sizes),
        *_cache_parts(config, sizes),
        *_walk_parts(config, sizes),
        *_paging_parts(config, sizes),
        *_node_parts(config, sizes),
        *(() if config.dram.ideal else _dram_parts(config, sizes)),
    ]


def _sm_parts(config: GpuConfig, sizes: Dimensions) -> Iterator[Part]:
    """Block placement, and the warp schedulers of each SM."""
    placement: BlockPlacement = make_policy(Slot.BLOCK_SCHEDULER, config.block_scheduler)
    yield from _parts("block_scheduler", 1, placement.storage(sizes))
    warps: WarpScheduler = make_policy(Slot.WARP_SCHEDULER, config.sm.scheduler)
    parts_of_one = warps.storage(sizes, config.sm.max_warps, config.l1.size // config.l1.line)
    yield from _parts("sm.scheduler", config.sm.count, parts_of_one)
    if config.speculation is not None:
        guess: FrameGuess = make_policy(Slot.FRAME_GUESS, config.speculation.guess)
        yield from _parts("speculation.guess", config.sm.count, guess.storage(sizes))
        lines = Storage("lines", config.speculation.entries, {"line": 8 * config.l1.line})
        yield from _parts("speculation", config.sm.count, (lines,))


def _tlb_parts(config: GpuConfig, sizes: Dimensions) -> Iterator[Part]:
    """Arrays, fill policies and replacement of TLBs, and stages of a user's own."""
    for name, tlb in config.tlb.items():
        if tlb.ideal:
            continue
        array = make_array(tlb)
        fill: FillPolicy = make_policy(Slot.TLB_FILL, tlb.fill, *config.tlb_users(tlb, apps=1))
        instances = _instances(config, tlb)
        yield from _parts(f"tlb.{name}", instances, array.storage(sizes))
        yield from _parts(f"tlb.{name}", instances, fill.storage(sizes))
        parts_of_one = _replaced(tlb.replacement, tlb.entries, tlb.ways)
        yield from _parts(f"tlb.{name}.replacement", instances, parts_of_one)
    for name, own in config.stage.items():
        stage: Stage = make_policy(Slot.STAGE, own.kind, trial_site(name, own))
        yield from _parts(f"stage.{name}", _instances(config, own), stage.storage(sizes))


def _fbt_parts(config: GpuConfig, sizes: Dimensions) -> Iterator[Part]:
    """What virtual caches need."""
    if config.fbt is None:
        return
    tables = 1 if config.mig is None else config.mig.slices
    yield from _parts("fbt", tables, make_table(config.fbt, config).storage(sizes))
    yield from _names_of_lines(config, sizes)
    yield from _leading_names("l1", config.sm.count, config.l1, config.fbt, sizes)
    for name, side in config.side_caches.items():
        yield from _leading_names(name, _instances(config, side), side, config.fbt, sizes)


def _names_of_lines(config: GpuConfig, sizes: Dimensions) -> Iterator[Part]:
    """What lines of virtual caches have beyond those of physical ones (VC §4.3).

    A tag names a page instead of a frame, and permissions to read and to write come with it.
    """
    fields = {"wider tag": max(sizes.page_bits - sizes.frame_bits, 0), "permissions": 2}
    l1, l2 = config.l1, config.l2
    for where, caches, lines in (
        ("l1", config.sm.count, l1.size // l1.line),
        ("l2", l2.banks, l2.size // l2.line // l2.banks),
    ):
        yield Part(where, caches, Storage("virtual tags and permissions", lines, fields))


def _leading_names(
    where: str, instances: int, cache: L1Config | SideCacheConfig, fbt: FbtConfig, sizes: Dimensions
) -> Iterator[Part]:
    """What caches next to SMs need below a virtual L2 cache."""
    lines = InvalidationFilter.storage(sizes, cache.size // cache.line)
    yield from _parts(where, instances, lines)
    if fbt.remapping is not None:
        synonyms = SynonymTable(fbt.remapping.entries)
        yield from _parts(where, instances, synonyms.storage(sizes))


def _instances(config: GpuConfig, part: TlbConfig | StageConfig | SideCacheConfig) -> int:
    """How many stages, or side caches, of a name there are."""
    return -(-config.sm.count // config.sms_of(part.scope))


def _cache_parts(config: GpuConfig, sizes: Dimensions) -> Iterator[Part]:
    """What replacement keeps in each L1 cache and each L2 bank, and the L2 bypass."""
    l1, l2 = config.l1, config.l2
    parts_of_one = _replaced(l1.replacement, l1.size // l1.line, l1.ways)
    yield from _parts("l1.replacement", config.sm.count, parts_of_one)
    parts_of_one = _replaced(l2.replacement, l2.size // l2.line // l2.banks, l2.ways)
    yield from _parts("l2.replacement", l2.banks, parts_of_one)
    bypass: CacheBypass = make_policy(Slot.CACHE_BYPASS, l2.bypass)
    yield from _parts("l2.bypass", 1, bypass.storage(sizes))


def _walk_parts(config: GpuConfig, sizes: Dimensions) -> Iterator[Part]:
    """The order of walks, the page-walk cache and its replacement."""
    walk, cache = config.walk, config.walk.cache
    order: WalkOrder = make_policy(Slot.WALK_ORDER, walk.order)
    yield from _parts("walk.order", 1, order.storage(sizes, walk.walkers, walk.queue))
    if cache is not None:
        yield from _parts("walk.cache", 1, walk_cache_storage(cache, sizes))
        levels = sizes.page_table_levels - 1 if cache.kind == "split" else 1
        parts_of_one = _replaced(
            cache.replacement, levels * cache.blocks, cache.ways or cache.blocks
        )
        yield from _parts("walk.cache.replacement", 1, parts_of_one)


def _replaced(policy: PolicyConfig, entries: int, ways: int) -> Sequence[Storage] | None:
    """The storage of a replacement policy for `entries` entries in sets of `ways` ways."""
    return make_replacement(policy, ways).storage(entries // ways, ways)


def _paging_parts(config: GpuConfig, sizes: Dimensions) -> Iterator[Part]:
    """The fault buffer, and what counts accesses: to as many blocks as there is device memory for.

    What the driver keeps lies in the host's memory.
    """
    paging = config.paging
    if paging is None:
        return
    faults = FaultBuffer.storage(sizes, paging.fault_buffer, config.sm.max_warps)
    yield from _parts("paging", 1, (faults,))
    room = config.memory.size if paging.capacity is None else paging.capacity
    eviction: Eviction = make_policy(Slot.EVICTION, paging.eviction, 0)
    kept = eviction.storage(-(-room // paging.eviction_block))
    yield from _parts("paging.eviction", 1, kept)
    if paging.mover is not None:
        mover: Migration = make_policy(Slot.MIGRATION, paging.mover, config.memory.page)
        kept = mover.storage(config.memory.size // config.memory.page)
        yield from _parts("paging.mover", 1, kept)
    if paging.migration == "accesses":
        blocks = -(-config.memory.size // paging.migration_block)
        yield from _parts("paging", 1, (AccessCounters.storage(blocks, paging.threshold),))


def _node_parts(config: GpuConfig, sizes: Dimensions) -> Iterator[Part]:
    """What decides about pages of a node: in a GPU, as all other parts, and at the host."""
    node = config.node
    if node is None or node.host_mmu is None:
        return
    pages = config.memory.size // config.memory.page
    remote: RemotePages = make_policy(Slot.REMOTE_PAGES, node.remote, node.gpus, config.memory.page)
    yield from _parts("node.remote", 1, remote.storage(sizes, pages))
    if node.invalidation is not None:
        invalidation: Invalidation = make_policy(
            Slot.INVALIDATION, node.invalidation, node.gpus, config.memory.table_entries
        )
        yield from _parts("node.invalidation", 1, invalidation.storage(sizes))
    if node.forwarding is not None:
        forwarding: Forwarding = make_policy(Slot.FORWARDING, node.forwarding, node.gpus)
        own, host = forwarding.storage(sizes) or (None, ())
        yield from _parts("node.forwarding", 1, own)
        yield from _parts("node.host_mmu", 1, host)


def _dram_parts(config: GpuConfig, sizes: Dimensions) -> Iterator[Part]:
    """Queues of reads, and what they watch: counters of walks for as many applications as SMs."""
    dram = config.dram
    queue: DramQueue = make_policy(
        Slot.DRAM_QUEUE, dram.scheduler, dram.read_queue, dram.banks_per_channel
    )
    yield from _parts("dram.scheduler", dram.channels, queue.storage(sizes))
    if queue.epoch:
        name, last = list(config.tlb.items())[-1]
        yield from _parts("walk", 1, walk_counters(sizes.sms))
        yield from _parts(f"tlb.{name}", _instances(config, last), warp_counters(last.mshrs))


def compare_storage(model: LoadedModel, base: LoadedModel) -> list[Difference]:
    """What a machine has of each structure that it or another one has."""
    new, old = _by_place(storage(model)), _by_place(storage(base))
    places = dict.fromkeys((*new, *old))
    return [Difference(new.get(place), old.get(place)) for place in places]


def added_bytes(model: LoadedModel, base: LoadedModel) -> dict[str, float]:
    """Bytes that a machine adds to another one, where it does, by ``"component: structure"``."""
    return {
        f"{row.part.where}: {row.part.storage.name}": row.added_bits / 8
        for row in compare_storage(model, base)
        if row.part.storage and row.added_bits
    }


def _parts(where: str, instances: int, parts_of_one: Sequence[Storage] | None) -> Iterator[Part]:
    if parts_of_one is None:
        yield Part(where, instances, None)
        return
    for one in parts_of_one:
        yield Part(where, instances, one)


def _by_place(parts: Iterable[Part]) -> dict[tuple[str, str], Part]:
    return {(part.where, part.storage.name if part.storage else ""): part for part in parts}
