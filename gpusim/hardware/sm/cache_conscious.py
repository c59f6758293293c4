"""Cache-conscious warp scheduling: warps that lose locality issue first (Rogers et al.)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Self

from mypy_extensions import mypyc_attr

from gpusim.core.errors import at_least
from gpusim.core.policy import Ending
from gpusim.core.registry import Slot, register_policy
from gpusim.core.signals import Signals
from gpusim.core.structures import VIRTUAL_BITS, Dimensions, Storage, bits_for
from gpusim.hardware.sm.lost_locality import LostLocality
from gpusim.hardware.sm.schedulers import GreedyThenOldest, Schedulable

_LINE_BITS: Final = 7
"""Bits of an address within a line of 128 bytes, for the width of victim tags."""

_SCORE_BITS: Final = 16
"""Bits of a score, and of the counters of losses and instructions [our choice]."""


@mypyc_attr(allow_interpreted_subclasses=True)
class CacheConscious(GreedyThenOldest):
    """Greedy-then-oldest, but warps with low scores may not issue loads while others lose locality.

    Rogers, O'Connor and Aamodt, *Cache-Conscious Wavefront Scheduling*, MICRO 2012; scores and
    victim tags are those of `LostLocality`, one for all schedulers of an SM.  Held back are loads
    that go through the L1 cache; other instructions issue as ever.

    [Our choice: victim tags are fully associative and belong to a warp until it ends; the line's
    owner is the warp that missed it last.]

    Args:
        base: score of a warp that has lost nothing.
        throttle: how far losses raise scores: the more, the fewer warps load.
        tags: victim tags of each warp, forgotten when the warp ends.
        again: core cycles after which a load that was held back asks again [our choice].
    """

    holds = True

    def __init__(
        self, *, base: int = 100, throttle: int = 8, tags: int = 16, again: int = 16
    ) -> None:
        at_least(1, base=base, throttle=throttle, tags=tags, again=again)
        super().__init__()
        self._base = base
        self._throttle = throttle
        self._tags = tags
        self._again = again
        self._held = 0
        self._locality = LostLocality(base, throttle, tags)

    def attach(self, signals: Signals) -> None:
        (sm,) = signals.sms

        def make() -> LostLocality:
            locality = LostLocality(self._base, self._throttle, self._tags)
            signals.listen(
                "l1.miss", lambda _sm, _app, slot, line, now: locality.missed(slot, line, now)
            )
            signals.listen("l1.evict", lambda line, _now: locality.evicted(line))
            signals.listen("kernel.begin", lambda _sm, _blocks, _now: locality.kernel_began())
            return locality

        self._locality = signals.share(("ccws", sm), make)

    def add(self, warp: Schedulable) -> None:
        self._locality.began(warp.warp_slot, warp.age)
        super().add(warp)

    def hold(self, warp: Schedulable, issued: int, now: int) -> int:
        self._locality.instructions = issued
        if not self._locality.holds(warp.warp_slot, now):
            return 0
        self._held += 1
        return self._again

    def ended(self, warp: Schedulable) -> None:
        self._locality.ended(warp.warp_slot)

    def acted(self) -> int:
        """How often it held a load back."""
        return self._held

    @classmethod
    def warnings(cls, made: Sequence[Self], ending: Ending) -> Iterator[str]:
        """It acts when warps lose lines that they use again."""
        if not any(one._held for one in made):
            losses = max([one._locality.losses for one in made])
            yield (
                f"'ccws' held back no load in {ending.cycles} cycles: warps of an SM lost lines "
                f"that they used again {losses} times at most; set {ending.key}.throttle"
            )

    def storage(self, dimensions: Dimensions, warps: int, lines: int) -> Sequence[Storage]:
        address = dimensions.frame_bits + VIRTUAL_BITS - dimensions.page_bits
        return [
            Storage("victim tags", warps * self._tags, {"tag": address - _LINE_BITS}),
            Storage("owners of lines", lines, {"warp": bits_for(warps)}),
            Storage("lost-locality scores", warps, {"score": _SCORE_BITS}),
            Storage("losses", 1, {"losses": _SCORE_BITS, "instructions": _SCORE_BITS}),
        ]


register_policy(Slot.WARP_SCHEDULER, "ccws", CacheConscious)
