"""Demand paging as data: the tables ``[paging]`` and ``[paging.link]`` of a model file."""

from __future__ import annotations

from fractions import Fraction

from attrs import frozen

from gpusim.config.choices import choice_of
from gpusim.config.field_facts import later
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, maybe_policy_of, policy_of
from gpusim.files.units import Bandwidth, Bytes, Duration, cycles, parse_duration

PCIE_3 = Bandwidth(12 * 10**9)
"""Sixteen lanes, as measured (V100: 12.3 GB/s for large copies)."""

LINK_LATENCY = parse_duration("500ns")
TRANSFER_OVERHEAD = parse_duration("900ns")
"""With 12 GB/s: 3.3 GB/s of 4 KiB, 10.3 of 64 KiB.  Ganguly et al., ISCA 2019, Table 1, have 3.2
and 8.5; the curve in the simulator that they released has 2.2 and 10.4."""

FAR_FAULT = parse_duration("45us")
"""Ganguly et al., ISCA 2019; 30 to 45 µs measured by Allen & Ge, TACO 2024."""

HOST_MEMORY = parse_duration("100ns")


@frozen
class LinkConfig:
    """The link between the GPU and the host's memory.

    Attributes:
        bandwidth: each way, of a transfer without an end.
        bandwidth_back: to the host, if that is another one; None (``"none"``): it is the same.
        latency: from one side to the other.
        overhead: of each transfer of pages, before its first byte: what makes small ones slow.
    """

    bandwidth: Bandwidth = PCIE_3
    latency: Duration = LINK_LATENCY
    overhead: Duration = TRANSFER_OVERHEAD
    bandwidth_back: Bandwidth | None = None


@frozen
class PagingConfig:
    """Memory that programs share with the host, and whose pages come when they are asked for.

    Attributes:
        capacity: memory of a GPU for the pages of arrays; None: as `oversubscription` says.
        oversubscription: bytes of all arrays by bytes of all GPUs' memory for them; None: as
            `capacity` says.  Without either there is room for all.
        fault_buffer: faults that the GPU keeps for the host.
        batch: faults that the host's driver takes at a time.
        fault_interval: from one fault that the GPU writes into the buffer to the next.
        utlb_faults: faults of the SMs of a TPC, which share a µTLB, that may be in the buffer or
            served at once; further ones wait in the µTLB until a replay; None: any number.
        interrupt: from a fault in the buffer to a driver that works, which slept before; faults
            that come meanwhile are in the same batch.
        batch_time: of the driver, for each batch, beside what moves over the link.
        block_time: of the driver, for each block of 2 MiB in a batch.
        first_touch: of the driver, for such a block that is in a batch for the first time: its
            state, DMA maps and reverse maps.
        fault_time: of the driver, for each page of a batch that was asked for.
        page_time: of the driver, for each 4 KiB that come, asked for or not.
        transfers: pages of a batch that cross the link in one transfer: ``"runs"`` of pages side
            by side, up to 2 MiB; or all of one of the ``"blocks"`` of 2 MiB, as NVIDIA's driver
            does it, which gives the copies of a block to the GPU together.
        replay: after a batch, ``"all"`` that wait walk again, and the fault buffer is emptied, as
            NVIDIA's driver does by default; or those whose pages are ``"served"``, and those whose
            faults are not in the buffer.
        large_pages: whether 2 MiB all of whose pages have come become one page, if their frames lie
            side by side and aligned.
        prefetch: policy: which pages come with those that were asked for.
        eviction: policy: which block goes when there is no room.
        eviction_block: bytes that go together.
        free: share of the device memory that the driver keeps free ahead of need.
        arrays: where they are at first, ``"host"`` or ``"device"`` as far as there is room.
        pinned: names of arrays that stay with the host; lines of them cross the link.
        device: names of arrays that are the device's own, on it from the beginning and for good, in
            pages as large as their frames allow.
        migration: a page comes to the device at its first ``"fault"``; after ``"accesses"`` over
            the link, counted by block; as a ``"policy"`` says of each access, `mover`; or
            ``"never"``: all is read and written over the link.
        mover: page migration policy: which pages come because of an access; None (``"none"``): with
            another `migration`.
        host_walk: what a walk takes longer that finds a page with the host, whose own page table
            the GPU has to ask then (address translation services); None (``"none"``): nothing.
        threshold: accesses after which a block's pages come, where migration is ``"accesses"``.
        migration_block: bytes over which accesses are counted, and that then come together.
        host_latency: of the host's memory, when a line is read over the link.
        link: to the host.
    """

    capacity: Bytes | None = None
    oversubscription: float | None = None
    fault_buffer: int = 1024
    batch: int = 256
    batch_time: Duration = FAR_FAULT
    fault_time: Duration = cycles(0)
    fault_interval: Duration = later(cycles(0))
    utlb_faults: int | None = None
    interrupt: Duration = later(cycles(0))
    block_time: Duration = later(cycles(0))
    first_touch: Duration = later(cycles(0))
    page_time: Duration = later(cycles(0))
    transfers: str = later(choice_of("runs", "blocks"))
    large_pages: bool = later(False)
    replay: str = choice_of("all", "served")
    prefetch: PolicyConfig = policy_of(Slot.PAGE_PREFETCH, "tree")
    eviction: PolicyConfig = policy_of(Slot.EVICTION, "lru")
    eviction_block: Bytes = Bytes(2 << 20)
    free: float = 0.0
    arrays: str = choice_of("host", "device")
    pinned: tuple[str, ...] = ()
    device: tuple[str, ...] = later(())
    migration: str = choice_of("fault", "accesses", "policy", "never")
    mover: PolicyConfig | None = maybe_policy_of(Slot.MIGRATION)
    host_walk: Duration | None = None
    threshold: int = 256
    migration_block: Bytes = Bytes(64 << 10)
    host_latency: Duration = HOST_MEMORY
    link: LinkConfig = LinkConfig()

    def room(self, footprint: int, gpus: int = 1) -> int | None:
        """Bytes of a GPU's memory for arrays of `footprint` bytes; None: for all.

        Args:
            footprint: bytes of all arrays.
            gpus: over which they are spread.
        """
        if self.capacity is not None:
            return self.capacity
        if self.oversubscription is None:
            return None
        return int(footprint / Fraction(self.oversubscription) / gpus)
