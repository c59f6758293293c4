"""Faults of µTLBs on their way to the fault buffer, in which SMs take turns."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import Final

from gpusim.core.request import Translation


class _Report:
    """Faults of one translation: how many by µTLB, and whether it still waits for them."""

    __slots__ = ("faults", "translation", "waits")

    def __init__(self, translation: Translation) -> None:
        self.translation = translation
        self.faults: Counter[int] = Counter()
        self.waits = True


class FaultQueues:
    """A µTLB reports a fault for each warp that waits for a page, as far as it has room.

    Faults of one SM are written in order; SMs that have some take turns.  What the host does not
    need, as another fault has named its page, it throws away (Allen and Ge, SC'21: duplicates).

    Args:
        room: faults that a µTLB may have reported whose pages did not come yet.
        sms: SMs that share a µTLB.
    """

    def __init__(self, room: int, sms: int) -> None:
        self._room: Final = room
        self._sms: Final = sms
        self._used: Counter[int] = Counter()
        self._queues: dict[int, deque[_Report]] = {}
        """By SM, those that have faults to write, the next one first."""
        self._reports: dict[Translation, _Report] = {}
        """By translation that waits for its page."""

    def __len__(self) -> int:
        """SMs that have something to write."""
        return len(self._queues)

    def report(self, translation: Translation, waiting: Iterable[int]) -> bool:
        """A page is not there; False: no µTLB has room for a fault.

        Args:
            translation: that has walked.
            waiting: the SM of each warp that waits for the page.
        """
        report = _Report(translation)
        for sm, warps in Counter(waiting).items():
            utlb = sm // self._sms
            if fits := min(warps, self._room - self._used[utlb]):
                report.faults[utlb] += fits
                self._used[utlb] += fits
                self._queues.setdefault(sm, deque()).extend([report] * fits)
        if report.faults:
            self._reports[translation] = report
        return bool(report.faults)

    def next(self) -> Translation | None:
        """The fault that is written next; None: there is none."""
        while self._queues:
            sm = next(iter(self._queues))
            queue = self._queues.pop(sm)
            report = queue.popleft()
            if queue:
                self._queues[sm] = queue
            if report.waits:
                return report.translation
        return None

    def release(self, translation: Translation) -> None:
        """A translation that was reported walks again: its faults are void, and take no room."""
        report = self._reports.pop(translation)
        report.waits = False
        self._used.subtract(report.faults)
