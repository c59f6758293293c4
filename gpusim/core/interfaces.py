"""Interfaces by which components of different packages use each other."""

from __future__ import annotations

from mypy_extensions import mypyc_attr, trait

from gpusim.core.blame import Blames
from gpusim.core.engine import Port, Sleeper, Wakeable
from gpusim.core.mapping import Mapping
from gpusim.core.mshr import Admission
from gpusim.core.request import MemoryRequest, Requester


@mypyc_attr(allow_interpreted_subclasses=True)
class Inbound:
    """Where the packets of a network come out (see `gpusim.hardware.crossbar.Link`).

    Attributes:
        ready: when the next one is there; `NEVER` if none is under way.
    """

    __slots__ = ("ready",)

    ready: int

    def connect(self, receiver: Sleeper, blames: Blames | None = None) -> None:
        """Name the process that is woken when a packet arrives.

        Args:
            receiver: the process.
            blames: when it is stalled, for senders that wait for room; None: it keeps no account.
        """
        raise NotImplementedError

    def arrived(self) -> int:
        """The cycle in which the next one arrived, or arrives; `NEVER` if none is under way."""
        raise NotImplementedError

    def head(self) -> MemoryRequest:
        """The packet that is next, left in place."""
        raise NotImplementedError

    def take(self) -> MemoryRequest:
        """The next packet, which is there, taken out."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class Packets:
    """What a network asks about its packets (see `gpusim.hardware.crossbar.Network`)."""

    def link(self, request: MemoryRequest) -> int:
        """Index of the link that a packet goes to."""
        raise NotImplementedError

    def size(self, request: MemoryRequest) -> int:
        """Bytes of a packet."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class Route:
    """From an address to where the memory that it lies in takes requests."""

    def port(self, address: int) -> Port[MemoryRequest]:
        """The port of the DRAM channel, or of the host, that a physical address belongs to."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class Behind:
    """The memory below L1 caches and walkers, for functional (untimed) accesses.

    Attributes:
        by_part: the partition of the SM that loads a line makes a difference.
        stores_by_part: so does that of one that stores to it.
    """

    by_part: bool
    stores_by_part: bool

    def warm(self, address: int, sectors: int, kind: int, app: int) -> None:
        """Bring one line into the caches on its way, as an access would: untimed and uncounted.

        Args:
            address: physical, of the first byte of a line of the asking cache, or of an entry.
            sectors: 32-byte sectors from there, a bit each, as in `MemoryRequest`.
            kind: a `Kind`.
            app: index of the application.
        """
        raise NotImplementedError

    def warm_lines(
        self,
        lines: list[int],
        sectors: list[int],
        kinds: list[int],
        parts: list[int],
        shift: int,
        app: int,
    ) -> None:
        """Bring lines into the caches on their way, one after the other: untimed and uncounted.

        Args:
            lines: physical line numbers of the asking cache.
            sectors: of each line, its 32-byte sectors, a bit each, as in `MemoryRequest`.
            kinds: of each line, a `Kind`.
            parts: of each line, the partition of the SM that asks, those of all GPUs of a node one
                after the other; -1: another GPU asks; empty: it makes no difference.
            shift: binary logarithm of the line size in bytes.
            app: index of the application.
        """
        raise NotImplementedError

    def lines(self, shift: int, app: int) -> int:
        """How many lines of the size `1 << shift` it can hold for an application."""
        raise NotImplementedError


@trait
@mypyc_attr(allow_interpreted_subclasses=True)
class FirstTlb:
    """What a load/store unit needs of the first TLB (see `gpusim.hardware.tlb.TlbLevel`).

    Attributes:
        latency: of a lookup, in cycles.
        extra_cycles: what the last lookup took beyond it.
    """

    __slots__ = ()

    latency: int
    extra_cycles: int

    def claim(self) -> bool:
        """Take a port for this cycle."""
        raise NotImplementedError

    def blocked(self) -> bool:
        """Whether none is free before a miss is over."""
        raise NotImplementedError

    def lookup(self, tag: int, requester: Requester) -> Mapping | None:
        """What covers the page, or None."""
        raise NotImplementedError

    def check(self, tag: int, mapping: Mapping) -> None:
        """Make sure that a hit is what the page table says."""
        raise NotImplementedError

    def refuses(self, tag: int, requester: Requester) -> bool:
        """Whether a miss has to wait."""
        raise NotImplementedError

    def miss(self, request: MemoryRequest, delay: int) -> None:
        """Let a request wait for its translation."""
        raise NotImplementedError

    def when_free(self, sender: Wakeable) -> None:
        """Wake `sender` when there may be room."""
        raise NotImplementedError

    def warm(self, tag: int, requester: Requester) -> Mapping:
        """A lookup without a clock, with all that a miss brings."""
        raise NotImplementedError

    def reach(self) -> int | None:
        """How many of the smallest pages it can hold at most; None: that is not known."""
        raise NotImplementedError


@trait
@mypyc_attr(allow_interpreted_subclasses=True)
class FirstCache:
    """What a load/store unit needs of the L1 cache (see `gpusim.hardware.cache.L1Cache`).

    Attributes:
        latency: of a lookup, in cycles.
    """

    __slots__ = ()

    latency: int

    def fill(self, filled: MemoryRequest) -> None:
        """A line arrives."""
        raise NotImplementedError

    def lookup(self, line: int, sectors: int, app: int) -> bool:
        """Whether a load hits."""
        raise NotImplementedError

    def admit(self, request: MemoryRequest, line: int) -> Admission:
        """Register a load that missed."""
        raise NotImplementedError

    def pass_through(self, request: MemoryRequest, keep: bool) -> None:
        """Note a store or an atomic."""
        raise NotImplementedError

    def pass_by(self, request: MemoryRequest) -> None:
        """Note a load that the L2 cache answers, whatever is here."""
        raise NotImplementedError

    def acknowledged(self, request: MemoryRequest) -> None:
        """A store comes back from the L2 cache."""
        raise NotImplementedError

    def clear(self) -> None:
        """Forget all lines."""
        raise NotImplementedError

    def warm(self, lines: list[int], sectors: list[int], kinds: list[int]) -> list[bool]:
        """Accesses without a clock; returns which of them go on to the memory behind."""
        raise NotImplementedError

    def asks(self, sectors: int) -> int:
        """What a load of these sectors that misses asks of the memory behind."""
        raise NotImplementedError

    def capacity(self) -> int:
        """How many lines it holds."""
        raise NotImplementedError

    def begin_kernel(self, shared_bytes: int) -> None:
        """A kernel begins that has so much shared memory on this SM."""
        raise NotImplementedError

    def when_free(self, sender: Wakeable) -> None:
        """Wake `sender` when an MSHR is free."""
        raise NotImplementedError
