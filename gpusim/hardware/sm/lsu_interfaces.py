"""Interfaces of the load/store unit and its translation point to what is around them."""

from __future__ import annotations

from typing import Protocol

from attrs import frozen
from mypy_extensions import mypyc_attr, trait

from gpusim.config.schema import GpuConfig
from gpusim.core.cut import Trailed
from gpusim.core.engine import EventLoop, Port, Probe, Sink
from gpusim.core.interfaces import FirstCache, FirstTlb, Inbound
from gpusim.core.request import MemoryRequest
from gpusim.hardware.sm.history import RecordedStall
from gpusim.hardware.sm.warp import Warp, WarpAccess


@frozen(eq=False, repr=False)
class LsuSite:
    """Where a load/store unit stands in a machine.

    Attributes:
        env: the environment.
        config: the machine; behind a side cache that and its ports stand in the place of the L1
            cache and the load/store unit.
        tlb, l1: the first TLB, and the L1 cache or side cache.
        out, replies: its ways to the L2 cache and back.
    """

    env: EventLoop
    config: GpuConfig
    tlb: FirstTlb
    l1: FirstCache
    out: Sink
    replies: Inbound


@trait
@mypyc_attr(allow_interpreted_subclasses=True)
class Owner:
    """The SM, or side unit, that a load/store unit reports to."""

    __slots__ = ()

    index: int

    def complete(self, access: WarpAccess) -> None:
        """All transactions of an instruction are answered."""
        raise NotImplementedError

    def lsu_has_room(self) -> None:
        """An instruction left the queue."""
        raise NotImplementedError


@trait
@mypyc_attr(allow_interpreted_subclasses=True)
class Home(Owner):
    """An SM, as a unit that several SMs share reports to it."""

    __slots__ = ()

    def goes_on(self, warp: Warp, waited_for: Trailed) -> None:
        """`warp` may issue again; the trail of `waited_for` has the states of its wait."""
        raise NotImplementedError


class StartingUnit(Protocol):
    """What a translation point shares with the unit that starts its transactions.

    A translation point sets the unit's `stall` to what they wait for, sends instructions that have
    hit to the port `done`, and announces events at the probes (see
    `gpusim.hardware.sm.load_store_unit.LoadStoreUnit`).
    """

    env: EventLoop
    index: int
    name: str
    stall: RecordedStall
    done: Port[WarpAccess]
    on_request: Probe[[MemoryRequest, int, int]]
    on_l1_hit: Probe[[int, int, int, int, int]]
    on_l1_miss: Probe[[int, int, int, int, int]]
