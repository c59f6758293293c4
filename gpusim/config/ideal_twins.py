"""A machine without translation, part by part: what each part costs is the difference in cycles."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from gpusim.config.schema import GpuConfig
from gpusim.files.units import cycles

FAULTS, WALKS, TLBS = "faults", "walks", "tlbs"
"""The parts, in the order in which they are taken out."""

_MANY = 4096
"""Walkers of a machine in which no walk waits, for each of the real ones."""


@frozen
class IdealTwin:
    """A machine in which a part of translation, and the parts before it, take no time.

    Attributes:
        part: that was taken out last.
        config: the machine.
    """

    part: str
    config: GpuConfig


def ideal_twins(config: GpuConfig) -> Iterator[IdealTwin]:
    """Machines with one part less each: of demand paging, then of walks, then of all translation.

    Without faults, all pages are in GPU memory from the start.  Without walks, a walk finds a
    walker at once and takes no cycle; TLBs miss as before.  Without TLBs, the first TLB always
    hits, at its latency: nothing of translation is left (the recipe `ideal-tlb`).
    """
    if config.paging is not None:
        config = evolve(config, paging=None)
        yield IdealTwin(FAULTS, config)
    walk = evolve(
        config.walk,
        walkers=config.walk.walkers * _MANY,
        cost="fixed",
        latency=cycles(0),
        trip=cycles(0),
        sent_by="walkers",
        cache=None,
    )
    config = evolve(config, walk=walk)
    yield IdealTwin(WALKS, config)
    first, tlb = next(iter(config.tlb.items()))
    yield IdealTwin(TLBS, evolve(config, tlb={**config.tlb, first: evolve(tlb, ideal=True)}))
