"""A TLB whose entries map runs of neighbouring pages in neighbouring frames.

After Pham et al., *CoLT: Coalesced Large-Reach TLBs* (MICRO 2012): a walk brings in the entries of
eight neighbouring pages with one line of the page table; those that continue each other share an
entry of the TLB.
"""

from __future__ import annotations

from attrs import define

from gpusim.plugin import (
    Mapping,
    Signals,
    Slot,
    TlbArray,
    TlbConfig,
    at_least,
    count,
    make_replacement,
    policy,
)


@define(slots=True)
class CoalescingCounters:
    """What a coalescing TLB did."""

    entries_made: int = count("entries that were filled")
    pages_coalesced: int = count("pages in these beside the one that was asked for")


@policy(Slot.TLB_ARRAY, "coalescing")
class CoalescingArray(TlbArray):
    """`entries` in sets of `ways`; an entry maps up to `window` pages of an aligned range.

    Args:
        config: the TLB.
        window: pages whose entries lie in one line of the page table: a power of two.
    """

    replaces = True

    def __init__(self, config: TlbConfig, *, window: int = 8) -> None:
        at_least(1, window=window)
        self._window = window
        self._shift = window.bit_length() - 1
        self._ways = config.ways
        self._mask = config.entries // config.ways - 1
        self._sets: list[dict[int, dict[int, Mapping]]] = [{} for _ in range(self._mask + 1)]
        self._replacement = make_replacement(config.replacement, config.ways)
        for entries in self._sets:
            self._replacement.adopt(entries, config.ways)
        self._counters = CoalescingCounters()
        self._signals: Signals | None = None

    def attach(self, signals: Signals) -> None:
        self._signals = signals
        self._replacement.attach(signals)

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        range_ = tag >> self._shift
        index = range_ & self._mask
        mapping = self._sets[index].get(range_, {}).get(tag)
        if mapping is not None:
            self._replacement.touch(index, range_)
        return mapping

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        range_ = tag >> self._shift
        index = range_ & self._mask
        entries = self._sets[index]
        evicted = 0
        if range_ in entries:
            self._remove(index, range_)
        elif len(entries) >= self._ways:
            self._remove(index, self._replacement.victim(index))
            evicted = 1
        entries[range_] = run = self._run(tag, mapping)
        self._replacement.insert(index, range_)
        self._counters.entries_made += 1
        self._counters.pages_coalesced += len(run) - 1
        return evicted

    def invalidate(self, tag: int) -> bool:
        range_ = tag >> self._shift
        index = range_ & self._mask
        pages = self._sets[index].get(range_, {})
        if tag not in pages:
            return False
        self._remove(index, range_)  # the whole run: hardware cannot cut a hole into it
        return True

    def flush(self) -> None:
        for index, entries in enumerate(self._sets):
            for range_ in list(entries):
                self._remove(index, range_)

    def counters(self) -> tuple[object, ...]:
        return (self._counters,)

    def _run(self, tag: int, mapping: Mapping) -> dict[int, Mapping]:
        """A page and its neighbours in the same range that continue it in memory."""
        run = {tag: mapping}
        first = tag & -self._window
        for step, end in ((-1, first - 1), (1, first + self._window)):
            for page in range(tag + step, end, step):
                neighbour = self._signals.mapping(page) if self._signals else None
                if neighbour is None or neighbour.delta != mapping.delta:
                    break
                run[page] = neighbour
        return run

    def _remove(self, index: int, range_: int) -> None:
        del self._sets[index][range_]
        self._replacement.forget(index, range_)
