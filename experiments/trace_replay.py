"""An untimed replay of a table of transactions, in the order in which they were issued.

It asks the arrays of the simulator (`gpusim.hardware.tlb`, `gpusim.hardware.cache`) but knows no
time: a miss is filled at once, so what a machine merges into an outstanding miss is a hit here.
It tells what the shapes of a machine make of the traced order; comparing two replays tells what
one difference between two machines amounts to on this very trace.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Iterator, Set
from itertools import groupby

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from gpusim.config.schema import GpuConfig
from gpusim.core.mapping import Mapping
from gpusim.hardware.cache.array import DIRTY, CacheArray
from gpusim.hardware.tlb import SetAssociativeArray

Columns = abc.Mapping[str, NDArray[np.int64]]
"""Columns of a table by name, with those that only MGPUSim's logs have."""

LINE_SHIFT = 6
PAGE_SHIFT = 12
LOAD, PARTIAL_STORE, WHOLE_STORE = range(3)
"""Kinds of events: loads, and stores of a part of a line and of all of it."""

_VALID = 1


@define
class Counts:
    """What a replay counted; hits include what would have been merged.

    Attributes:
        l1_tlb_misses, l2_tlb_misses: of the TLBs, by loads and stores.
        l1_read_misses, l1_write_hits: of the L1 caches.
        l2_read_misses: of the L2 cache, by loads.
        l2_write_misses, l2_partial_misses: by stores, and those of them that fetch a line.
        writebacks: dirty lines evicted, or written when the L2 cache is emptied.
        dirty: lines that are dirty at the end.
    """

    l1_tlb_misses: float = 0
    l2_tlb_misses: float = 0
    l1_read_misses: float = 0
    l1_write_hits: float = 0
    l2_read_misses: float = 0
    l2_write_misses: float = 0
    l2_partial_misses: float = 0
    writebacks: float = 0
    dirty: float = 0


@frozen
class Emptied:
    """Launches before which the L1 caches, and those before which the L2 cache, were emptied."""

    l1: Set[int] = frozenset()
    l2: Set[int] = frozenset()


class Replay:
    """One machine's arrays.

    Args:
        config: of the machine.
        emptied: launches before which caches are emptied; others find what is left there.
    """

    def __init__(self, config: GpuConfig, emptied: Emptied) -> None:
        self.counts = Counts()
        self._emptied = emptied
        first, *_, last = config.tlb.values()
        l1, l2 = config.l1, config.l2
        self._tlbs = [SetAssociativeArray(first) for _ in range(config.sm.count)]
        self._l2_tlb = SetAssociativeArray(last)
        self._l1s = [CacheArray(l1.size // l1.line, l1.ways) for _ in range(config.sm.count)]
        self._l2 = CacheArray(l2.size // l2.line, l2.ways)
        self._dirty: set[int] = set()

    def run(self, columns: Columns) -> Counts:
        """Replay all vector transactions."""
        for launch, events in groupby(_events(columns), key=lambda event: event[0]):
            if launch in self._emptied.l1:
                for l1 in self._l1s:
                    l1.clear()
            if launch in self._emptied.l2:
                self.counts.writebacks += len(self._dirty)
                self._dirty.clear()
                self._l2.clear()
            for _, sm, line, frame_line, kind in events:
                self._translate(sm, line >> PAGE_SHIFT - LINE_SHIFT)
                self._access(sm, frame_line, kind)
        self.counts.dirty = len(self._dirty)
        return self.counts

    def _translate(self, sm: int, page: int) -> None:
        tlb = self._tlbs[sm]
        if tlb.lookup(page, 0) is None:
            mapping = Mapping(page, page)
            self.counts.l1_tlb_misses += 1
            tlb.insert(page, mapping, 0)
            if self._l2_tlb.lookup(page, 0) is None:
                self.counts.l2_tlb_misses += 1
                self._l2_tlb.insert(page, mapping, 0)

    def _access(self, sm: int, line: int, kind: int) -> None:
        hit = not self._l1s[sm].missing(line, _VALID)
        counts = self.counts
        if kind != LOAD:
            counts.l1_write_hits += hit
            if self._miss_l2(line, dirty=True):
                counts.l2_write_misses += 1
                counts.l2_partial_misses += kind == PARTIAL_STORE
        elif not hit:
            counts.l1_read_misses += 1
            self._l1s[sm].fill(line, _VALID)
            counts.l2_read_misses += self._miss_l2(line, dirty=False)

    def _miss_l2(self, line: int, dirty: bool) -> bool:
        """Look up a line, fetch it if it is not there; whether it was not."""
        missed = bool(self._l2.missing(line, _VALID))
        if missed:
            victim = self._l2.fill(line, _VALID | (DIRTY if dirty else 0))
            if victim[1] & DIRTY:
                self.counts.writebacks += 1
                self._dirty.discard(victim[0])
        elif dirty:
            self._l2.mark(line, DIRTY)
        if dirty:
            self._dirty.add(line)
        return missed


def code_between(columns: Columns, group: int) -> int:
    """Lines of code between accesses that follow each other, each once for a group of SMs.

    A wavefront went through some of them at least (`gpusim.traces.code_lines`).
    """
    order = np.lexsort((columns["order"], columns["wavefront"]))
    wave, last = columns["wavefront"][order], columns["pc"][order] >> LINE_SHIFT
    same = np.append(False, np.diff(wave) == 0)
    first = np.where(same, np.roll(last, 1), last)
    spans = np.unique(
        np.stack([columns["cu"][order] // group, np.minimum(first, last), last], axis=1), axis=0
    )
    lines = {(int(one), line) for one, begin, end in spans for line in range(begin, end + 1)}
    return len(lines)


def reverse_instructions(columns: Columns) -> Columns:
    """The table with the transactions of each instruction issued in the opposite order."""
    order = np.lexsort((columns["inst"], columns["wavefront"]))
    wave, inst = columns["wavefront"][order], columns["inst"][order]
    time = columns["issue_time"][order]
    first = np.flatnonzero(np.append(True, (wave[1:] != wave[:-1]) | (inst[1:] != inst[:-1])))
    both_ends = np.minimum.reduceat(time, first) + np.maximum.reduceat(time, first)
    mirrored = np.empty_like(time)
    mirrored[order] = np.repeat(both_ends, np.diff(np.append(first, len(time)))) - time
    return {**columns, "issue_time": mirrored}


def _events(columns: Columns) -> Iterator[tuple[int, int, int, int, int]]:
    """Launch, SM, virtual and physical line, and kind, by launch and time."""
    line = columns["vaddr"] >> LINE_SHIFT
    whole = columns["used_bytes"] == 1 << LINE_SHIFT
    kind = np.where(columns["is_write"], np.where(whole, WHOLE_STORE, PARTIAL_STORE), LOAD)
    events = np.stack(
        [columns[name] for name in ("issue_time", "kernel", "cu")] + [line, kind],
        axis=1,
    )
    events = events[np.lexsort((events[:, 0], events[:, 1]))]
    _, launch, sm, line, kind = events.T
    return zip(
        launch.tolist(),
        sm.tolist(),
        line.tolist(),
        _physical(columns, line).tolist(),
        kind.tolist(),
        strict=True,
    )


def _physical(columns: Columns, line: NDArray[np.int64]) -> NDArray[np.int64]:
    """Physical line numbers, by the table of pages; a page that is not in it stays where it is."""
    shift = PAGE_SHIFT - LINE_SHIFT
    pages = columns["page_vaddr"] >> PAGE_SHIFT
    order = np.argsort(pages)
    at = order[np.minimum(np.searchsorted(pages[order], line >> shift), len(order) - 1)]
    frame = np.where(
        pages[at] == line >> shift,
        columns["page_paddr"][at] >> PAGE_SHIFT,
        line >> shift,
    )
    physical: NDArray[np.int64] = frame << shift | line & (1 << shift) - 1
    return physical
