"""The stages of translation of a machine, between its SMs and memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Dict
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from attrs import evolve

from gpusim.config.schema import WALK_STAGE, GpuConfig, StageConfig
from gpusim.config.translation import FBT_LEVEL, SLICES, TlbConfig
from gpusim.core.engine import Environment, Sink
from gpusim.core.errors import UserError
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.registry import Slot, make_policy
from gpusim.core.signals import SignalBoard
from gpusim.core.stage import Stage, StageMemory, StageSite
from gpusim.core.states import State
from gpusim.files.units import cycles
from gpusim.hardware.tlb import (
    MISS_RULES,
    AlwaysFill,
    FillPolicy,
    ForwardTableArray,
    IdealArray,
    MshrPolicy,
    TlbArray,
    TlbLevel,
    forward_table_level,
    make_array,
)
from gpusim.hardware.walk import FarTable
from gpusim.machine.domains import Domain
from gpusim.machine.memory_system import MemorySystem, WalkersOfDomains
from gpusim.machine.pages import Pages, PagesOfGpu

if TYPE_CHECKING:
    from gpusim.hardware.fbt import Fbt


class TranslationStages:
    """All stages of a machine, as its model lists them; each knows only the stage below it.

    Args:
        system_of: by SM, the memory system behind its TLBs.
        pages: of all address spaces; learns of all stages that hold translations.
        apps: applications.
        fbts: forward–backward tables of virtual caches, by application; empty: there is none.

    Attributes:
        levels: the TLBs of each level, from the SM outward.
    """

    def __init__(
        self,
        env: Environment,
        config: GpuConfig,
        system_of: Dict[int, MemorySystem],
        pages: Pages,
        apps: int,
        fbts: Dict[int, Fbt],
    ) -> None:
        self._env = env
        self._config = config
        self._system_of = system_of
        self._pages = pages
        self._pages_of: dict[int, Pages] = {}
        """By GPU of a node, where GPUs ask a host for pages."""
        self._apps = apps
        self._fbts = fbts
        self._configs = dict(config.tlb)
        names = list(config.stage_names[:-1])
        if config.fbt is not None and config.fbt.second_level:
            self._configs[FBT_LEVEL] = forward_table_level(config.fbt, config.tlb)
            names.append(FBT_LEVEL)
        self._names = names
        self._states = stage_states(config)
        self._stages: dict[str, list[Stage]] = {}
        for name, below in reversed([*zip(names, [*names[1:], WALK_STAGE], strict=True)]):
            self._stages[name] = list(self._build(name, below))
        self._stages = {name: self._stages[name] for name in names}
        self.levels: dict[str, list[TlbLevel]] = {
            name: [one for one in stages if isinstance(one, TlbLevel)]
            for name, stages in self._stages.items()
            if name in self._configs
        }
        self.holders_of: dict[int, list[Stage]] = {}
        """By domain, all that hold translations of its SMs."""
        for system in dict.fromkeys(system_of.values()):
            self.holders_of[system.domain.index] = [system.walkers]
        for name, stages in self._stages.items():
            for stage, sms in zip(stages, self._groups(self._scope(name)), strict=True):
                self.holders_of[system_of[sms[0]].domain.index].append(stage)
        walkers = {id(system): system.walkers for system in system_of.values()}
        pages.holders += [*(one for all_ in self._stages.values() for one in all_)]
        pages.holders += walkers.values()

    @property
    def in_order(self) -> list[Sequence[Stage]]:
        """All stages but the walkers, those of each name together, from the SM outward."""
        return list(self._stages.values())

    def of(self, level: str, sm: int) -> TlbLevel:
        """The TLB of a level that serves an SM."""
        return self.levels[level][self._group(self._configs[level].scope, sm)]

    def beside(self, name: str, instance: int, config: TlbConfig, sms: Sequence[int]) -> TlbLevel:
        """A TLB of a side cache, which asks what the first TLB of its SMs asks."""
        below = list(self._stages)[1] if len(self._stages) > 1 else WALK_STAGE
        site = self._site(name, instance, sms, config, below)
        array, mshrs = self._array(name, config), self._mshr_policy(config)
        tlb = TlbLevel(site, config, self._config.clock, array, None, mshrs)
        self._pages.holders.append(tlb)
        self.holders_of[self._system_of[sms[0]].domain.index].append(tlb)
        return tlb

    def offer(self, board: SignalBoard) -> None:
        """Make the probes of all TLBs known."""
        names = list(self.levels)
        for name, tlbs in self.levels.items():
            groups = self._groups(self._configs[name].scope)
            roles = [name]
            roles += ["first"] if name == names[0] else []
            roles += ["last"] if name == names[-1] else []
            for tlb, sms in zip(tlbs, groups, strict=True):
                for role in roles:
                    board.looks[role] = partial(self._peek, name)
                    board.places[role] = partial(self._place, name)
                    board.offer(f"tlb.{role}.evict", tlb.on_evict, sms)
                    board.offer(f"tlb.{role}.lookup", tlb.on_lookup, sms)
                    board.offer(f"tlb.{role}.miss", tlb.on_miss, sms)
                    board.offer(f"tlb.{role}.fill", tlb.on_fill, sms)
                    board.offer(f"tlb.{role}.keep", tlb.on_keep, sms)
                    board.offer(f"tlb.{role}.invalidate", tlb.on_invalidate, sms)

    def attach(self, board: SignalBoard) -> None:
        """Hand all policies here their signals."""
        for name, stages in self._stages.items():
            for stage, sms in zip(stages, self._groups(self._scope(name)), strict=True):
                announce = stage.announce if isinstance(stage, TlbLevel) else None
                stage.attach(board.at(sms, announce))

    # -- building --------------------------------------------------------------------------------

    def _scope(self, name: str) -> str:
        table: TlbConfig | StageConfig = (
            self._configs[name] if name in self._configs else self._config.stage[name]
        )
        return table.scope

    def _build(self, name: str, below: str) -> Iterator[Stage]:
        """The stages of one name, one for each group of SMs that share one."""
        for index, sms in enumerate(self._groups(self._scope(name))):
            if name not in self._configs:
                yield self._own(name, index, sms, below)
                continue
            part = self._system_of[sms[0]].domain.config.tlb
            tlb = part.get(name, self._configs[name])
            yield MISS_RULES[tlb.misses](
                self._site(name, index, sms, tlb, below),
                tlb,
                self._config.clock,
                self._array(name, tlb),
                self._fill_policy(tlb),
                self._mshr_policy(tlb),
            )

    def _own(self, name: str, index: int, sms: Sequence[int], below: str) -> Stage:
        table = self._config.stage[name]
        site = self._site(name, index, sms, table, below)
        stage: Stage = make_policy(Slot.STAGE, table.kind, site)
        stage.below = site.below
        return stage

    def _site(
        self, name: str, index: int, sms: Sequence[int], table: TlbConfig | StageConfig, below: str
    ) -> StageSite:
        """Where a stage stands that serves some SMs; `below`: the name of the next one."""
        return StageSite(
            self._env,
            f"{name}[{index}]",
            name,
            index,
            self._below(below, sms),
            self._states[name],
            self._states[below],
            self._apps,
            tuple(sms),
            self._pages_at(self._system_of[sms[0]]),
            table.queue,
            table.trip.cycles(self._config.clock),
            self._near(below),
            self._memory(sms) if name in self._config.stage else None,
        )

    def _pages_at(self, system: MemorySystem) -> Pages:
        """Pages as what serves SMs of a domain may use them."""
        table = system.walkers.table
        if not isinstance(table, FarTable):
            return self._pages
        return self._pages_of.setdefault(system.domain.index, PagesOfGpu(self._pages, table))

    def _memory(self, sms: Sequence[int]) -> StageMemory:
        """Where a stage that serves these SMs may keep tables."""
        systems = list(dict.fromkeys(self._system_of[sm] for sm in sms))
        table = systems[0].walkers.table

        def reserve(size: int) -> int:
            if len(systems) > 1:
                raise UserError(
                    "a stage that keeps tables in memory must serve the SMs of one instance; "
                    'allowed: scope = "instance" or narrower'
                )
            return table.memories[systems[0].domain.apps[0]].reserve(size)

        return StageMemory(systems[0].way, reserve, table.levels + 1)

    def _near(self, below: str) -> Sequence[int]:
        """States at the stages from `below` to the next TLB level; empty: `below` is one."""
        if below not in self._config.stage:
            return ()
        near = []
        for name in self._names[self._names.index(below) :]:
            near.append(self._states[name])
            if name in self._configs:
                break
        return near

    def _array(self, name: str, config: TlbConfig) -> TlbArray:
        if name == FBT_LEVEL:
            fbts = self._fbts
            return ForwardTableArray(lambda tag: fbts[tag >> ASID_SHIFT].cached_under(tag))
        return tlb_array(name, config, self._config, self._pages, self._apps)

    def _fill_policy(self, config: TlbConfig) -> FillPolicy | None:
        return tlb_fill_policy(config, self._config, self._apps)

    def _mshr_policy(self, config: TlbConfig) -> MshrPolicy | None:
        """None: as many misses may be under way as there are MSHRs."""
        if config.mshr_policy is None:
            return None
        policy: MshrPolicy = make_policy(
            Slot.TLB_MSHRS, config.mshr_policy, config.mshrs, self._apps
        )
        return policy

    def _peek(self, level: str, sm: int, tag: int) -> Mapping | None:
        return self.of(level, sm).peek(tag)

    def _place(self, level: str, sm: int, tag: int, mapping: Mapping) -> None:
        """Put a page into the array of a TLB, ahead of any request there."""
        tlb = self.of(level, sm)
        tlb.counters[mapping.asid].evictions += tlb.array.insert(tag, mapping, 0)
        if tlb.on_evict.spilled:
            tlb.on_evict.announce()
        tlb.on_fill(tlb.instance, tag)

    def _group(self, scope: str, sm: int) -> int:
        """Which of the stages of `scope` serves an SM."""
        return tlb_of(scope, sm, self._system_of[sm].domain, self._config)

    def _groups(self, scope: str) -> list[list[int]]:
        """The SMs that each stage of `scope` serves."""
        return [list(sms) for _, sms in groupby(self._system_of, partial(self._group, scope))]

    def _below(self, name: str, sms: Sequence[int]) -> Sink:
        """Where a stage that serves these SMs sends what it cannot answer."""
        if name != WALK_STAGE:
            return self._stages[name][self._group(self._scope(name), sms[0])].requests
        systems = dict.fromkeys(self._system_of[sm] for sm in sms)
        if len(systems) == 1:
            return next(iter(systems)).walks
        return WalkersOfDomains(
            {app: one.translations for one in systems for app in one.domain.apps}
        )


def tlb_array(name: str, tlb: TlbConfig, config: GpuConfig, pages: Pages, apps: int) -> TlbArray:
    """What a TLB of a level holds.

    Args:
        name: of the level, for messages.
        tlb: what the TLB is like.
        config: the machine.
        pages: of all address spaces.
        apps: applications.

    Raises:
        UserError: the array serves fewer applications.
    """
    if tlb.ideal:
        return IdealArray(lambda asid, vpn: pages.table.walk(asid, vpn).mapping)
    array = make_array(evolve(tlb, latency=cycles(tlb.latency.cycles(config.clock))))
    most = array.traits().most_spaces
    if 0 < most < apps:
        raise UserError(
            f"tlb.{name}.array: {tlb.array.policy!r} serves {most} applications, there are {apps}"
        )
    return array


def tlb_fill_policy(tlb: TlbConfig, config: GpuConfig, apps: int) -> FillPolicy | None:
    """What goes into a TLB; None where everything does: no policy need be asked."""
    if tlb.ideal:
        return None
    policy: FillPolicy = make_policy(Slot.TLB_FILL, tlb.fill, *config.tlb_users(tlb, apps))
    return None if type(policy) is AlwaysFill else policy


def tlb_of(scope: str, sm: int, domain: Domain, config: GpuConfig) -> int:
    """Which of the TLBs of `scope` serves an SM, which lies in a domain."""
    if scope in (SLICES, "instance"):
        return domain.index
    return domain.group(sm, config.sms_of(scope))


def tlb_states(config: GpuConfig) -> tuple[str, ...]:
    """TLB levels whose states a machine has, in order, and the own TLBs of side caches."""
    fbt = (FBT_LEVEL,) if config.fbt else ()
    own = (name for name, cache in config.side_caches.items() if cache.tlb is not None)
    return (*config.tlb, *fbt, *own)


def stage_states(config: GpuConfig) -> dict[str, int]:
    """The state of a warp whose translation is at a stage, by the name of the stage."""
    names = [*tlb_states(config), *config.stage]
    states = {name: State.TLB + number for number, name in enumerate(names)}
    return {**states, WALK_STAGE: int(State.WALKER)}
