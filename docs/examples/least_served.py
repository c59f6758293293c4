"""A DRAM scheduler with a table that all channels share: the application served least goes first.

In the spirit of Kim et al., *ATLAS* (HPCA 2010): attained service over all channels, in quanta.
"""

from __future__ import annotations

from gpusim.plugin import FrFcfs, Signals, Slot, Waiting, at_least, policy


class Service:
    """What each application was served, over all channels.

    Args:
        apps: how many applications there are.
        quantum: cycles after which half of it is forgotten.
    """

    def __init__(self, apps: int, quantum: int) -> None:
        self.requests = [0] * apps
        self._quantum = quantum
        self._next = quantum

    def served(self, app: int, cycle: int) -> None:
        """A request of an application has been served."""
        if cycle >= self._next:
            self._next = cycle + self._quantum
            self.requests = [count // 2 for count in self.requests]
        self.requests[app] += 1


@policy(Slot.DRAM_QUEUE, "least-served")
class LeastServed(FrFcfs):
    """Row hits first, then requests of the application served least, then the oldest.

    What other channels have served counts from the next choice of this one on.

    Args:
        entries, banks: see `DramQueue`.
        quantum: cycles, see `Service`.
    """

    reads_only = True

    def __init__(self, entries: int, banks: int, *, quantum: int = 100_000) -> None:
        at_least(1, quantum=quantum)
        super().__init__(entries, banks)
        self._quantum = quantum
        self._banks_count = banks
        self._service = Service(1, quantum)
        self._signals: Signals | None = None

    def attach(self, signals: Signals) -> None:
        self._signals = signals
        self._service = signals.share(
            ("least-served", self._quantum), lambda: Service(signals.apps, self._quantum)
        )

    def remove(self, waiting: Waiting) -> None:
        super().remove(waiting)
        if self._signals is not None:
            self._service.served(waiting.request.app, self._signals.now)
            self.changed += range(self._banks_count)  # other requests may come first now

    def best(self, bank: int, row: int) -> Waiting | None:
        waiting = [one for one in self.requests() if one.bank == bank]
        if not waiting:
            return None
        served = self._service.requests
        return min(waiting, key=lambda one: (one.row != row, served[one.request.app], one.rank))
