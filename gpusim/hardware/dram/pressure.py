"""Page walks that each application has under way, and warps that wait for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from gpusim.core.signals import Signals
from gpusim.core.structures import Storage

COUNTER_BITS: Final = 6
"""Bits of every counter (MASK §5.4); a counter saturates."""
_LARGEST: Final = (1 << COUNTER_BITS) - 1


class TranslationPressure:
    """Concurrent page walks and stalled warps per walk, by application, in the running epoch.

    ``ConPTW`` and ``WarpsStalled`` of MASK's Equation 1.  The paper keeps them in the shared L2
    TLB: a counter an application of its concurrent TLB misses, and one an MSHR of the warps that
    hit in it.  `walks_now` and `warps_now` are these numbers, the second one the mean over the
    pages that are being walked [our choice], each with all warps that wait for it on any SM.
    `walks` and `warps` are those of an epoch: the most walks at once, and the mean over the pages
    that were walked in it.  Walks that wait for a walker are included.  What is under way when an
    epoch ends goes into the next one.

    Args:
        apps: number of applications.
        epoch: core cycles after which both are counted anew.
    """

    __slots__ = (
        "_begun",
        "_epoch",
        "_peaks",
        "_under_way",
        "_waiting",
        "_walks",
        "_warps",
        "apps",
    )

    def __init__(self, apps: int, epoch: int) -> None:
        self.apps = apps
        self._epoch = epoch
        self._begun = 0
        """When the epoch did."""
        self._under_way: list[dict[int, int]] = [{} for _ in range(apps)]
        """By application: the tags of the pages that are being walked, and by how many walkers of
        different GPUs."""
        self._peaks = [0] * apps
        self._walks = [0] * apps
        self._warps = [0] * apps
        """By application: walks that have ended, and the warps that waited for them."""
        self._waiting: dict[int, dict[int, set[tuple[int, int]]]] = {}
        """By tag, and then by first TLB: SMs and slots of the warps that wait for the page."""

    # -- what happens ----------------------------------------------------------------------------

    def missed(self, tlb: int, tag: int, sm: int, warp_slot: int) -> None:
        """A warp waits for a page that a first TLB does not have."""
        self._waiting.setdefault(tag, {}).setdefault(tlb, set()).add((sm, warp_slot))

    def filled(self, tlb: int, tag: int) -> None:
        """This first TLB has the page now; no warp waits for it there any more."""
        tlbs = self._waiting.get(tag, {})
        tlbs.pop(tlb, None)  # what only a prefetch asked for was never missed
        if not tlbs:
            self._waiting.pop(tag, None)

    def walk_begun(self, app: int, tag: int, cycle: int) -> None:
        """The walk of a page begins; no other walk of it is under way on that GPU."""
        self._advance(cycle)
        under_way = self._under_way[app]
        under_way[tag] = under_way.get(tag, 0) + 1
        self._peaks[app] = max(self._peaks[app], len(under_way))

    def walk_ended(self, app: int, tag: int, cycle: int) -> None:
        """The walk has ended; called before the warps that wait for it get its answer."""
        self._advance(cycle)
        under_way = self._under_way[app]
        left = under_way.pop(tag, 1) - 1  # one that walks again ends twice
        if left:
            under_way[tag] = left
        self._walks[app] += 1
        self._warps[app] += self._stalled(tag)

    # -- what it comes to ------------------------------------------------------------------------

    def walks_now(self, app: int) -> int:
        """Walks of an application that are under way."""
        return min(len(self._under_way[app]), _LARGEST)

    def warps_now(self, app: int) -> float:
        """Warps that wait for a walk that is under way, mean over them; 0 without walks."""
        under_way = self._under_way[app]
        return sum(map(self._stalled, under_way)) / len(under_way) if under_way else 0.0

    def walks(self, app: int, cycle: int) -> int:
        """The most walks of an application at once in this epoch."""
        self._advance(cycle)
        return min(self._peaks[app], _LARGEST)

    def warps(self, app: int, cycle: int) -> float:
        """Warps that wait for a walk of an application, mean over this epoch; 0 without walks."""
        self._advance(cycle)
        under_way = self._under_way[app]
        walks = self._walks[app] + len(under_way)
        warps = self._warps[app] + sum(self._stalled(tag) for tag in under_way)
        return warps / walks if walks else 0.0

    def _stalled(self, tag: int) -> int:
        return min(sum(map(len, self._waiting.get(tag, {}).values())), _LARGEST)

    def _advance(self, cycle: int) -> None:
        """Count anew if an epoch has ended by `cycle`."""
        if cycle >= self._begun + self._epoch:
            self._begun = cycle - cycle % self._epoch
            self._peaks = [len(under_way) for under_way in self._under_way]
            self._walks = [0] * self.apps
            self._warps = [0] * self.apps


def watch_pressure(signals: Signals, epoch: int) -> TranslationPressure:
    """The pressure on a machine, which all policies that ask for the same epoch share."""

    def make() -> TranslationPressure:
        pressure = TranslationPressure(signals.apps, epoch)

        def walk_done(walk: Any, cycle: int) -> None:
            pressure.walk_ended(walk.app, walk.tag, cycle)

        for name, listener in (
            ("tlb.first.miss", pressure.missed),
            ("tlb.first.fill", pressure.filled),
            ("walk.arrived", pressure.walk_begun),
            ("walk.done", walk_done),
        ):
            signals.listen(name, listener, everywhere=True)
        return pressure

    return signals.share((TranslationPressure, epoch), make)


def walk_counters(apps: int) -> Sequence[Storage]:
    """The counters of walks, beside the last TLB."""
    return [Storage("walk counters", apps, {"walks": COUNTER_BITS})]


def warp_counters(mshrs: int) -> Sequence[Storage]:
    """What they add to the MSHRs of the last TLB."""
    return [Storage("warp counters", mshrs, {"warps": COUNTER_BITS})]
