"""Builds the side caches of a machine, beside its SMs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from gpusim.config.auxiliary import InstructionCacheConfig, SideCacheConfig
from gpusim.config.schema import GpuConfig, L1Config
from gpusim.config.translation import TlbConfig
from gpusim.core.component import Component
from gpusim.core.engine import Environment
from gpusim.core.signals import SignalBoard
from gpusim.core.warp_program import SIDE_OPS
from gpusim.hardware.cache import CacheSite, L1Cache
from gpusim.hardware.crossbar import OwnReturn
from gpusim.hardware.sm.auxiliary_unit import SideUnit
from gpusim.hardware.sm.lsu_interfaces import LsuSite
from gpusim.hardware.sm.sm import Sm
from gpusim.hardware.tlb import TlbLevel
from gpusim.machine.domains import Side
from gpusim.machine.memory_system import MemorySystem
from gpusim.machine.translation import TranslationStages
from gpusim.machine.virtual_caches import leading_names


@frozen(eq=False, repr=False)
class SidePath:
    """A side cache as it was built.

    Attributes:
        side: where it is.
        tlb: its own TLB, if it has one.
        cache, unit: it, and what starts its accesses.
    """

    side: Side
    tlb: TlbLevel | None
    cache: L1Cache
    unit: SideUnit

    @property
    def components(self) -> Iterator[Component]:
        """All parts."""
        yield self.unit
        if self.tlb is not None:
            yield self.tlb
        yield self.cache

    def attach(self, board: SignalBoard) -> None:
        """Hand its policies their signals."""
        signals = board.at(self.side.sms)
        self.cache.attach(signals)
        if self.tlb is not None:
            self.tlb.attach(signals)


def build_sides(
    env: Environment,
    config: GpuConfig,
    systems: Sequence[MemorySystem],
    stages: TranslationStages,
    sms: Sequence[Sm],
    apps: int,
) -> list[SidePath]:
    """The side caches of all systems; the SMs that they serve get to know them."""
    paths = []
    for system in systems:
        for side in system.domain.sides:
            path = _build(env, config, system, stages, side, apps)
            for sm in side.sms:
                sms[sm].sides[int(SIDE_OPS[side.name])] = path.unit
            paths.append(path)
    return paths


def _build(
    env: Environment,
    config: GpuConfig,
    system: MemorySystem,
    stages: TranslationStages,
    side: Side,
    apps: int,
) -> SidePath:
    """A side cache; its entrance and its link come after those of the SMs."""
    domain = system.domain
    number = domain.config.sm.count + domain.sides.index(side)
    l1 = _as_l1(side.config)
    first_sm = side.sms.start
    own = _own_tlb(side.config)
    tlb = None if own is None else stages.beside(side.name, side.index, own, side.sms)
    asked = tlb or stages.of(next(iter(config.tlb)), first_sm)
    site = CacheSite(env, side.name, side.index, config.clock, apps)
    cache = L1Cache(site, l1, leading_names(config, system.fbt, apps, l1.line))
    place = LsuSite(
        env,
        _as_machine(config, side.config, l1),
        asked,
        cache,
        OwnReturn(system.requests.entrances[number], number),
        system.replies.links[number],
    )
    ahead = side.config.ahead if isinstance(side.config, InstructionCacheConfig) else 0
    unit = SideUnit(place, side.name, side.index, first_sm, config.l1.line, ahead)
    cache.connect(unit.lsu.send_again)
    return SidePath(side, tlb, cache, unit)


def _as_l1(cache: SideCacheConfig) -> L1Config:
    return L1Config(
        size=cache.size,
        ways=cache.ways,
        line=cache.line,
        sector=cache.line,
        latency=cache.latency,
        mshrs=cache.mshrs,
        mshr_merge=cache.mshr_merge,
        translation=cache.translation,
        at_launch=cache.at_launch,
        replacement=cache.replacement,
    )


def _as_machine(config: GpuConfig, cache: SideCacheConfig, l1: L1Config) -> GpuConfig:
    """The machine as it looks from a side cache."""
    ports = evolve(config.sm, lsu_queue=cache.queue, lsu_width=cache.ports)
    return evolve(config, l1=l1, sm=ports)


def _own_tlb(cache: SideCacheConfig) -> TlbConfig | None:
    tlb = cache.tlb
    if tlb is None:
        return None
    return TlbConfig(
        cache.scope,
        tlb.entries,
        tlb.ways,
        ports=tlb.ports,
        latency=tlb.latency,
        mshrs=tlb.mshrs,
        replacement=tlb.replacement,
    )
