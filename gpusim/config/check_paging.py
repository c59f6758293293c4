"""Checks of demand paging."""

from __future__ import annotations

from collections.abc import Iterator

from gpusim.config.paging import PagingConfig
from gpusim.config.schema import GpuConfig
from gpusim.files.structure import Problem
from gpusim.files.units import Bytes, format_bytes, is_size, parse_bytes

LARGE_PAGES = ("largest-fit",)
"""Frame allocations whose pages are of several sizes."""


def check_paging(config: GpuConfig) -> Iterator[Problem]:
    """Amounts that cannot be, and what contradicts pages that come on demand."""
    paging = config.paging
    if paging is None:
        return
    yield from _room(paging, config.memory.page)
    if config.memory.mapped is not None:
        yield Problem(
            ("memory", "mapped"), "of no effect: with paging pages are mapped when they come"
        )
    for key in ("fault_buffer", "batch", "threshold"):
        if getattr(paging, key) < 1:
            yield Problem(("paging", key), "must be 1 or more")
    if paging.utlb_faults is not None and paging.utlb_faults < 1:
        yield Problem(("paging", "utlb_faults"), 'must be 1 or more, or "none"')
    yield from _block("eviction_block", paging.eviction_block, config.memory.page)
    if paging.migration == "accesses":
        yield from _block("migration_block", paging.migration_block, config.memory.page)
    yield from _large_pages(config, paging)
    yield from _senseless(paging)
    for name, tlb in config.tlb.items():
        if tlb.ideal:
            yield Problem(
                ("tlb", name, "ideal"),
                "must be false where pages come on demand: an ideal TLB "
                "would hit on pages that are not on the device",
            )


def _large_pages(config: GpuConfig, paging: PagingConfig) -> Iterator[Problem]:
    """A page leaves as a whole, so that its block is as large."""
    frames = config.memory.frames
    if frames.policy in LARGE_PAGES:
        largest = str(frames.options.get("largest", "2MiB"))
        why = f'memory.frames = "{frames.policy}"'
    elif paging.large_pages:
        largest = "2MiB"
        why = "paging.large_pages = true"
    else:
        return
    if is_size(largest) and paging.eviction_block < parse_bytes(largest):
        yield Problem(
            ("paging", "eviction_block"),
            f"must be at least {largest} with {why}: a page leaves as a whole",
        )


def _room(paging: PagingConfig, page: int) -> Iterator[Problem]:
    if paging.capacity is not None and paging.oversubscription is not None:
        yield Problem(
            ("paging", "oversubscription"), "contradicts paging.capacity: only one of them"
        )
    if paging.capacity is not None and paging.capacity < page:
        yield Problem(("paging", "capacity"), f"must be at least memory.page, {format_bytes(page)}")
    if paging.oversubscription is not None and paging.oversubscription <= 0:
        yield Problem(("paging", "oversubscription"), "must be above 0")


def _senseless(paging: PagingConfig) -> Iterator[Problem]:
    """What could not do anything beside other values."""
    limited = paging.capacity is not None or paging.oversubscription is not None
    if not 0 <= paging.free < 1:
        yield Problem(("paging", "free"), "must be 0 or more and below 1")
    elif paging.free and not limited:
        yield Problem(
            ("paging", "free"),
            "must be 0 without paging.capacity or paging.oversubscription: "
            "there is room for all arrays",
        )
    if paging.migration == "never" and limited:
        key = "oversubscription" if paging.capacity is None else "capacity"
        yield Problem(
            ("paging", key),
            'must be left out with paging.migration = "never": nothing comes to the device',
        )
    if (paging.migration == "policy") != (paging.mover is not None):
        yield Problem(
            ("paging", "mover"), 'must be named with paging.migration = "policy", and only then'
        )
    if paging.link.bandwidth_back is not None and paging.link.bandwidth_back < 1:
        yield Problem(("paging", "link", "bandwidth_back"), "must be 1 byte a second or more")
    if paging.device and limited:
        yield Problem(
            ("paging", "device"),
            "must be empty with paging.capacity or paging.oversubscription, which mean all arrays",
        )
    for name in paging.device:
        if name in paging.pinned:
            yield Problem(("paging", "device"), f"{name!r} cannot be pinned to the host, too")
    if paging.migration != "fault":
        remote = f"with paging.migration = {paging.migration!r}: all arrays are with the host"
        if paging.arrays == "device":
            yield Problem(("paging", "arrays"), f'must be "host" {remote}')
        if paging.migration == "never" and paging.pinned:
            yield Problem(("paging", "pinned"), f"must be empty {remote}")


def _block(key: str, size: Bytes, page: int) -> Iterator[Problem]:
    if size < page or size & (size - 1):
        yield Problem(
            ("paging", key),
            f"must be a power of two, and at least memory.page, {format_bytes(page)}",
        )
