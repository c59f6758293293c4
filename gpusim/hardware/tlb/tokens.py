"""Tokens to fill a TLB: how many an application has, and which of its warps hold them (MASK §5.2).

Applications do not depend on each other here, so each has its own `Tokens`: their methods take the
cycle, and end an epoch that is over.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

from mypy_extensions import mypyc_attr


class Epoch(NamedTuple):
    """What an application did in an epoch, and what came of it.

    Attributes:
        end: the cycle after it.
        hits, misses: its lookups; pages found in the bypass cache are hits.
        warps: warps that looked anything up, over all SMs.
        tokens: how many it has from then on.
    """

    end: int
    hits: int
    misses: int
    warps: int
    tokens: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Tokens:
    """The tokens of one application: a share of its warps, as their number changes [our choice].

    After each epoch that share of the warps seen in it, one a SM at least, get tokens.  Until the
    first epoch with lookups has ended, and on an SM that had none in the epoch before, all warps
    hold tokens, also where an SM has as many tokens as it had warps [our choice].  An epoch without
    lookups changes nothing [our choice].

    Args:
        initial: the share after the first epoch.
        step: by how much it moves.
    """

    def __init__(self, initial: float, step: float) -> None:
        self._initial = initial
        self._step = step
        self._share: float | None = None
        """None: the first epoch has not ended."""
        self._rate = 0.0
        """Miss rate of the epoch before."""
        self._hits = 0
        self._misses = 0
        self._seen: dict[int, int] = {}
        """By SM: warp slots that looked anything up in this epoch, as a bit mask."""
        self._holders: dict[int, int] = {}
        """By SM: warp slots that hold tokens; all, where an SM is not there."""

    @abstractmethod
    def _ended(self, cycle: int) -> int | None:
        """The cycle after the epoch, if it is over in `cycle`, and starts the next one."""

    @abstractmethod
    def _direction(self, rate: float, before: float) -> int:
        """Whether the share moves up (1), down (-1) or not at all, by the miss rates."""

    @abstractmethod
    def why_none(self, cycles: int) -> tuple[str, str]:
        """Why no epoch has ended in a run of `cycles` cycles, and which option decides that."""

    def _limits(self, rate: float) -> bool:
        """Whether warps need tokens after an epoch of this miss rate."""
        return True

    @property
    def lookups(self) -> int:
        """Lookups in the epoch that is under way."""
        return self._hits + self._misses

    def count_lookup(self, sm: int, warp_slot: int, hit: bool) -> None:
        """A warp looked up a page."""
        if hit:
            self._hits += 1
        else:
            self._misses += 1
        self._seen[sm] = self._seen.get(sm, 0) | 1 << warp_slot

    def held_by(self, sm: int, warp_slot: int) -> bool:
        """Whether a warp holds a token."""
        return sm not in self._holders or bool(self._holders[sm] >> warp_slot & 1)

    def advance(self, cycle: int) -> Epoch | None:
        """End the epoch if `cycle`, the present one, is past its end; returns the ended epoch."""
        end = self._ended(cycle)
        lookups = self.lookups
        if end is None or not lookups:
            return None
        rate = self._misses / lookups
        warps = sum(slots.bit_count() for slots in self._seen.values())
        if self._share is None:
            self._share = self._initial
        else:
            moved = self._share + self._direction(rate, self._rate) * self._step
            self._share = min(max(moved, 0.0), 1.0)
        tokens = max(round(self._share * warps), len(self._seen))
        self._holders = self._deal(tokens, warps) if self._limits(rate) else {}
        epoch = Epoch(end, self._hits, self._misses, warps, tokens)
        self._rate = rate
        self._hits = self._misses = 0
        self._seen = {}
        return epoch

    def _deal(self, tokens: int, warps: int) -> dict[int, int]:
        """One token for each SM, the others in proportion to further warps; the lowest get them.

        What the first SMs have together is rounded, so that nothing is lost or doubled.
        """
        spare, further = tokens - len(self._seen), warps - len(self._seen)
        holders = {}
        dealt = passed = 0
        for sm in sorted(self._seen):
            slots = self._seen[sm]
            passed += slots.bit_count() - 1
            upto = (2 * spare * passed + further) // (2 * further) if further else 0
            own = 1 + upto - dealt
            dealt = upto
            if own < slots.bit_count():
                holders[sm] = _lowest(slots, own)
        return holders


class PaperTokens(Tokens):
    """Epochs of cycles; fewer tokens if the miss rate rose, more if it fell (MASK §5.2).

    Args:
        epoch: its length in cycles.
        band: by how much the miss rate must change.
    """

    def __init__(self, initial: float, step: float, epoch: int, band: float) -> None:
        super().__init__(initial, step)
        self._length = epoch
        self._band = band
        self._end = epoch

    def _ended(self, cycle: int) -> int | None:
        end = self._end
        if cycle < end:
            return None
        self._end = (cycle // self._length + 1) * self._length
        return end

    def why_none(self, cycles: int) -> tuple[str, str]:
        epoch = f"epoch of {self._length} cycles"
        if self._length < cycles:
            return f"nothing was looked up after the first {epoch}", "epoch"
        return f"its {epoch} is longer than the run of {cycles} cycles", "epoch"

    def _direction(self, rate: float, before: float) -> int:
        return (rate < before - self._band) - (rate > before + self._band)


class HillClimbTokens(Tokens):
    """Epochs of lookups; on in the same direction while the miss rate falls, else back.

    This is what the direction register of MASK §7.4 is for, and what the simulator that the
    authors released does.

    Args:
        accesses: lookups of the application in an epoch.
        bypass_above: at most this miss rate, no warp needs a token in the next epoch.
    """

    def __init__(self, initial: float, step: float, accesses: int, bypass_above: float) -> None:
        super().__init__(initial, step)
        self._accesses = accesses
        self._bypass_above = bypass_above
        self._rising = False
        """The direction register; giving out the initial tokens was a step down [our choice]."""

    def _ended(self, cycle: int) -> int | None:
        return cycle if self.lookups >= self._accesses else None

    def _direction(self, rate: float, before: float) -> int:
        if rate >= before:
            self._rising = not self._rising
        return 1 if self._rising else -1

    def why_none(self, cycles: int) -> tuple[str, str]:
        return f"its epoch takes {self._accesses} lookups, there were {self.lookups}", "accesses"

    def _limits(self, rate: float) -> bool:
        return rate > self._bypass_above


def _lowest(slots: int, count: int) -> int:
    """The `count` lowest bits of those that are set."""
    left = slots
    for _ in range(count):
        left &= left - 1
    return slots ^ left
