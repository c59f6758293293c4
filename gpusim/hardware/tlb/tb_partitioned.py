"""A TLB whose sets are dealt out to the thread blocks of an SM (ORCH §IV-B)."""

from __future__ import annotations

from collections.abc import Sequence

import attr
from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.counters import count
from gpusim.core.errors import one_of
from gpusim.core.mapping import Mapping
from gpusim.core.registry import Slot, register_policy
from gpusim.core.signals import Signals
from gpusim.hardware.tlb.array import slot_of
from gpusim.hardware.tlb.set_associative import ArrayOfSets
from gpusim.hardware.tlb.sets import Entry


@attr.s(auto_attribs=True, eq=False, repr=False)
class PartitionCounters:
    """What a TLB with a share for each block did."""

    sets_searched: int = count("sets searched by all lookups, repeated ones included")


def owned_sets(block: int, blocks: int, sets: int) -> range:
    """Sets of one of `blocks` blocks: a balanced split; blocks share sets if there are too few."""
    first = block * sets // blocks
    return range(first, max((block + 1) * sets // blocks, first + 1))


@mypyc_attr(allow_interpreted_subclasses=True)
class TbPartitionedArray(ArrayOfSets):
    """The slot of a block, not the page, decides in which sets a translation may be.

    Where several SMs share it, sets are dealt out to the blocks of all of them, SM by SM.

    A lookup searches the sets of its block one after another, each for the latency of the level.
    A translation goes to the first of them with an empty way, else each set names the entry that
    its replacement policy would evict, and the one unused for longest goes [our choice].  Entries
    stay when their block ends, for the next one in its slot, and when a new kernel moves the
    boundaries between blocks.

    Args:
        config: the TLB; its latency in cycles.
        parallel_compare: all sets of a block are searched at once.
        hold_port: a search of several sets holds the port until it ends; otherwise it takes time
            only, as in the paper.
        flush_on_kernel: a new kernel finds the TLB empty.
        merged_fill: a translation that several blocks wait for goes to the sets of ``"each"``, or
            of the ``"first"`` that asked [our choice].
    """

    by_block_slot = True
    tells_sms_apart = True

    def __init__(
        self,
        config: TlbConfig,
        *,
        parallel_compare: bool = False,
        hold_port: bool = False,
        flush_on_kernel: bool = False,
        merged_fill: str = "each",
    ) -> None:
        one_of(("each", "first"), merged_fill=merged_fill)
        super().__init__(config, indexed=False)
        self.fills_every_slot = merged_fill == "each"
        self._search_cycles = 0 if parallel_compare else int(config.latency.amount)
        self._hold_port = hold_port
        self._stages = self.pipelined_cycles
        self._flush_on_kernel = flush_on_kernel
        self._uses = 0
        self._blocks_of: dict[int, int] = {}
        """By number of an SM that has begun a kernel: how many of its slots are in use."""
        self._own: dict[int, range] = {}
        self._searched: dict[int, Sequence[int]] = {}
        """By slot: the sets that a lookup searches, in that order."""
        self._left: list[Entry] = []
        """Entries that have left their sets, if their pages are told."""
        self.partition = PartitionCounters()
        self.begin_kernel(1)

    def attach(self, signals: Signals) -> None:
        super().attach(signals)
        numbers = {sm: number for number, sm in enumerate(signals.sms)}
        signals.listen(
            "kernel.begin", lambda sm, blocks, _cycle: self.begin_kernel(blocks, numbers[sm])
        )

    def begin_kernel(self, blocks: int, sm: int = 0) -> None:
        """An SM is empty and starts a kernel of which it holds the slots ``0 .. blocks - 1``.

        Args:
            blocks: how many.
            sm: its number among the SMs that share the TLB.
        """
        self._blocks_of[sm] = blocks
        slots = [
            slot_of(one, slot)
            for one in sorted(self._blocks_of)
            for slot in range(self._blocks_of[one])
        ]
        self._own = {
            slot: owned_sets(number, len(slots), len(self._sets))
            for number, slot in enumerate(slots)
        }
        self._searched = dict(self._own)
        if self._flush_on_kernel:
            if self.spilled is not None:
                for one in self._sets:
                    self._left += one.kept()
            self.flush()

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        sets = self._sets
        searched = 0
        entry = None
        for index in self._searched[slot]:
            searched += 1
            entry = sets[index].find(tag)
            if entry is not None:
                self._found(entry, index, slot)
                break
        self.partition.sets_searched += searched
        self.extra_cycles = self._search_cycles * (searched - 1) + self._stages
        self.pipelined_cycles = self._stages if self._hold_port else self.extra_cycles
        return None if entry is None else entry.mapping

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        sets = self._sets
        pfn = mapping.frame(tag)
        for index in self._searched[slot]:
            sets[index].remove(tag)
        allowed = self._allowed(slot)
        evicted = 0
        home = next((i for i in allowed if not sets[i].ways_for(tag, pfn).full), None)
        if home is None:
            home, victim = self._victim(allowed, tag, pfn)
            if victim is not None:
                sets[home].remove(victim.tag)
                evicted = self._evict(victim, home, slot)
        entry = Entry(tag, mapping)
        self._use(entry, slot)
        evicted += sets[home].insert(entry)
        if self.spilled is not None:
            self._hand_on(self.spilled)
        return evicted

    def invalidate(self, tag: int) -> bool:
        """Forget one page in all sets: several blocks may have it."""
        return sum(one.remove(tag) for one in self._sets) > 0

    def counters(self) -> tuple[object, ...]:
        return (self.partition, *super().counters())

    def _victim(self, allowed: Sequence[int], tag: int, pfn: int) -> tuple[int, Entry | None]:
        """The set and the entry that make room; no entry if nothing there could make any.

        Each set names the entry that its replacement policy would evict; of these the one that
        was not used for longest goes.
        """
        oldest = [
            (ways.victim(), index)
            for index in allowed
            if (ways := self._sets[index].ways_for(tag, pfn)).entries
        ]
        if not oldest:
            return allowed[0], None
        victim, home = min(oldest, key=lambda pair: pair[0].used)
        return home, victim

    def _use(self, entry: Entry, slot: int) -> None:
        """Note that a block uses an entry now."""
        self._uses += 1
        entry.used = self._uses

    def _found(self, entry: Entry, index: int, slot: int) -> None:
        """A lookup has found an entry in a set."""
        self._use(entry, slot)

    def _allowed(self, slot: int) -> Sequence[int]:
        """The sets that a translation of a block may go to."""
        return self._own[slot]

    def _evict(self, victim: Entry, index: int, slot: int) -> int:
        """An entry has left a set for one of a block; returns how many are lost."""
        self._lose(victim)
        return 1

    def _lose(self, entry: Entry) -> None:
        """An entry is not there any more."""
        if self.spilled is not None:
            self._left.append(entry)

    def _hand_on(self, spilled: list[dict[int, Mapping]]) -> None:
        """Pages have left for good of which no other block has an entry."""
        gone = self._kind.gone
        assert gone is not None
        left = {one.tag: one.mapping for one in (*self._left, *gone)}
        self._left.clear()
        gone.clear()
        if left:
            for one in self._sets:
                for entry in one.kept():
                    left.pop(entry.tag, None)
            spilled += [{tag: mapping} for tag, mapping in left.items()]


register_policy(Slot.TLB_ARRAY, "tb-partitioned", TbPartitionedArray)
