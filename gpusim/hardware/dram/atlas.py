"""ATLAS: the application that has been served least goes first (Kim et al., HPCA 2010)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError, at_least
from gpusim.core.registry import Slot, register_policy
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.dram.completion import Completion
from gpusim.hardware.dram.ranked import RankedQueue, Ranking


class AttainedService(Ranking):
    """How long banks have worked for each application, over all channels.

    At the end of a quantum, what an application was served in it is averaged with what it was
    served before, and applications are ranked anew, the one that was served least first.

    Args:
        apps: how many there are.
        quantum: core cycles.
        history: weight of what was before the quantum.

    Attributes:
        total: attained service by application at the end of the last quantum, in bank-cycles.
    """

    def __init__(self, apps: int, quantum: int, history: float) -> None:
        super().__init__(apps)
        self.total = [0.0] * apps
        self._served = [0] * apps
        self._quantum = quantum
        self._history = history
        self._ends = quantum

    def request_done(self, done: Completion) -> None:
        """A bank has worked for an application from its first command to the end of the data."""
        self._served[done.app] += done.finished - done.issued

    def advance(self, cycle: int) -> None:
        while cycle >= self._ends:
            self._ends += self._quantum
            old, new = self._history, 1 - self._history
            for app, served in enumerate(self._served):
                self.total[app] = old * self.total[app] + new * served
                self._served[app] = 0
            self.set_order(sorted(range(len(self.total)), key=self.total.__getitem__))


@mypyc_attr(allow_interpreted_subclasses=True)
class Atlas(RankedQueue):
    """Least attained service first, then row hits, then the oldest.

    Kim, Han, Mutlu and Harchol-Balter, *ATLAS: A Scalable and High-Performance Scheduling Algorithm
    for Multiple Memory Controllers*, HPCA 2010; applications are its threads.  Service counts from
    the first command of a request to the end of its data, write-backs included [our choice].
    Write-backs wait in an FR-FCFS queue [our choice].

    Args:
        entries, banks: see `DramQueue`.
        quantum: core cycles after which applications are ranked anew.
        history: weight of what was served before the last quantum.
        patience: core cycles after which a waiting read goes first.
    """

    __slots__ = ("_history",)

    never: ClassVar[str] = "'atlas' never ranked applications"

    def __init__(
        self,
        entries: int,
        banks: int,
        *,
        quantum: int = 10_000_000,
        history: float = 0.875,
        patience: int = 100_000,
    ) -> None:
        at_least(1, quantum=quantum, patience=patience)
        if not 0 <= history < 1:
            raise OptionError("history", "must be 0 or more, and less than 1")
        super().__init__(entries, banks, AttainedService(1, quantum, history), quantum, patience)
        self._history = history

    def attach(self, signals: Signals) -> None:
        def make() -> AttainedService:
            service = AttainedService(signals.apps, self._quantum, self._history)
            signals.listen("dram.request", service.request_done, everywhere=True)
            return service

        self.ranking = signals.share(("atlas", self._quantum, self._history), make)

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        service = {"service": bits_for(self._quantum * len(self._banks) + 1)}
        counters = Storage("attained service", dimensions.sms, service)
        return [*super().storage(dimensions), counters]


register_policy(Slot.DRAM_QUEUE, "atlas", Atlas)
