"""How long translations stay in first TLBs, and lines in caches (VC Fig. 12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from gpusim.core.errors import UserError
from gpusim.core.mapping import Mapping
from gpusim.hardware.cache import CacheArray, L1Cache, LineSignals
from gpusim.hardware.sm.untimed.scheduler import SkippingScheduler
from gpusim.hardware.tlb import IdealArray, TlbLevel
from gpusim.machine import Machine

Ended = Callable[[int, int, int, int, int, int], None]
"""Structure, instance, what it was, cycles of fill, of the last use and of the end (-1: none)."""

_TLB, _L1, _L2 = 0, 1, 2
"""Structures."""


def watch_lifetimes(machine: Machine, ended: Ended) -> Callable[[], None]:
    """Record each stay of a translation in a first TLB, and of a line in a cache.

    Returns:
        what to call at the end of the run, for those that are still there.

    Raises:
        UserError: the first TLBs do not hand on what they evict.
    """
    stays: list[_Stays] = []
    name, tlbs = next(iter(machine.tlbs.items()))
    for index, tlb in enumerate(tlbs):
        if not isinstance(tlb.array, IdealArray):
            stays.append(_PagesOfTlb(machine, ended, index, tlb, name))
    for index, l1 in enumerate(machine.l1s):
        stays.append(_Lines(machine, ended, (_L1, index), l1.signals, partial(_lines_of, l1)))
    for index, bank in enumerate(bank for system in machine.systems for bank in system.banks):
        arrays = list(dict.fromkeys(bank.arrays.values()))
        stays.append(_Lines(machine, ended, (_L2, index), bank.lines.signals, arrays.copy))

    def finish() -> None:
        for one in stays:
            one.finish()

    return finish


def _lines_of(l1: L1Cache) -> list[CacheArray]:
    return [l1.array]


class _Stays:
    """When each thing that is in one structure came, and was used last."""

    def __init__(self, machine: Machine, ended: Ended, place: tuple[int, int]) -> None:
        self._env = machine.env
        self._ended = ended
        self._place = place
        self._times: dict[int, list[int]] = {}

    def come(self, key: int, cycle: int) -> None:
        """A thing comes, or is written to."""
        self._times.setdefault(key, [cycle, cycle])[1] = cycle

    def use(self, key: int, cycle: int) -> None:
        """A thing is used, if it is there."""
        if key in self._times:
            self._times[key][1] = cycle

    def end(self, key: int, cycle: int) -> None:
        """A thing goes, if it is there."""
        if key in self._times:
            begin, last = self._times.pop(key)
            self._ended(*self._place, key, begin, last, cycle)

    def finish(self) -> None:
        """The run is over."""
        for key, (begin, last) in self._times.items():
            self._ended(*self._place, key, begin, last, -1)


class _Lines(_Stays):
    """Lines of one cache.

    Args:
        machine, ended, place: as those of `_Stays`.
        signals: what becomes of them.
        arrays: where they lie now.
    """

    def __init__(
        self,
        machine: Machine,
        ended: Ended,
        place: tuple[int, int],
        signals: LineSignals,
        arrays: Callable[[], list[CacheArray]],
    ) -> None:
        super().__init__(machine, ended, place)
        self._arrays = arrays
        signals.use.listen(self.use)
        signals.fill.listen(self.come)
        signals.evict.listen(self.end)
        signals.invalidate.listen(self.end)
        for scheduler in machine.schedulers:
            if isinstance(scheduler, SkippingScheduler):
                scheduler.on_passed.listen(self._take_stock)

    def _take_stock(self) -> None:
        """Accesses without a clock are not announced: see what came and went by them."""
        there = dict.fromkeys(line for array in self._arrays() for line in array.lines())
        now = self._env.now
        for line in [line for line in self._times if line not in there]:
            self.end(line, now)
        for line in there:
            if line not in self._times:
                self.come(line, now)


class _PagesOfTlb(_Stays):
    """Translations in one first TLB, by the first pages of their entries."""

    def __init__(
        self, machine: Machine, ended: Ended, index: int, tlb: TlbLevel, name: str
    ) -> None:
        super().__init__(machine, ended, (_TLB, index))
        if not tlb.traits.spills:
            raise UserError(
                f"cannot record lifetimes: the array of tlb.{name} does not hand on what it "
                'evicts; allowed: one with spills = True, such as array = "set-associative" with '
                'sets = "plain"'
            )
        self._whole = tlb.traits.large_pages == "whole"
        self._sizes: list[int] = []
        """Of larger pages that have come whole."""
        tlb.on_lookup.listen(self._looked_up)
        tlb.on_keep.listen(self._kept)
        tlb.on_evict.listen(self._evicted)
        tlb.on_invalidate.listen(self._invalidated)

    def _looked_up(self, _level: int, _index: int, tag: int, hit: bool, cycle: int) -> None:
        if hit:
            for key in self._names(tag):
                self.use(key, cycle)

    def _kept(self, _index: int, tag: int, mapping: Mapping) -> None:
        if not self._whole or mapping.pages == 1:
            self.come(tag, self._env.now)
            return
        if mapping.pages not in self._sizes:
            self._sizes.append(mapping.pages)
        self.come(mapping.tag, self._env.now)

    def _evicted(self, _index: int, tag: int, _mapping: Mapping) -> None:
        self.end(tag, self._env.now)

    def _invalidated(self, _index: int, tag: int) -> None:
        for key in list(self._times) if tag < 0 else self._names(tag):
            self.end(key, self._env.now)

    def _names(self, tag: int) -> Iterator[int]:
        """Names that entries with a page may have."""
        yield tag
        for pages in self._sizes:
            if tag & -pages != tag:
                yield tag & -pages
