"""Checks of what serves lanes: banks of L1 caches, MSHRs of sectors, and units of arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import asdict

from gpusim.config.schema import GpuConfig, L2Config
from gpusim.core.bank_conflicts import WORD_BYTES
from gpusim.core.warp_program import SECTOR_BYTES
from gpusim.files.structure import Problem


def check_lanes(config: GpuConfig) -> Iterator[Problem]:
    """What is wrong with `l1.banks`, `l2.mshr_grain`, `l2.atomic_grain` and `sm.arithmetic`."""
    banks = config.l1.banks
    if banks is not None:
        if banks.tags < 1 or banks.tags & banks.tags - 1:
            yield Problem(("l1", "banks", "tags"), "must be a power of two")
        if banks.width < WORD_BYTES:
            yield Problem(("l1", "banks", "width"), f"must be at least a word, {WORD_BYTES}B")
        for key in ("lsu_width", "lsu_interval"):
            if getattr(config.sm, key) != 1:
                yield Problem(("sm", key), "must be 1 with l1.banks: lanes say how many cycles")
    yield from _check_l2_lanes(config.l2)
    if config.sm.arithmetic is not None:
        for name, unit in asdict(config.sm.arithmetic, recurse=False).items():
            for key in ("latency", "interval"):
                if getattr(unit, key) < 1:
                    yield Problem(("sm", "arithmetic", name, key), "must be at least 1")


def _check_l2_lanes(l2: L2Config) -> Iterator[Problem]:
    """MSHRs of sectors, and turns of atomics."""
    sectors = l2.line // SECTOR_BYTES  # a line that is fetched whole takes as many MSHRs at once
    if l2.mshr_grain == "sector" and l2.mshrs < sectors:
        yield Problem(("l2", "mshrs"), f"must hold the {sectors} sectors of a line")
    for key in ("atomic_grain", "atomic_whole"):
        if getattr(l2, key) is not None and l2.atomic_interval is None:
            yield Problem(("l2", key), "needs l2.atomic_interval")
    if l2.atomic_grain == "sector" and l2.sector is None:
        yield Problem(("l2", "atomic_grain"), "needs l2.sector")
