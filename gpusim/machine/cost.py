"""What a machine's mechanisms keep in hardware, in bits; two machines compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from gpusim.config.load import LoadedModel
from gpusim.config.paging import PagingConfig
from gpusim.config.schema import GpuConfig, TlbConfig
from gpusim.core.registry import Slot, make_policy
from gpusim.core.structures import Dimensions, Storage
from gpusim.hardware.cache import CacheBypass, InvalidationFilter, SynonymTable
from gpusim.hardware.dram import DramQueue
from gpusim.hardware.dram.pressure import walk_counters, warp_counters
from gpusim.hardware.fbt import make_table
from gpusim.hardware.paging import AccessCounters, Eviction, FaultBuffer
from gpusim.hardware.sm.block_scheduler import BlockPlacement
from gpusim.hardware.tlb import FillPolicy, make_array
from gpusim.machine.dimensions import dimensions


@frozen
class Part:
    """A structure, and where it is.

    Attributes:
        where: component, by its key in the model.
        instances: how many of the component there are.
        storage: of one of them; None: its policy does not tell.
    """

    where: str
    instances: int
    storage: Storage | None

    @property
    def bits(self) -> int:
        """Of all instances."""
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
    """The structures of the components whose policies may tell.

    Valid bits, bits for replacement and address space ids are not counted, as in the papers; only
    of arrays with sub-entries valid and dirty bits are, as in STAR.
    """
    config = model.config
    sizes = dimensions(config)
    placement: BlockPlacement = make_policy(Slot.BLOCK_SCHEDULER, config.block_scheduler)
    parts = list(_parts("block_scheduler", 1, placement.storage(sizes)))
    for name, tlb in config.tlb.items():
        if not tlb.ideal:
            array = make_array(tlb)
            fill: FillPolicy = make_policy(Slot.TLB_FILL, tlb.fill, *config.tlb_users(tlb, apps=1))
            instances = _instances(config, tlb)
            parts += _parts(f"tlb.{name}", instances, array.storage(sizes))
            parts += _parts(f"tlb.{name}", instances, fill.storage(sizes))
    if config.fbt is not None:
        lines = config.l1.size // config.l1.line
        of_l1 = InvalidationFilter.storage(sizes, lines)
        parts += _parts("fbt", 1, make_table(config.fbt, config).storage(sizes))
        parts += _parts("l1", config.sm.count, of_l1)
        if config.fbt.remapping is not None:
            synonyms = SynonymTable(config.fbt.remapping.entries)
            parts += _parts("l1", config.sm.count, synonyms.storage(sizes))
    bypass: CacheBypass = make_policy(Slot.CACHE_BYPASS, config.l2.bypass)
    parts += _parts("l2.bypass", 1, bypass.storage(sizes))
    if config.paging is not None:
        parts += _paging_parts(config, config.paging, sizes)
    if not config.dram.ideal:
        parts += _dram_parts(config, sizes)
    return parts


def _instances(config: GpuConfig, tlb: TlbConfig) -> int:
    """How many TLBs of a level there are."""
    return -(-config.sm.count // config.sms_of(tlb.scope))


def _paging_parts(
    config: GpuConfig, paging: PagingConfig, sizes: Dimensions
) -> Iterator[Part]:  # fmt: skip
    """The fault buffer, and what counts accesses: to as many blocks as there is device memory for.

    What the driver keeps lies in the host's memory.
    """
    faults = FaultBuffer.storage(sizes, paging.fault_buffer, config.sm.max_warps)
    yield from _parts("paging", 1, (faults,))
    room = config.memory.size if paging.capacity is None else paging.capacity
    eviction: Eviction = make_policy(Slot.EVICTION, paging.eviction, 0)
    kept = eviction.storage(-(-room // paging.eviction_block))
    yield from _parts("paging.eviction", 1, kept)
    if paging.migration == "accesses":
        blocks = -(-config.memory.size // paging.migration_block)
        yield from _parts("paging", 1, (AccessCounters.storage(blocks, paging.threshold),))


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


def _parts(where: str, instances: int, told: Sequence[Storage] | None) -> Iterator[Part]:
    if told is None:
        yield Part(where, instances, None)
        return
    for one in told:
        yield Part(where, instances, one)


def _by_place(parts: Iterable[Part]) -> dict[tuple[str, str], Part]:
    return {(part.where, part.storage.name if part.storage else ""): part for part in parts}
