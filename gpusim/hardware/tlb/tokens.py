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
        hits, misses: lookups that its miss rate is of; pages found in the bypass cache are hits.
        warps: warps that used their SM, over all SMs.
        tokens: how many it has from then on.
    """

    end: int
    hits: int
    misses: int
    warps: int
    tokens: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Tokens:
    """The tokens of one application: a number, first a share of all its warps.

    All warps that used an SM in the epoch count, whether or not they looked anything up: from its
    first instruction to its last a warp uses its SM, also in an epoch in which it only waits [our
    choice].  After the first epoch with lookups a share of them gets tokens, and from then on their
    number moves by a share of the warps of each epoch.  Each SM has one at least.  Until then, on
    an SM that had no warps in the epoch before, and where an SM has as many tokens as it had warps,
    all warps hold tokens [our choice].  An epoch without lookups or without warps
    changes nothing [our choice].

    Args:
        initial: the share after the first epoch.
        step: by which share of the warps it moves.
    """

    def __init__(self, initial: float, step: float) -> None:
        self._initial = initial
        self._step = step
        self._tokens: int | None = None
        """None: the first epoch has not ended."""
        self._rate = 0.0
        """Miss rate of the epoch before."""
        self._hits = 0
        self._misses = 0
        self._present: dict[int, int] = {}
        """By SM: warp slots in use now, as a bit mask."""
        self._seen: dict[int, int] = {}
        """By SM: warp slots that were in use at any time in this epoch, as a bit mask."""
        self._holders: dict[int, int] = {}
        """By SM: warp slots that hold tokens; all, where an SM is not there."""

    @abstractmethod
    def _ended(self, cycle: int) -> int | None:
        """The cycle after the epoch, if it is over in `cycle`, and starts the next one."""

    @abstractmethod
    def _direction(self, rate: float, before: float) -> int:
        """Whether the tokens move up (1), down (-1) or not at all, by the miss rates."""

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

    def warp_began(self, sm: int, warp_slot: int) -> None:
        """A warp uses an SM from now on."""
        bit = 1 << warp_slot
        self._present[sm] = self._present.get(sm, 0) | bit
        self._seen[sm] = self._seen.get(sm, 0) | bit

    def warp_ended(self, sm: int, warp_slot: int) -> None:
        """A warp has issued its last instruction."""
        left = self._present[sm] & ~(1 << warp_slot)
        if left:
            self._present[sm] = left
        else:
            del self._present[sm]

    def count_lookup(self, hit: bool) -> None:
        """A warp looked up a page."""
        if hit:
            self._hits += 1
        else:
            self._misses += 1

    def held_by(self, sm: int, warp_slot: int) -> bool:
        """Whether a warp holds a token."""
        return sm not in self._holders or bool(self._holders[sm] >> warp_slot & 1)

    def advance(self, cycle: int) -> Epoch | None:
        """End the epoch if `cycle`, the present one, is past its end; returns the ended epoch."""
        end = self._ended(cycle)
        if end is None:
            return None
        seen, hits, misses = self._seen, self._hits, self._misses
        self._seen = dict(self._present)
        self._hits = self._misses = 0
        if not seen or not hits + misses:
            return None
        rate = misses / (hits + misses)
        warps = sum(slots.bit_count() for slots in seen.values())
        if self._tokens is None:
            tokens = round(self._initial * warps)
        else:
            step = round(self._direction(rate, self._rate) * self._step * warps)
            tokens = min(self._tokens + step, max(self._tokens, warps))
        self._tokens = tokens = max(tokens, len(seen))
        dealt = min(tokens, warps)
        self._holders = _deal(seen, dealt, warps) if self._limits(rate) else {}
        self._rate = rate
        return Epoch(end, hits, misses, warps, dealt)


def _deal(seen: dict[int, int], tokens: int, warps: int) -> dict[int, int]:
    """One token for each SM, the others in proportion to further warps; the lowest get them.

    What the first SMs have together is rounded, so that nothing is lost or doubled.

    Args:
        seen: by SM, the slots of the warps that may get one.
        tokens: as many as there are SMs at least, and as there are warps at most.
        warps: how many there are.

    Returns:
        by SM, the slots that hold one; an SM is left out where all do.
    """
    spare, further = tokens - len(seen), warps - len(seen)
    holders = {}
    dealt = passed = 0
    for sm in sorted(seen):
        slots = seen[sm]
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
    """Epochs of lookups; fewer tokens while the miss rate falls, more otherwise.

    The rule of the simulator that the authors of MASK released: its direction never turns round.
    An epoch counts the lookups of the first TLBs, too, and its miss rate is that of all of them.

    Args:
        accesses: lookups of the application in an epoch.
        bypass_above: at most this miss rate, no warp needs a token in the next epoch.
    """

    def __init__(self, initial: float, step: float, accesses: int, bypass_above: float) -> None:
        super().__init__(initial, step)
        self._accesses = accesses
        self._bypass_above = bypass_above

    def _ended(self, cycle: int) -> int | None:
        return cycle if self.lookups >= self._accesses else None

    def _direction(self, rate: float, before: float) -> int:
        return -1 if rate < before else 1

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
