"""What was waited for, in the end, by warps that waited for MSHRs, store credits and the TLB."""

from __future__ import annotations

from typing import Final

import attr

from gpusim.core.counters import count
from gpusim.core.metrics import Metric, Total, declare_metrics
from gpusim.core.roots import Root
from gpusim.core.states import State

_MSHR: Final = int(State.MSHR)
_CREDIT: Final = int(State.CREDIT)
_CROSSBAR: Final = int(Root.CROSSBAR)
_L2: Final = int(Root.L2)
_DRAM: Final = int(Root.DRAM)
_WALKERS: Final = int(Root.WALKERS)
_WALKS: Final = int(Root.WALKS)


@attr.s(auto_attribs=True, eq=False, repr=False)
class RootWaits:
    """Parts of the states `mshr`, `credit` and of the first TLB, of one application on one SM.

    Each is held by others: lines on their way, stores under way, translations under way.  The parts
    are what that one waited for whose end gave something back.  What is left of a state is not
    known: what was given back had no trail, or the queue behind the TLB was full.
    """

    mshr_crossbar: int = count(
        "warp-cycles without a free MSHR while a line was in the crossbar", "cycles", later=True
    )
    mshr_l2: int = count(
        "warp-cycles without a free MSHR while a line was at an L2 bank", "cycles", later=True
    )
    mshr_dram: int = count(
        "warp-cycles without a free MSHR while a line waited for DRAM", "cycles", later=True
    )
    mshr_other: int = count(
        "warp-cycles without a free MSHR while a line waited for something else",
        "cycles",
        later=True,
    )
    credit_crossbar: int = count(
        "warp-cycles without a store credit while a store was in the crossbar",
        "cycles",
        later=True,
    )
    credit_l2: int = count(
        "warp-cycles without a store credit while a store was at an L2 bank", "cycles", later=True
    )
    credit_dram: int = count(
        "warp-cycles without a store credit while a store waited for DRAM", "cycles", later=True
    )
    credit_other: int = count(
        "warp-cycles without a store credit while a store waited for something else",
        "cycles",
        later=True,
    )
    tlb_walkers: int = count(
        "warp-cycles at a full first TLB while a walk waited for a walker", "cycles", later=True
    )
    tlb_walks: int = count(
        "warp-cycles at a full first TLB while a walk was under way", "cycles", later=True
    )
    tlb_other: int = count(
        "warp-cycles at a full first TLB while a translation waited for something else",
        "cycles",
        later=True,
    )

    @property
    def mshr(self) -> int:
        """Of the state `mshr`, what has a root."""
        return self.mshr_crossbar + self.mshr_l2 + self.mshr_dram + self.mshr_other

    @property
    def credit(self) -> int:
        """The same of the state `credit`."""
        return self.credit_crossbar + self.credit_l2 + self.credit_dram + self.credit_other

    @property
    def tlb(self) -> int:
        """The same of the state of the first TLB."""
        return self.tlb_walkers + self.tlb_walks + self.tlb_other

    def add(self, state: int, root: int, cycles: int) -> None:
        """Book cycles of a state that have a root."""
        if state == _MSHR:
            self._add_mshr(root, cycles)
        elif state == _CREDIT:
            self._add_credit(root, cycles)
        elif root == _WALKERS:
            self.tlb_walkers += cycles
        elif root == _WALKS:
            self.tlb_walks += cycles
        else:
            self.tlb_other += cycles

    def _add_mshr(self, root: int, cycles: int) -> None:
        if root == _CROSSBAR:
            self.mshr_crossbar += cycles
        elif root == _L2:
            self.mshr_l2 += cycles
        elif root == _DRAM:
            self.mshr_dram += cycles
        else:
            self.mshr_other += cycles

    def _add_credit(self, root: int, cycles: int) -> None:
        if root == _CROSSBAR:
            self.credit_crossbar += cycles
        elif root == _L2:
            self.credit_l2 += cycles
        elif root == _DRAM:
            self.credit_dram += cycles
        else:
            self.credit_other += cycles


declare_metrics(
    RootWaits,
    Metric(
        "mshr_dram_waits", "cycles", "warp-cycles at full L1 MSHRs, behind DRAM", Total("mshr_dram")
    ),
    Metric(
        "mshr_crossbar_waits",
        "cycles",
        "warp-cycles at full L1 MSHRs, behind the crossbar",
        Total("mshr_crossbar"),
    ),
    Metric(
        "tlb_walker_waits",
        "cycles",
        "warp-cycles at a full first TLB, behind walkers",
        Total("tlb_walkers"),
    ),
    Metric(
        "tlb_walk_waits",
        "cycles",
        "warp-cycles at a full first TLB, behind page walks",
        Total("tlb_walks"),
    ),
)
