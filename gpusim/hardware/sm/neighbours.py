"""What the load/store unit and its translation point ask of what is around them."""

from __future__ import annotations

from typing import Protocol

from gpusim.core.engine import EventLoop, Port, Probe, Sleeper, Wakeable
from gpusim.core.mapping import Mapping
from gpusim.core.mshr import Admission
from gpusim.core.request import MemoryRequest, Requester
from gpusim.hardware.sm.history import RecordedStall
from gpusim.hardware.sm.warp import WarpAccess


class Owner(Protocol):
    """What the unit tells its SM."""

    index: int

    def complete(self, access: WarpAccess) -> None:
        """All transactions of an instruction are answered."""

    def lsu_has_room(self) -> None:
        """An instruction left the queue."""


class _ExtraCycles(Protocol):
    extra_cycles: int


class FirstTlb(Protocol):
    """What the unit needs of the first TLB level (see `gpusim.hardware.tlb.TlbLevel`)."""

    latency: int

    @property
    def array(self) -> _ExtraCycles:
        """The array, which tells what the last lookup took beyond the latency."""

    def claim(self) -> bool:
        """Take a port for this cycle."""

    def lookup(self, tag: int, requester: Requester) -> Mapping | None:
        """What covers the page, or None."""

    def check(self, tag: int, mapping: Mapping) -> None:
        """Make sure that a hit is what the page table says."""

    def refuses(self, tag: int, app: int) -> bool:
        """Whether a miss has to wait."""

    def miss(self, request: MemoryRequest, delay: int) -> None:
        """Let a request wait for its translation."""

    def when_free(self, sender: Wakeable) -> None:
        """Wake when there may be room."""


class L1(Protocol):
    """What the unit needs of the L1 cache (see `gpusim.hardware.cache.L1Cache`)."""

    latency: int

    def fill(self, filled: MemoryRequest) -> None:
        """A line arrives."""

    def lookup(self, line: int, sectors: int, app: int) -> bool:
        """Whether a load hits."""

    def admit(self, request: MemoryRequest, line: int) -> Admission:
        """Register a load that missed."""

    def pass_through(self, request: MemoryRequest, keep: bool) -> None:
        """Note a store or an atomic."""

    def clear(self) -> None:
        """Forget all lines."""

    def when_free(self, sender: Wakeable) -> None:
        """Wake when an MSHR is free."""


class Replies(Protocol):
    """Where the answers of the L2 cache come in (see `gpusim.hardware.crossbar.Link`)."""

    @property
    def ready(self) -> int:
        """When the next answer is there."""

    def connect(self, receiver: Sleeper) -> None:
        """Name who is woken when an answer arrives."""

    def take(self) -> MemoryRequest:
        """The next answer, which is there."""


class StartingUnit(Protocol):
    """What a translation point shares with the unit that starts its transactions.

    It tells the unit's `stall` what they wait for, the port `done` which instructions have hit,
    and the probes what happened (see `gpusim.hardware.sm.load_store_unit.LoadStoreUnit`).
    """

    env: EventLoop
    index: int
    name: str
    stall: RecordedStall
    done: Port[WarpAccess]
    on_request: Probe[[MemoryRequest, int, int]]
    on_l1_hit: Probe[[int, int, int, int, int]]
    on_l1_miss: Probe[[int, int, int, int, int]]
