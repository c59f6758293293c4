"""Lost locality: scores of warps that miss lines of the L1 cache which they had before."""

from __future__ import annotations


class _WarpScore:
    """What is known of a warp that lives.

    Attributes:
        age: order in which it came to its SM.
        score: when it was set, in cycle `since`; it falls by one a cycle.
        victims: lines that it brought in and that were evicted, the oldest first.
    """

    __slots__ = ("age", "score", "since", "victims")

    def __init__(self, age: int, base: int) -> None:
        self.age = age
        self.score = base
        self.since = 0
        self.victims: dict[int, None] = {}


class LostLocality:
    """Victim tags and scores of the warps of one SM (Rogers et al., MICRO 2012).

    A warp that misses a line which it brought in before and which was evicted has lost locality:
    its score rises.  Scores fall by one a cycle, down to `base`.  Warps in the order of their
    scores may load while their sum is at most that of as many warps as live, with `base` each; so a
    warp that lost much takes the turns of others.

    Args:
        base: score of a warp that has lost nothing.
        throttle: how far a loss raises a score, see `missed`.
        tags: victims that are kept for each warp.
    """

    __slots__ = ("_base", "_owners", "_tags", "_throttle", "_warps", "instructions", "losses")

    def __init__(self, base: int, throttle: int, tags: int) -> None:
        self._base = base
        self._throttle = throttle
        self._tags = tags
        self._warps: dict[int, _WarpScore] = {}
        """By warp slot."""
        self._owners: dict[int, int] = {}
        """By line of the L1 cache: the slot of the warp that brought it in."""
        self.instructions = 0
        """Instructions that the SM had issued when a load asked last."""
        self.losses = 0

    def began(self, slot: int, age: int) -> None:
        """A warp begins in a slot, unless it is there already."""
        known = self._warps.get(slot)
        if known is None or known.age != age:
            self._warps[slot] = _WarpScore(age, self._base)

    def ended(self, slot: int) -> None:
        """The warp of a slot has ended."""
        del self._warps[slot]

    def kernel_began(self) -> None:
        """The L1 cache is empty."""
        self._owners.clear()

    def missed(self, slot: int, line: int, now: int) -> None:
        """A warp has missed a line, and brings it in.

        If it had it before, its score becomes ``losses / instructions * throttle * limit``, with
        losses and instructions of the SM so far, unless it is larger already.
        """
        warp = self._warps.get(slot)
        if warp is None:  # it has ended without waiting for this load
            return
        self._owners[line] = slot
        if line not in warp.victims:
            return
        self.losses += 1
        raised = self.losses * self._throttle * self._limit() // max(self.instructions, 1)
        if raised > self._score(warp, now):
            warp.score = raised
            warp.since = now

    def evicted(self, line: int) -> None:
        """A line has left the L1 cache: the warp that brought it in keeps its tag."""
        warp = self._warps.get(self._owners.pop(line, -1))
        if warp is None:
            return
        warp.victims.pop(line, None)
        warp.victims[line] = None
        if len(warp.victims) > self._tags:
            del warp.victims[next(iter(warp.victims))]

    def holds(self, slot: int, now: int) -> bool:
        """Whether the warp of a slot may not load: others with higher scores take all turns."""
        warp = self._warps[slot]
        own = self._score(warp, now)
        before = 0
        for other in self._warps.values():
            score = self._score(other, now)
            if score > own or (score == own and other.age < warp.age):
                before += score
        return before > 0 and before + own > self._limit()

    def _limit(self) -> int:
        return self._base * len(self._warps)

    def _score(self, warp: _WarpScore, now: int) -> int:
        return max(warp.score - (now - warp.since), self._base)
