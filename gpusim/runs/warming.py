"""A machine whose TLBs and caches can be kept warm by what is skipped."""

from __future__ import annotations

from collections.abc import Mapping

from gpusim.core.engine import Sink
from gpusim.core.errors import UserError
from gpusim.core.interfaces import Behind, FirstTlb
from gpusim.core.mapping import Mapping as PageMapping
from gpusim.core.request import Requester
from gpusim.core.stage import Stage
from gpusim.hardware.cache.memory_side import MemorySide
from gpusim.hardware.cache.untimed_l2 import BehindCopies, BehindL1, BehindNode
from gpusim.hardware.sm.untimed.scheduler import SkippingScheduler
from gpusim.hardware.sm.untimed.warm_up import Passage, PassageSite
from gpusim.hardware.tlb.level import TlbLevel
from gpusim.machine.machine import Machine
from gpusim.machine.memory_system import MemorySystem, WalkersOfDomains
from gpusim.runs.placed_pages import placed_pages


def prepare_warming(machine: Machine) -> None:
    """Let every part know what is behind it for accesses without a clock, and schedulers the way.

    Raises:
        UserError: the machine has something that cannot be kept warm.
    """
    if why := _refusal(machine):
        raise UserError(
            f"blocks cannot be skipped on this machine: {why} (a workload that says so is run "
            "whole with an empty value: --set workload.timed.sample=)"
        )
    behind = _behind_all(machine)
    reads_l2 = machine.config.walk.reads("l2")
    stages: dict[int, Stage] = {}
    for group in machine.stages:
        stages.update((id(stage.requests), stage) for stage in group)
    for system in machine.systems:
        stages[id(system.walkers.requests)] = system.walkers
        system.walkers.warm_behind = behind[id(system)] if reads_l2 else None
        if (before := system.translations) is not system.walkers:
            stages[id(before.requests)] = before
            before.warm_below = system.walkers
    for group in machine.stages:
        for stage in group:
            stage.warm_below = _below(stage.below, stages)
    by_slot = any(
        stage.traits.by_block_slot
        for group in machine.stages
        for stage in group
        if isinstance(stage, TlbLevel)
    )
    parts = {
        sm: number * machine.config.l2.partitions + system.domain.partitions.of_sm[sm]
        for number, system in enumerate(machine.systems)
        for sm in system.domain.sms
    }
    for scheduler, tenant in zip(machine.schedulers, machine.tenants, strict=True):
        assert isinstance(scheduler, SkippingScheduler)
        points = [machine.sms[sm].lsu.point for sm in tenant.sms]
        scheduler.passage = Passage(
            PassageSite(
                scheduler.app,
                scheduler.asid,
                points,
                [_next_tlb(point.tlb) for point in points],
                [parts[sm] for sm in tenant.sms],
                behind[id(machine.system_of[tenant.sms[0]])],
                placed_pages(machine, tenant),
                by_slot,
                machine.config.l1.at_launch == "keep",
            )
        )


def _behind_all(machine: Machine) -> dict[int, Behind]:
    """What accesses without a clock find behind the L1 caches of each memory system."""
    each = {id(system): _behind(system) for system in machine.systems}
    if machine.node is None:
        return dict(each)
    config = machine.config
    caching = any(system.domain.caches_others for system in machine.systems)
    whole = BehindNode(list(each.values()), config.memory.size, config.l2.partitions, caching)
    return dict.fromkeys(each, whole)


def _behind(system: MemorySystem) -> BehindL1:
    """The L2 cache of a domain, and what is behind it, as accesses without a clock find them."""
    l2 = system.domain.config.l2
    slices = system.memory_side
    beyond = MemorySide(slices, system.to_dram) if slices else None
    if l2.copies is None:
        return BehindL1(system.banks, system.hashing, beyond)
    return BehindCopies(system.banks, system.hashing, l2.partitions, beyond)


def _next_tlb(first: FirstTlb) -> int:
    """What is behind a first TLB, by a number."""
    assert isinstance(first, TlbLevel)
    return id(first.warm_below)


def _refusal(machine: Machine) -> str:
    """What of a machine cannot be kept warm, in words."""
    cannot = {
        "an L2 cache with virtual names (l1.translation = 'after-l2')": bool(machine.fbts),
        "demand paging ([paging])": machine.paging is not None,
    }
    return "; ".join(what for what, there in cannot.items() if there)


def _below(sink: Sink, stages: Mapping[int, Stage]) -> Stage | _WalkersByApp:
    if isinstance(sink, WalkersOfDomains):
        return _WalkersByApp({app: stages[id(port)] for app, port in sink.ports.items()})
    return stages[id(sink)]


class _WalkersByApp:
    """The walkers of several domains, of which each application has its own."""

    def __init__(self, walkers: Mapping[int, Stage]) -> None:
        self._walkers = walkers

    def warm(self, tag: int, requester: Requester) -> PageMapping:
        return self._walkers[requester.app].warm(tag, requester)
