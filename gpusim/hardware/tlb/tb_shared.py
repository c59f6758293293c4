"""A TLB whose sets are dealt out to thread blocks, which may use their neighbour's (ORCH §IV-B)."""

from __future__ import annotations

from collections.abc import Sequence

import attr
from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.counters import count
from gpusim.core.errors import one_of
from gpusim.core.registry import Slot, register_policy
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage
from gpusim.hardware.tlb.array import SLOT_BITS, slot_of
from gpusim.hardware.tlb.sets import Entry
from gpusim.hardware.tlb.tb_partitioned import TbPartitionedArray

_NOBODY = range(0)


@attr.s(auto_attribs=True, eq=False, repr=False)
class SharingCounters:
    """What a TLB whose blocks share sets did."""

    spills: int = count("entries moved to the next set instead of being evicted")
    stale_replaced: int = count("entries of ended blocks that made room for them")
    flags_raised: int = count("times that a block began to share the sets of its neighbour")
    flags_reset: int = count("times that it ended, as one of the two blocks did")
    shared_hits: int = count("hits in the sets of a neighbour, repeated ones included")


@mypyc_attr(allow_interpreted_subclasses=True)
class TbPartitionedSharedArray(TbPartitionedArray):
    """A block whose entry finds room in the sets of the next block shares them from then on.

    An entry that has to leave moves to the next set if there is an empty way; if that set is
    another block's, the flag of the entry's block is raised, and its lookups search those sets
    after its own.  The flag falls when either of the two blocks ends.

    Args:
        config, parallel_compare, hold_port, flush_on_kernel, merged_fill: see `TbPartitionedArray`.
        empty_rule: empty are ``"invalid"`` ways, or also ``"stale"`` ones, last used by a block
            that has ended [our choice: else flags rise only in a cold TLB].
        shared_alloc: a sharing block puts translations into its own sets, from which they may
            ``"spill"``, or into the ``"union"`` with its neighbour's [our choice].
        wrap: the neighbour of the last block is the first one [our choice].
    """

    def __init__(
        self,
        config: TlbConfig,
        *,
        parallel_compare: bool = False,
        hold_port: bool = False,
        flush_on_kernel: bool = False,
        merged_fill: str = "each",
        empty_rule: str = "stale",
        shared_alloc: str = "union",
        wrap: bool = True,
    ) -> None:
        one_of(("invalid", "stale"), empty_rule=empty_rule)
        one_of(("spill", "union"), shared_alloc=shared_alloc)
        self._stale_is_empty = empty_rule == "stale"
        self._union = shared_alloc == "union"
        self._wrap = wrap
        self._next: dict[int, range] = {}
        self._running: dict[int, int] = {}
        """By slot: a number of its block that no block had before."""
        self._blocks = 0
        self._flags: dict[int, bool] = {}
        self.sharing = SharingCounters()
        super().__init__(
            config,
            parallel_compare=parallel_compare,
            hold_port=hold_port,
            flush_on_kernel=flush_on_kernel,
            merged_fill=merged_fill,
        )

    def attach(self, signals: Signals) -> None:
        super().attach(signals)
        numbers = {sm: number for number, sm in enumerate(signals.sms)}
        signals.listen(
            "block.end", lambda sm, slot, _cycle: self.end_block(slot_of(numbers[sm], slot))
        )

    @property
    def flags(self) -> list[bool]:
        """By block: whether it shares the sets of its neighbour."""
        return list(self._flags.values())

    def begin_kernel(self, blocks: int, sm: int = 0) -> None:
        super().begin_kernel(blocks, sm)
        self._next = {slot: self._after(own) for slot, own in self._own.items()}
        running = self._running
        self._running = {
            slot: self._number_block() if slot >> SLOT_BITS == sm else running[slot]
            for slot in self._own
        }
        self._flags = dict.fromkeys(self._own, False)

    def end_block(self, slot: int) -> None:
        """The block in a slot has ended, all its accesses answered."""
        self._running[slot] = self._number_block()
        own = self._own[slot]
        for other, shared in self._next.items():
            if self._flags[other] and (other == slot or shared == own):
                self._set_flag(other, raised=False)

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        kept = super().storage(dimensions)
        flags = Storage("sharing flags", dimensions.block_slots, {"flag": 1})
        return None if kept is None else [*kept, flags]

    def acted(self) -> int:
        return self.sharing.flags_raised

    def counters(self) -> tuple[object, ...]:
        return (self.sharing, *super().counters())

    def _after(self, own: range) -> range:
        """The sets of the neighbour of the block that owns some sets."""
        first = own.stop
        if first == len(self._sets):
            if not self._wrap:
                return _NOBODY
            first = 0
        if first in own:
            return _NOBODY
        return next(sets for sets in self._own.values() if first in sets)

    def _number_block(self) -> int:
        self._blocks += 1
        return self._blocks

    def _set_flag(self, slot: int, *, raised: bool) -> None:
        self._flags[slot] = raised
        own = self._own[slot]
        self._searched[slot] = (*own, *self._next[slot]) if raised else own
        self.sharing.flags_raised += raised
        self.sharing.flags_reset += not raised

    def _use(self, entry: Entry, slot: int) -> None:
        super()._use(entry, slot)
        entry.block = self._running[slot]

    def _found(self, entry: Entry, index: int, slot: int) -> None:
        super()._found(entry, index, slot)
        if index not in self._own[slot]:
            self.sharing.shared_hits += 1

    def _allowed(self, slot: int) -> Sequence[int]:
        return self._searched[slot] if self._union else self._own[slot]

    def _evict(self, victim: Entry, index: int, slot: int) -> int:
        own = self._own[slot]
        foreign = index + 1 not in own
        adjacent = self._next[slot][:1] if foreign else range(index + 1, index + 2)
        if index not in own or self._is_empty(victim) or not adjacent:
            return super()._evict(victim, index, slot)
        lost = self._move(victim, adjacent.start, slot)
        if lost is None:
            return super()._evict(victim, index, slot)
        if foreign and not self._flags[slot]:
            self._set_flag(slot, raised=True)
        return lost

    def _move(self, victim: Entry, to: int, slot: int) -> int | None:
        """Move an entry to an empty way of a set; returns how many are lost, None: it has none."""
        target = self._sets[to]
        lost = 0
        ways = target.ways_for(victim.tag, victim.pfn)
        if ways.full and target.find(victim.tag) is None:
            stale = next((one for one in ways.entries.values() if self._is_empty(one)), None)
            if stale is None:
                return None
            target.remove(stale.tag)
            self._lose(stale)
            self.sharing.stale_replaced += 1
            lost = 1
        self.sharing.spills += 1
        super()._use(victim, slot)  # the newest of its set; whose it is has not changed
        return lost + target.insert(victim)

    def _is_empty(self, entry: Entry) -> bool:
        """Whether the way of an entry counts as empty."""
        return self._stale_is_empty and entry.block not in self._running.values()


register_policy(Slot.TLB_ARRAY, "tb-partitioned-shared", TbPartitionedSharedArray)
