"""FR-FCFS that takes applications in turn."""

from __future__ import annotations

from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.registry import Slot, register_policy
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.dram.queue import FrFcfs
from gpusim.hardware.dram.waiting import Waiting


@mypyc_attr(allow_interpreted_subclasses=True)
class FrRrFcfs(FrFcfs):
    """First ready, then applications round-robin, then first come, first served.

    Jog et al., "Application-aware Memory System for Fair and Efficient Execution of Concurrent
    GPGPU Applications", GPGPU-7, 2014.  Row hits go first; then the oldest request of the next
    application after the one that the bank served last [our choice: each bank has its own turn, as
    each has its own row].
    """

    __slots__ = ("_last",)

    def __init__(self, entries: int, banks: int) -> None:
        super().__init__(entries, banks)
        self._last = [-1] * banks

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        turn = {"application": bits_for(dimensions.sms)}
        return [*super().storage(dimensions), Storage("turns", len(self._last), turn)]

    def remove(self, waiting: Waiting) -> None:
        """Forget a request; its application was served last."""
        super().remove(waiting)
        self._last[waiting.bank] = waiting.request.app

    def best(self, bank: int, row: int) -> Waiting | None:
        """The oldest row hit of the bank, else the oldest of the application whose turn it is."""
        oldest = super().best(bank, row)
        if oldest is None or oldest.row == row:
            return oldest
        last = self._last[bank]
        return min(self._banks[bank], key=lambda one: (one.request.app <= last, one.request.app))


register_policy(Slot.DRAM_QUEUE, "fr-rr-fcfs", FrRrFcfs)
