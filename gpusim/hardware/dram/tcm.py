"""TCM: applications that ask for little go first, the others in turn (Kim et al., MICRO 2010)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from mypy_extensions import mypyc_attr

from gpusim.core.errors import OptionError, at_least
from gpusim.core.registry import Slot, register_policy
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.dram.clusters import Clusters
from gpusim.hardware.dram.ranked import RankedQueue
from gpusim.hardware.dram.waiting import Waiting


@mypyc_attr(allow_interpreted_subclasses=True)
class Tcm(RankedQueue):
    """Latency-sensitive applications first, then the others by shuffled ranks; see `Clusters`.

    Kim, Papamichael, Mutlu and Harchol-Balter, *Thread Cluster Memory Scheduling: Exploiting
    Differences in Memory Access Behavior*, MICRO 2010; applications are its threads.  Of one
    application row hits go first, then the oldest.  Write-backs wait in an FR-FCFS queue [our
    choice].

    Args:
        entries, banks: see `DramQueue`.
        quantum: core cycles after which clusters are formed anew.
        shuffle: core cycles after which the ranks of the bandwidth-sensitive cluster are shuffled.
        share: part of all service that the latency-sensitive cluster may take (the paper: 4 of 24
            threads).
        patience: core cycles after which a waiting read goes first [our choice: as in ATLAS].
    """

    __slots__ = ("_clusters", "_number", "_share", "_shuffle")

    never: ClassVar[str] = "'tcm' never formed clusters"

    def __init__(
        self,
        entries: int,
        banks: int,
        *,
        quantum: int = 1_000_000,
        shuffle: int = 800,
        share: float = 0.17,
        patience: int = 100_000,
    ) -> None:
        at_least(1, quantum=quantum, shuffle=shuffle, patience=patience)
        if not 0 <= share <= 1:
            raise OptionError("share", "must be 0 to 1")
        self._clusters = Clusters(1, quantum, shuffle, share)
        super().__init__(entries, banks, self._clusters, quantum, patience)
        self._number = 0
        self._shuffle = shuffle
        self._share = share

    def attach(self, signals: Signals) -> None:
        def make() -> Clusters:
            clusters = Clusters(signals.apps, self._quantum, self._shuffle, self._share)
            signals.listen("dram.request", clusters.request_done, everywhere=True)
            return clusters

        key = "tcm", self._quantum, self._shuffle, self._share
        self.ranking = self._clusters = signals.share(key, make)
        self._number = self._clusters.add_queue()

    def add(self, waiting: Waiting, now: int) -> None:
        super().add(waiting, now)
        self._clusters.came(waiting.request.app, self._number, waiting.bank)

    def remove(self, waiting: Waiting) -> None:
        super().remove(waiting)
        self._clusters.left(waiting.request.app, self._number, waiting.bank)

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """Counters of requests, row hits, service and banks; the last row of each bank."""
        count = bits_for(self._quantum + 1)
        fields = {
            "requests": count,
            "row hits": count,
            "banks": count + bits_for(len(self._banks)),
            "service": bits_for(self._quantum * len(self._banks) + 1),
        }
        rows = {"row": dimensions.frame_bits}
        return [
            *super().storage(dimensions),
            Storage("behaviour of applications", dimensions.sms, fields),
            Storage("shadow rows", dimensions.sms * len(self._banks), rows),
        ]


register_policy(Slot.DRAM_QUEUE, "tcm", Tcm)
