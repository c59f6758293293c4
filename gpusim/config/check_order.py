"""Checks of a machine whose two sides of the crossbar have event loops of their own."""

from __future__ import annotations

from collections.abc import Iterator

from gpusim.config.schema import GpuConfig
from gpusim.files.structure import Problem
from gpusim.files.toml_document import Key


def check_order(config: GpuConfig) -> Iterator[Problem]:
    """What cannot be with ``crossbar.order = "memory-first"``."""
    if config.crossbar.order is None:
        return
    for key, why in _across(config):
        yield Problem(key, f"not with crossbar.order = 'memory-first': {why}")
    if not lookahead(config):
        yield Problem(
            ("crossbar", "order"),
            "needs requests (crossbar.latency, l2.entry) and translations (walk.trip, with the "
            "latency of the last TLB) that take at least a cycle",
        )


def _across(config: GpuConfig) -> Iterator[tuple[Key, str]]:
    """What both sides of the crossbar take part in at once, and how."""
    if config.node is not None:
        yield ("node",), "GPUs of a node reach into each other's memory"
    if config.paging is not None:
        yield ("paging",), "pages come and go in SMs and memory at once"
    if config.fbt is not None:
        yield ("fbt",), "a virtual L2 cache asks TLBs of the SMs"
    if config.speculation is not None:
        yield ("speculation",), "guessed frames are looked up in the page table"
    for name in config.stage:
        yield ("stage", name), "a stage may look into memory and the page table at once"
    for name in config.side_caches:
        yield (name,), "side caches have entrances of their own"
    if config.walk.warps is not None:
        yield ("walk", "warps"), "warps of the SMs execute walks"
    if config.walk.sent_by != "walkers":
        yield ("walk", "sent_by"), "SMs send the reads of walks"
    if config.walk.order.policy != "fcfs":
        yield ("walk", "order"), "it may ask for the warp instruction behind a walk"


def lookahead(config: GpuConfig) -> int:
    """Cycles that whatever SMs send takes at least until it arrives on the memory side."""
    clock = config.clock
    request = 0 if config.crossbar.ideal else config.crossbar.latency.cycles(clock)
    if config.l2.entry is not None:
        request += config.l2.entry.cycles(clock)
    last = list(config.tlb.values())[-1]
    return min(request, config.walk.trip.cycles(clock) + last.latency.cycles(clock))
