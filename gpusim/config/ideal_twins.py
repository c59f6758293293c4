"""A machine without translation, part by part: what each part costs is the difference in cycles."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from gpusim.config.schema import GpuConfig
from gpusim.files.units import Bandwidth, Bytes, cycles

FAULTS, WALKS, TLBS = "faults", "walks", "tlbs"
"""The parts of translation, in the order in which they are taken out."""

REMOTE = "remote"
"""What is no part of translation: the links between the GPUs of a node."""

_MANY = 4096
"""Walkers of a machine in which no walk waits, for each of the real ones."""


_WIDER = 16
"""How many times as wide links are that are to take no time."""


@frozen
class IdealTwin:
    """A machine in which a part, and of translation the parts before it, take no time.

    Attributes:
        part: that was taken out last.
        config: the machine.
    """

    part: str
    config: GpuConfig


def ideal_twins(config: GpuConfig) -> Iterator[IdealTwin]:
    """Machines with one part less each: of demand paging, then of walks, then of all translation.

    Of a node there is, before these, the machine whose links alone are without latency and 16 times
    as wide.

    Without faults, all pages are in GPU memory from the start.  Without walks, a walk finds a
    walker at once and takes no cycle; TLBs miss as before.  Without TLBs, the first TLB always
    hits, at its latency: nothing of translation is left (the recipe `ideal-tlb`).
    """
    if config.node is not None:
        link = evolve(
            config.node.link,
            bandwidth=Bandwidth(config.node.link.bandwidth * _WIDER),
            latency=cycles(0),
            overhead=Bytes(0),
            queue=config.node.link.queue * _MANY,
        )
        yield IdealTwin(REMOTE, evolve(config, node=evolve(config.node, link=link)))
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
