"""How much of the warps' waits for the crossbar and the L2 cache is the fault of stalled banks."""

from __future__ import annotations

from typing import Final

import attr

from gpusim.core.blame import Blame
from gpusim.core.counters import count
from gpusim.core.metrics import Metric, Total, declare_metrics
from gpusim.core.states import State

_INTERCONNECT: Final = int(State.INTERCONNECT)
_MERGE_LIST: Final = int(Blame.MERGE_LIST)
_MSHRS: Final = int(Blame.MSHRS)
_DRAM: Final = int(Blame.DRAM)


@attr.s(auto_attribs=True, eq=False, repr=False)
class L2Waits:
    """Parts of the states `interconnect` and `l2` of the warps of one application on one SM.

    Behind a bank: in the crossbar, at the bank's end, while the bank looked nothing up.  At a bank:
    the same of the request that was next.  What is left of either state is the way itself, other
    packets, and lookups.
    """

    behind_merge_lists: int = count(
        "warp-cycles of the state interconnect behind L2 banks whose merge list was full",
        "cycles",
        later=True,
    )
    behind_mshrs: int = count(
        "warp-cycles of the state interconnect behind L2 banks without a free MSHR",
        "cycles",
        later=True,
    )
    behind_dram: int = count(
        "warp-cycles of the state interconnect behind L2 banks whose way to DRAM was full",
        "cycles",
        later=True,
    )
    behind_replies: int = count(
        "warp-cycles of the state interconnect behind L2 banks whose way back was full",
        "cycles",
        later=True,
    )
    at_merge_lists: int = count(
        "warp-cycles of the state l2 at a merge list that was full", "cycles", later=True
    )
    at_mshrs: int = count(
        "warp-cycles of the state l2 at a bank without a free MSHR", "cycles", later=True
    )
    at_dram: int = count(
        "warp-cycles of the state l2 at a bank whose way to DRAM was full", "cycles", later=True
    )
    at_replies: int = count(
        "warp-cycles of the state l2 at a bank whose way back was full", "cycles", later=True
    )

    @property
    def behind(self) -> int:
        """Of the state interconnect, what stalled banks are to blame for."""
        return self.behind_merge_lists + self.behind_mshrs + self.behind_dram + self.behind_replies

    @property
    def at(self) -> int:
        """The same of the state l2."""
        return self.at_merge_lists + self.at_mshrs + self.at_dram + self.at_replies

    def add(self, state: int, blame: int, cycles: int) -> None:
        """Book cycles of a state for which a bank is to blame."""
        behind = state == _INTERCONNECT
        if blame == _MERGE_LIST:
            self.behind_merge_lists += cycles if behind else 0
            self.at_merge_lists += 0 if behind else cycles
        elif blame == _MSHRS:
            self.behind_mshrs += cycles if behind else 0
            self.at_mshrs += 0 if behind else cycles
        elif blame == _DRAM:
            self.behind_dram += cycles if behind else 0
            self.at_dram += 0 if behind else cycles
        else:
            self.behind_replies += cycles if behind else 0
            self.at_replies += 0 if behind else cycles


declare_metrics(
    L2Waits,
    Metric(
        "l2_merge_list_waits",
        "cycles",
        "warp-cycles at full merge lists of the L2 cache",
        Total("behind_merge_lists + at_merge_lists"),
    ),
    Metric(
        "l2_mshr_waits",
        "cycles",
        "warp-cycles at L2 banks without a free MSHR",
        Total("behind_mshrs + at_mshrs"),
    ),
    Metric(
        "l2_dram_waits",
        "cycles",
        "warp-cycles at L2 banks whose way to DRAM is full",
        Total("behind_dram + at_dram"),
    ),
    Metric(
        "l2_reply_waits",
        "cycles",
        "warp-cycles at L2 banks whose way back is full",
        Total("behind_replies + at_replies"),
    ),
)
