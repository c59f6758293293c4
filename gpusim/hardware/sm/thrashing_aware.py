"""Block placement that avoids SMs whose TLBs thrash (ORCH §IV-A)."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean, median
from typing import Final, Self

from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError, at_least, one_of
from gpusim.core.policy import Ending
from gpusim.core.registry import Slot, register_policy
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.core.warp_program import Launch
from gpusim.hardware.sm.block_placement import Fits, RoundRobinPlacement

SATURATION: Final = (1 << 32) - 1
"""What a counter of the table can hold (ORCH §IV-B: 32 bits each)."""

REFERENCES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": fmean,
    "median": median,
    "min": min,
}


class LookupCounts:
    """An entry of the table: hits and lookups of the TLB of one SM."""

    __slots__ = ("hits", "total")

    def __init__(self) -> None:
        self.hits = 0
        self.total = 0

    @abstractmethod
    def add(self, hit: bool, cycle: int) -> None:
        """A lookup; cycles never go back."""

    def forget(self, cycle: int) -> None:
        """Leave out what was too long before `cycle`."""


class Halving(LookupCounts):
    """Both counters are halved when they have counted `limit` lookups."""

    __slots__ = ("_limit",)

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def add(self, hit: bool, cycle: int) -> None:
        self.total += 1
        self.hits += hit
        if self.total >= self._limit:
            self.total >>= 1
            self.hits >>= 1


class LastLookups(LookupCounts):
    """The last `length` lookups count."""

    __slots__ = ("_window",)

    def __init__(self, length: int) -> None:
        super().__init__()
        self._window: deque[bool] = deque(maxlen=length)

    def add(self, hit: bool, cycle: int) -> None:
        if self.total == self._window.maxlen:
            self.total -= 1
            self.hits -= self._window[0]
        self._window.append(hit)
        self.total += 1
        self.hits += hit


class LastCycles(LookupCounts):
    """The lookups of the last `length` cycles count."""

    __slots__ = ("_length", "_window")

    def __init__(self, length: int) -> None:
        super().__init__()
        self._length = length
        self._window: deque[tuple[int, bool]] = deque()

    def add(self, hit: bool, cycle: int) -> None:
        self.forget(cycle)
        self._window.append((cycle, hit))
        self.total += 1
        self.hits += hit

    def forget(self, cycle: int) -> None:
        window = self._window
        while window and window[0][0] <= cycle - self._length:
            self.hits -= window.popleft()[1]
            self.total -= 1


WINDOWS: Mapping[str, Callable[[int], LookupCounts]] = {
    "cumulative": lambda _: Halving(SATURATION),
    "decay": Halving,
    "lookups": LastLookups,
    "cycles": LastCycles,
}


@mypyc_attr(allow_interpreted_subclasses=True)
class ThrashingAwarePlacement(RoundRobinPlacement):
    """Round-robin over SMs with a low TLB miss rate; if none of them has room, over all SMs.

    So it places a block whenever round-robin would.

    Args:
        window: which lookups count: all (``"cumulative"``: counters are halved when one is full;
            ``"decay"``: when `length` are counted), or those of the last `length` ``"cycles"`` or
            ``"lookups"`` [our choice: the paper's rate is "instant"].
        length: size of the window in cycles or lookups; unused if the window is cumulative.
        min_samples: an SM with fewer lookups counts as one without misses.
        reference: a miss rate is low up to the ``"mean"``, ``"median"`` or ``"min"`` of all SMs,
            plus `slack` [our choice: the paper says "compared to other SMs"].
        slack: part by which a low miss rate may exceed the reference.
    """

    def __init__(
        self,
        *,
        window: str = "cumulative",
        length: int = 0,
        min_samples: int = 64,
        reference: str = "mean",
        slack: float = 0.0,
    ) -> None:
        super().__init__()
        one_of(tuple(WINDOWS), window=window)
        one_of(tuple(REFERENCES), reference=reference)
        at_least(0, min_samples=min_samples, slack=slack, length=length)
        if window != "cumulative" and length < 2:
            raise OptionError("length", f'must be 2 or more with window = "{window}"')
        self._window = WINDOWS[window]
        self._length = length
        self._min_samples = min_samples
        self._reference = REFERENCES[reference]
        self._slack = slack
        self._table: dict[int, LookupCounts] = {}
        self._now = 0
        """When any TLB was last looked up: the time as far as it is known here."""
        self._most = 0
        """Lookups that counted of an SM when a block was to be placed, at most."""
        self._elsewhere = 0

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """The table of the paper (§IV-A); a window of single lookups or cycles would add to it."""
        counter = bits_for(SATURATION + 1)
        fields = {"SM": bits_for(dimensions.sms), "hits": counter, "lookups": counter}
        table = Storage("table of hit rates", dimensions.sms, fields)
        return [*super().storage(dimensions), table]

    def attach(self, signals: Signals) -> None:
        for position, sm in enumerate(signals.sms):
            tell = partial(self._looked_up, position)
            signals.at([sm]).listen("tlb.first.lookup", tell)

    def _looked_up(
        self, position: int, _level: int, _index: int, _tag: int, hit: bool, cycle: int
    ) -> None:
        self.tlb_lookup(position, hit, cycle)

    def acted(self) -> int:
        """How many blocks went to another SM than round-robin's next one."""
        return self._elsewhere

    @classmethod
    def warnings(cls, made: Sequence[Self], ending: Ending) -> Iterator[str]:
        """It acts once it knows the miss rate of an SM when it places a block."""
        needed = max(made[0]._min_samples, 1)
        idle = [
            (name, one._most)
            for name, one in zip(ending.apps, made, strict=True)
            if one._most < needed
        ]
        for name, most in idle:
            whose = f" of {name}" if len(made) > 1 else ""
            yield (
                f"'thrashing-aware' placed all blocks{whose} as 'round-robin' does: no SM had the "
                f"{needed} lookups that it needs when a block was placed, the most were {most}; "
                f"set {ending.key}.min_samples"
            )

    def tlb_lookup(self, sm: int, hit: bool, cycle: int) -> None:
        """The first TLB of an SM was looked up; a lookup in a shared one counts for each SM."""
        if sm not in self._table:
            self._table[sm] = self._window(self._length)
        self._table[sm].add(hit, cycle)
        self._now = cycle

    def pick(self, launch: Launch, block: int, count: int, fits: Fits) -> int | None:
        rates = [self.miss_rate(sm) for sm in range(count)]
        limit = self._reference(rates) * (1 + self._slack)
        usual = self.upcoming(count, fits)
        chosen = super().pick(launch, block, count, lambda sm: rates[sm] <= limit and fits(sm))
        if chosen is None:
            return super().pick(launch, block, count, fits)
        self._elsewhere += chosen != usual
        return chosen

    def miss_rate(self, sm: int) -> float:
        """Misses per lookup in the window; 0 while there were too few."""
        counts = self._table.get(sm)
        if counts is None:
            return 0.0
        counts.forget(self._now)
        self._most = max(self._most, counts.total)
        if not counts.total or counts.total < self._min_samples:
            return 0.0
        return 1 - counts.hits / counts.total


register_policy(Slot.BLOCK_SCHEDULER, "thrashing-aware", ThrashingAwarePlacement)
