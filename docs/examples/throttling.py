"""A warp scheduler that lets fewer warps issue while the L1 cache thrashes.

In the spirit of Rogers et al., *Cache-Conscious Wavefront Scheduling* (MICRO 2012), without its
victim tags: misses of the SM in a window decide how many of the oldest warps may issue.
"""

from __future__ import annotations

from gpusim.plugin import Schedulable, Signals, Slot, WarpScheduler, at_least, policy


@policy(Slot.WARP_SCHEDULER, "throttling")
class Throttling(WarpScheduler):
    """Greedy-then-oldest among some favoured warps; others issue only if none of these is ready.

    Favoured are the warps that issued last, as many as are allowed: one less after each window
    in which too many loads of the SM missed, one more after each in which few did.

    Args:
        window: loads of the SM in a window.
        fewest, most: favoured warps.
        high, low: miss rates above which there is one less, and below which one more.
    """

    greedy = True

    def __init__(
        self,
        *,
        window: int = 256,
        fewest: int = 2,
        most: int = 64,
        high: float = 0.7,
        low: float = 0.4,
    ) -> None:
        at_least(1, window=window, fewest=fewest, most=most)
        self._window = window
        self._fewest = fewest
        self._most = most
        self._high = high
        self._low = low
        self._allowed = most
        self._hits = self._misses = 0
        self._ready: list[Schedulable] = []
        self._favoured: list[Schedulable] = []
        """The one that issued last is the last."""

    def attach(self, signals: Signals) -> None:
        signals.listen("l1.hit", self._hit)
        signals.listen("l1.miss", self._missed)

    def _hit(self, sm: int, app: int, warp_slot: int, line: int, cycle: int) -> None:
        self._hits += 1
        self._judge()

    def _missed(self, sm: int, app: int, warp_slot: int, line: int, cycle: int) -> None:
        self._misses += 1
        self._judge()

    def _judge(self) -> None:
        loads = self._hits + self._misses
        if loads < self._window:
            return
        rate = self._misses / loads
        if rate > self._high:
            self._allowed = max(self._allowed - 1, self._fewest)
        elif rate < self._low:
            self._allowed = min(self._allowed + 1, self._most)
        self._hits = self._misses = 0

    def add(self, warp: Schedulable) -> None:
        self._ready.append(warp)

    def pick(self) -> Schedulable | None:
        if not self._ready:
            return None
        favoured = [warp for warp in self._ready if warp in self._favoured[-self._allowed :]]
        chosen = min(favoured or self._ready, key=lambda warp: warp.age)
        self._ready.remove(chosen)
        self._favoured = [warp for warp in self._favoured if warp is not chosen][-self._most :]
        self._favoured.append(chosen)
        return chosen

    def __len__(self) -> int:
        return len(self._ready)
