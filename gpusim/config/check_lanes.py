"""Checks of an SM that serves lanes: banks of its L1 cache, and units of its arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import asdict

from gpusim.config.schema import GpuConfig
from gpusim.core.bank_conflicts import WORD_BYTES
from gpusim.files.structure import Problem


def check_lanes(config: GpuConfig) -> Iterator[Problem]:
    """What is wrong with `l1.banks` and `sm.arithmetic`."""
    banks = config.l1.banks
    if banks is not None:
        if banks.tags < 1 or banks.tags & banks.tags - 1:
            yield Problem(("l1", "banks", "tags"), "must be a power of two")
        if banks.width < WORD_BYTES:
            yield Problem(("l1", "banks", "width"), f"must be at least a word, {WORD_BYTES}B")
        for key in ("lsu_width", "lsu_interval"):
            if getattr(config.sm, key) != 1:
                yield Problem(("sm", key), "must be 1 with l1.banks: lanes say how many cycles")
    if config.sm.arithmetic is not None:
        for name, unit in asdict(config.sm.arithmetic, recurse=False).items():
            for key in ("latency", "interval"):
                if getattr(unit, key) < 1:
                    yield Problem(("sm", "arithmetic", name, key), "must be at least 1")
