"""The TLB levels of a machine, between its SMs and its walkers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby

from attrs import evolve

from gpusim.config.schema import FBT_LEVEL, GpuConfig, TlbConfig
from gpusim.config.units import cycles
from gpusim.core.engine import Environment
from gpusim.core.errors import UserError
from gpusim.core.registry import Slot, make_policy
from gpusim.core.states import State
from gpusim.hardware.fbt import Fbt
from gpusim.hardware.tlb import (
    AlwaysFill,
    Below,
    FillPolicy,
    ForwardTableArray,
    IdealArray,
    TlbArray,
    TlbLevel,
    forward_table_level,
)
from gpusim.hardware.walk import PageTable
from gpusim.machine.memory_system import MemorySystem, WalkersOfDomains


class TlbHierarchy:
    """All TLBs of a machine.

    Args:
        system_of: by SM, the memory system behind its TLBs.
        page_table: of all address spaces.
        apps: applications.
        fbt: forward–backward table of virtual caches, if there is one.

    Attributes:
        levels: the TLBs of each level, from the SM outward.
    """

    def __init__(
        self, env: Environment, config: GpuConfig, system_of: Mapping[int, MemorySystem],
        page_table: PageTable, apps: int, fbt: Fbt | None,
    ) -> None:  # fmt: skip
        self._config = config
        self._system_of = system_of
        self._page_table = page_table
        self._apps = apps
        self._fbt = fbt
        self._configs = dict(config.tlb)
        if config.fbt is not None and config.fbt.second_level:
            self._configs[FBT_LEVEL] = forward_table_level(config.fbt, config.tlb)
        names = list(self._configs)
        self.levels: dict[str, list[TlbLevel]] = {}
        for level in range(len(names) - 1, -1, -1):  # each is told what is below
            name = names[level]
            below = names[level + 1] if level + 1 < len(names) else None
            state = State.TLB + level + 1 if below else int(State.WALKER)
            tlb = self._configs[name]
            self.levels[name] = [
                TlbLevel(
                    env, name, level, index, tlb, config.clock,
                    self._array(name, tlb), apps, self._below(below, sms), state,
                    self._fill_policy(tlb),
                )
                for index, sms in enumerate(self._groups(tlb.scope))
            ]  # fmt: skip
        self.levels = {name: self.levels[name] for name in names}

    def of(self, level: str, sm: int) -> TlbLevel:
        """The TLB of a level that serves an SM."""
        return self.levels[level][self._group(self._configs[level].scope, sm)]

    def _array(self, name: str, config: TlbConfig) -> TlbArray:
        if name == FBT_LEVEL and self._fbt is not None:
            return ForwardTableArray(self._fbt.frame_of)
        if config.ideal:
            return IdealArray(self._page_table.translate)
        in_cycles = evolve(config, latency=cycles(config.latency.cycles(self._config.clock)))
        array: TlbArray = make_policy(Slot.TLB_ARRAY, config.array, in_cycles)
        if 0 < array.most_spaces < self._apps:
            raise UserError(
                f"tlb.{name}.array: {config.array.policy!r} serves {array.most_spaces} "
                f"applications, there are {self._apps}"
            )
        return array

    def _fill_policy(self, config: TlbConfig) -> FillPolicy | None:
        """None where everything goes into the array, so that nobody need be asked."""
        if config.ideal:
            return None
        policy: FillPolicy = make_policy(
            Slot.TLB_FILL, config.fill, *self._config.tlb_users(config, self._apps)
        )
        return None if type(policy) is AlwaysFill else policy

    def _group(self, scope: str, sm: int) -> int:
        """Which TLB of a level of `scope` serves an SM."""
        if scope == "instance":
            return self._system_of[sm].domain.index
        return sm // self._config.sms_of(scope)

    def _groups(self, scope: str) -> list[list[int]]:
        """The SMs that each TLB of a level of `scope` serves."""
        return [list(sms) for _, sms in groupby(self._system_of, partial(self._group, scope))]

    def _below(self, level: str | None, sms: Sequence[int]) -> Below:
        """Where a TLB that serves these SMs sends its misses: to a level, or to walkers."""
        if level is not None:
            return self.of(level, sms[0]).requests
        systems = dict.fromkeys(self._system_of[sm] for sm in sms)
        if len(systems) == 1:
            return next(iter(systems)).walkers.requests
        return WalkersOfDomains({app: one.walkers for one in systems for app in one.domain.apps})
