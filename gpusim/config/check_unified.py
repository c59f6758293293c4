"""Checks of memory that is shared by L1 cache and shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from gpusim.config.schema import GpuConfig
from gpusim.files.structure import Problem
from gpusim.files.units import format_bytes

_CARVE_OUTS = ("l1", "carve_outs")


def check_unified(config: GpuConfig) -> Iterator[Problem]:
    """Every carve-out leaves whole ways, and one of them holds the shared memory of an SM."""
    l1 = config.l1
    if l1.unified is None or l1.carve_outs is None:
        if l1.carve_outs is not None:
            yield Problem(_CARVE_OUTS, "is of no effect without l1.unified")
        if l1.unified is not None:
            yield Problem(_CARVE_OUTS, "is missing: what shared memory can take of l1.unified")
        return
    if l1.line < 1 or l1.ways < 1 or l1.sets < 1:
        return  # another check refuses these values
    try:
        sizes = [size for size, _ in l1.splits]
    except ValueError as error:
        yield Problem(_CARVE_OUTS, str(error))
        return
    if not sizes or sizes != sorted(set(sizes)):
        yield Problem(_CARVE_OUTS, "must be sizes, each once, the smallest first")
        return
    way = l1.line * l1.sets
    for size in sizes:
        if size >= l1.unified or (l1.unified - size) % way:
            yield Problem(
                _CARVE_OUTS,
                f"{format_bytes(size)} of {format_bytes(l1.unified)} must leave whole ways of "
                f"{l1.sets} sets × {format_bytes(l1.line)} = {format_bytes(way)}",
            )
    if config.sm.shared_memory > sizes[-1]:
        yield Problem(
            ("sm", "shared_memory"),
            f"must be at most the largest of l1.carve_outs, {format_bytes(sizes[-1])}",
        )
