"""A TLB dealt out to thread blocks as one flat list of entries, searched for everything."""

from __future__ import annotations

from itertools import pairwise

import attrs

from gpusim.config.translation import TlbConfig
from tests.hardware.tlb.numbered import NO_PAGE


@attrs.define
class Record:
    at: int
    tag: int
    pfn: int
    used: int
    block: int


class FlatTlb:
    """Every entry in one list; sharing is switched on by its rules."""

    def __init__(
        self,
        config: TlbConfig,
        *,
        parallel_compare: bool = False,
        flush_on_kernel: bool = False,
        empty_rule: str = "",
        shared_alloc: str = "",
        wrap: bool = True,
    ) -> None:
        self.sets = config.entries // config.ways
        self.ways = config.ways
        self.step = 0 if parallel_compare else int(config.latency.amount)
        self.flush_on_kernel = flush_on_kernel
        self.sharing = bool(empty_rule)
        self.stale_is_empty = empty_rule == "stale"
        self.union = shared_alloc == "union"
        self.wrap = wrap
        self.records: list[Record] = []
        self.uses = 0
        self.blocks = 0
        self.extra_cycles = 0
        self.begin_kernel(1)

    def begin_kernel(self, blocks: int) -> None:
        # Set s belongs to block b if b·S/T <= s < (b+1)·S/T, in whole numbers; with more blocks
        # than sets, block b belongs to set b·S/T.
        first = [block * self.sets // blocks for block in range(blocks + 1)]
        self.own = [
            [at for at in range(self.sets) if begin <= at < end] or [begin]
            for begin, end in pairwise(first)
        ]
        self.flags = [False] * blocks
        self.alive = [self._fresh() for _ in range(blocks)]
        if self.flush_on_kernel:
            self.records = []

    def _fresh(self) -> int:
        self.blocks += 1
        return self.blocks

    def end_block(self, slot: int) -> None:
        self.alive[slot] = self._fresh()
        for other in range(len(self.own)):
            if other == slot or self._neighbour(other) == self.own[slot]:
                self.flags[other] = False

    def _neighbour(self, slot: int) -> list[int]:
        after = self.own[slot][-1] + 1
        if after == self.sets and self.wrap:
            after = 0
        owners = [sets for sets in self.own if after in sets and sets != self.own[slot]]
        return owners[0] if owners else []

    def _searched(self, slot: int) -> list[int]:
        return self.own[slot] + (self._neighbour(slot) if self.flags[slot] else [])

    def _stale(self, record: Record) -> bool:
        return self.stale_is_empty and record.block not in self.alive

    def lookup(self, tag: int, slot: int) -> int:
        searched = self._searched(slot)
        for number, at in enumerate(searched):
            for record in self.records:
                if record.at == at and record.tag == tag:
                    self._use(record, slot)
                    self.extra_cycles = self.step * number
                    return record.pfn
        self.extra_cycles = self.step * (len(searched) - 1)
        return NO_PAGE

    def _use(self, record: Record, slot: int) -> None:
        self.uses += 1
        record.used = self.uses
        record.block = self.alive[slot]

    def _in(self, at: int) -> list[Record]:
        return sorted((r for r in self.records if r.at == at), key=lambda r: r.used)

    def insert(self, tag: int, pfn: int, slot: int) -> int:
        searched = self._searched(slot)
        self.records = [r for r in self.records if r.tag != tag or r.at not in searched]
        allowed = searched if self.union else self.own[slot]
        evicted = 0
        free = [at for at in allowed if len(self._in(at)) < self.ways]
        if free:
            home = free[0]
        else:
            victim = min((r for at in allowed for r in self._in(at)), key=lambda r: r.used)
            home = victim.at
            self.records.remove(victim)
            evicted = self._spill(victim, slot) if self.sharing else 1
        self.records.append(Record(home, tag, pfn, 0, 0))
        self._use(self.records[-1], slot)
        return evicted

    def _spill(self, victim: Record, slot: int) -> int:
        own = self.own[slot]
        if victim.at not in own or self._stale(victim):
            return 1
        to = victim.at + 1
        if to not in own:
            if not self._neighbour(slot):
                return 1
            to = self._neighbour(slot)[0]
        there = self._in(to)
        evicted = 0
        same = [r for r in there if r.tag == victim.tag]
        stale = [r for r in there if self._stale(r)]
        if same:
            self.records.remove(same[0])
        elif len(there) == self.ways:
            if not stale:
                return 1
            self.records.remove(stale[0])
            evicted = 1
        self.uses += 1
        self.records.append(Record(to, victim.tag, victim.pfn, self.uses, victim.block))
        if to not in own:
            self.flags[slot] = True
        return evicted

    def invalidate(self, tag: int) -> bool:
        before = len(self.records)
        self.records = [r for r in self.records if r.tag != tag]
        return len(self.records) < before

    def flush(self) -> None:
        self.records = []
