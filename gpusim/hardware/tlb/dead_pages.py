"""Bypass of pages that are dead on arrival: they would leave the TLB without a hit.

Mazumdar, Mitra and Basu, *Dead Page and Dead Block Predictors: Cleaning TLBs and Caches Together*,
HPCA 2021: dpPred, with the numbers and hashes of the simulator that the authors released.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Self

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.errors import OptionError, at_least
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.policy import Ending
from gpusim.core.registry import Slot, register_policy
from gpusim.core.request import Requester
from gpusim.core.structures import Dimensions, Storage
from gpusim.hardware.tlb.fill import FillPolicy

MOST_BITS = 20
"""Of both hashes together (our choice): the table has 2^20 counters at most."""


@attr.s(auto_attribs=True, eq=False, repr=False)
class DeadPageCounters:
    """What became of the pages of one application in one TLB."""

    bypassed: int = count("pages that did not go into the array, as they were predicted dead")
    came_back: int = count("pages asked for again soon after, so that predictions were given up")
    dead: int = count("pages that left the array without a hit")
    live: int = count("pages that left the array after a hit")


declare_metrics(
    DeadPageCounters,
    Metric(
        "tlb_{}_dead",
        FRACTION,
        "pages that left the {} TLB without a hit",
        Ratio("dead", "dead + live"),
    ),
)


@mypyc_attr(allow_interpreted_subclasses=True)
class DeadPages(FillPolicy):
    """A counter says how many pages that are like one were dead, one after the other, when evicted.

    Counters are selected by two hashes, of the page and of what brought it in.  The paper's second
    one is of the address of the load instruction.  Programs have none here; most instructions of a
    kernel go through one array, so the range that a page lies in stands for it [our choice].  A
    page whose counter is above the threshold is not put into the TLB.  If it is missed again while
    it is among the last few such, all counters with the hash of the page start from zero.

    Misses that were merged with the one that brought a page in are not hits [our choice].

    Args:
        apps, sms, warps: see `AlwaysFill`.
        region: pages of the aligned range that stands for the load instruction [our choice].
        region_bits: bits of the hash of the range.
        page_bits: bits of the hash of the page.
        counter_bits: bits of a counter, which stays at its maximum.
        threshold: pages whose counter is above it are predicted dead; below the counter's maximum.
        shadow: bypassed pages that are remembered, the most recent ones.

    Raises:
        OptionError: no counter would exceed the threshold, or a number is too small.
    """

    follows: ClassVar[bool] = True

    def __init__(
        self,
        apps: int,
        sms: int,
        warps: int,
        *,
        region: int = 512,
        region_bits: int = 6,
        page_bits: int = 4,
        counter_bits: int = 3,
        threshold: int = 6,
        shadow: int = 2,
    ) -> None:
        at_least(1, region=region, region_bits=region_bits, page_bits=page_bits)
        if region_bits + page_bits > MOST_BITS:
            raise OptionError("region_bits", f"with page_bits, must be at most {MOST_BITS}")
        at_least(1, counter_bits=counter_bits)
        at_least(0, threshold=threshold, shadow=shadow)
        most = (1 << counter_bits) - 1
        if threshold >= most:
            raise OptionError("threshold", f"must be below {most}, the most of a counter")
        self._region = region
        self._region_bits = region_bits
        self._page_bits = page_bits
        self._counter_bits = counter_bits
        self._most = most
        self._threshold = threshold
        self._capacity = shadow
        self._shadow: list[int] = []
        self._counts = [[0] * (1 << region_bits) for _ in range(1 << page_bits)]
        """By the hashes of page and range."""
        self._hit: dict[int, bool] = {}
        """Pages in the array, and whether they have been hit there."""
        self._own = [DeadPageCounters() for _ in range(apps)]

    def admits(
        self, tag: int, mapping: Mapping, requesters: Sequence[Requester], cycle: int
    ) -> bool:
        counts = self._counts[fold(tag, self._page_bits)]
        if tag in self._shadow:
            self._own[tag >> ASID_SHIFT].came_back += 1
            for index in range(len(counts)):
                counts[index] = 0
        if counts[self._range(tag)] > self._threshold:
            self._own[tag >> ASID_SHIFT].bypassed += 1
            self._shadow = [*self._shadow, tag][-self._capacity :] if self._capacity else []
            return False
        self._hit.setdefault(tag, False)
        return True

    def used(self, tag: int) -> None:
        if tag in self._hit:
            self._hit[tag] = True

    def evicted(self, tag: int) -> None:
        own = self._own[tag >> ASID_SHIFT]
        counts = self._counts[fold(tag, self._page_bits)]
        index = self._range(tag)
        if self._hit.pop(tag):
            own.live += 1
            counts[index] = 0
        else:
            own.dead += 1
            counts[index] = min(counts[index] + 1, self._most)

    def invalidate(self, tag: int) -> bool:
        self._hit.pop(tag, None)
        return False

    def flush(self) -> None:
        self._hit.clear()

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """The predictor's tables; the hit bit of each entry is not counted, as valid bits."""
        counters = 1 << self._page_bits + self._region_bits
        kept = [
            Storage("counters of dead pages", counters, {"counter": self._counter_bits}),
            Storage("pages bypassed last", self._capacity, {"page": dimensions.page_bits}),
        ]
        return [one for one in kept if one.bits]

    def counters(self, app: int) -> tuple[object, ...]:
        return (self._own[app],)

    def acted(self) -> int:
        return sum(one.bypassed for one in self._own)

    @classmethod
    def warnings(cls, made: Sequence[Self], ending: Ending) -> Iterator[str]:
        """A warning if no page was bypassed, with the number of pages that were dead."""
        own = [one for policy in made for one in policy._own]
        if any(one.bypassed for one in own):
            return
        dead = sum(one.dead for one in own)
        gone = dead + sum(one.live for one in own)
        yield (
            f"'dead-pages' never kept a page out: of {gone} that left the array, {dead} had no "
            f"hit; set {ending.key}.threshold"
        )

    def _range(self, tag: int) -> int:
        return fold(tag // self._region, self._region_bits)


def fold(number: int, bits: int) -> int:
    """A number folded to `bits` bits: the XOR of all its pieces of that width."""
    folded = 0
    while number:
        folded ^= number & (1 << bits) - 1
        number >>= bits
    return folded


register_policy(Slot.TLB_FILL, "dead-pages", DeadPages)
