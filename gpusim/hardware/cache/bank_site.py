"""The site of an L2 bank: what the machine hands to each bank."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from gpusim.config.schema import L2Config
from gpusim.core.engine import EventLoop, Sink
from gpusim.core.interfaces import Inbound
from gpusim.files.units import Hertz
from gpusim.hardware.cache.page_table_reads import Levels


@frozen(eq=False, repr=False)
class BankSite:
    """Where a bank stands in a machine.

    Attributes:
        env: the environment.
        index: number of the bank.
        config: the cache that it is a bank of.
        clock: what the environment's cycles are.
        apps: indices of the applications that share the cache.
        levels: where lookups of page-table reads are counted by level; all banks share it.
        link: where the requests of the SMs come in; page-table reads come in on a port of the bank.
        replies: the way back to the SMs; while it is full, the bank sends no answers.
    """

    env: EventLoop
    index: int
    config: L2Config
    clock: Hertz
    apps: Sequence[int]
    levels: Levels
    link: Inbound
    replies: Sink
