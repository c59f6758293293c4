"""Arrays of a trace that names none: what its accesses touch, put together to spans.

Demand paging needs arrays: they are what lies in the host's memory, is prefetched and evicted.  A
trace of a program with managed memory has no copies to the device that would tell them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from gpusim.core.warp_program import INACTIVE, Buffer, LaneChunk
from gpusim.traces.application import TraceApplication, TraceLaunch
from gpusim.traces.blocks import CONSTANT_BASE
from gpusim.traces.unread import Unread

GAP_BYTES = 2 << 20
"""Untouched bytes between two arrays, at least [our choice]: CUDA's managed allocations lie in
blocks of 2 MiB of their own."""

PAGE_BYTES = 4 << 10
"""Arrays begin and end at such pages."""

_SHIFT = PAGE_BYTES.bit_length() - 1


def with_arrays(application: TraceApplication) -> TraceApplication:
    """An application of a trace with arrays for all that it touches.

    What lies in none of those that the trace names is inferred, which a notice tells.  This reads
    the whole trace once, unless its format names all arrays.  Those that overlap are one.
    """
    application = evolve(application, buffers=without_overlaps(application.buffers))
    if application.names_all_arrays:
        return application
    pages = touched_pages(application)
    for array in application.buffers:
        first, last = array.base >> _SHIFT, array.base + array.bytes - 1 >> _SHIFT
        pages = pages[(pages < first) | (pages > last)]
    arrays = arrays_of(pages)
    if not arrays:
        return application
    total = sum(array.bytes for array in arrays)
    lack = "names no arrays" if not application.buffers else "does not name all arrays"
    notice = (
        f"the trace {lack}: inferred {len(arrays)} from what it touches, {total} bytes in all; "
        "--set workload.arrays=BASE:BYTES,... gives others"
    )
    return evolve(
        application,
        buffers=(*application.buffers, *arrays),
        notices=(*application.notices, notice),
    )


def without_overlaps(arrays: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """Arrays of which those that overlap have become one, under the name of the one before.

    A program that copies a part of an array, then all of it, or that allocates anew what it freed,
    tells of the same bytes twice.
    """
    made: list[Buffer] = []
    for array in sorted(arrays, key=lambda one: one.base):
        end = made[-1].base + made[-1].bytes if made else 0
        if made and array.base < end:
            size = max(end, array.base + array.bytes) - made[-1].base
            made[-1] = evolve(made[-1], bytes=size)
        else:
            made.append(array)
    return tuple(arrays) if len(made) == len(arrays) else tuple(made)


def touched_pages(application: TraceApplication) -> NDArray[np.int64]:
    """Numbers of all pages of 4 KiB that an application touches, increasing; no local memory."""
    known = np.zeros(0, dtype=np.int64)
    for launch in evolve(application, unread=Unread()).read_launches():
        assert isinstance(launch, TraceLaunch)  # calls name arrays
        for block in range(launch.blocks):
            known = np.union1d(known, _pages(launch.run_block(block, launch.warp_size)))
    return known


def _pages(chunks: Iterable[LaneChunk]) -> NDArray[np.int64]:
    found = [np.zeros(0, dtype=np.int64)]
    for chunk in chunks:
        last = chunk.address + np.where(chunk.size > 0, chunk.size - 1, 0)[:, None, None]
        used = (chunk.address != INACTIVE) & (chunk.address < CONSTANT_BASE)
        found += [np.unique(chunk.address[used] >> _SHIFT), np.unique(last[used] >> _SHIFT)]
    return np.unique(np.concatenate(found))


def arrays_of(pages: NDArray[np.int64]) -> tuple[Buffer, ...]:
    """Spans of touched pages, between which at least `GAP_BYTES` are untouched.

    Args:
        pages: (n,) numbers of pages of 4 KiB, increasing.
    """
    if not len(pages):
        return ()
    begins = np.flatnonzero(np.diff(pages) > GAP_BYTES >> _SHIFT) + 1
    firsts = pages[np.concatenate(([0], begins))].tolist()
    lasts = pages[np.concatenate((begins - 1, [len(pages) - 1]))].tolist()
    return tuple(
        Buffer(f"inferred {number}", first << _SHIFT, last + 1 - first << _SHIFT)
        for number, (first, last) in enumerate(zip(firsts, lasts, strict=True))
    )
