"""What becomes of the lines of a cache, announced."""

from __future__ import annotations

from collections.abc import Collection

from gpusim.core.engine import Probe
from gpusim.core.signals import SignalBoard


class LineSignals:
    """Probes of one cache, each with the name of a line there and the cycle.

    Accesses without a clock are not announced.

    Attributes:
        use: a load or a store has found all its sectors of a line.
        fill: sectors of a line come in; others of it may have been there.
        evict: a line goes for another one.
        invalidate: a line is forgotten, and no other one comes for it.
    """

    def __init__(self) -> None:
        self.use: Probe[[int, int]] = Probe()
        self.fill: Probe[[int, int]] = Probe()
        self.evict: Probe[[int, int]] = Probe()
        self.invalidate: Probe[[int, int]] = Probe()

    def offer(self, board: SignalBoard, cache: str, sms: Collection[int]) -> None:
        """Make them known as signals of a cache, which serves these SMs."""
        board.offer(f"{cache}.use", self.use, sms)
        board.offer(f"{cache}.fill", self.fill, sms)
        board.offer(f"{cache}.evict", self.evict, sms)
        board.offer(f"{cache}.invalidate", self.invalidate, sms)
