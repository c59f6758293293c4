"""A machine that is listened to: the exact states of every warp of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from gpusim.config.schema import GpuConfig
from gpusim.machine import Machine, Tenant
from gpusim.runs.run import run_machine
from tests.machine.bench import Script, ScriptedApplication, ScriptedLaunch

Interval = tuple[str, int, int]


def launch(config: GpuConfig, *blocks: Sequence[Script]) -> ScriptedLaunch:
    """A launch of these blocks, each a sequence of scripts, one a warp."""
    return ScriptedLaunch(blocks, warp_size=config.sm.warp_size)


def tenant(config: GpuConfig, *launches: ScriptedLaunch, name: str = "scripted") -> Tenant:
    """One application on all SMs."""
    return Tenant(name, ScriptedApplication(launches, name), range(config.sm.count))


class Observed:
    """A finished run.

    Attributes:
        intervals: of each warp ``(state, from, to)``, in the order in which they were told.
        places: of each warp ``(SM, warp slot, application)``.
    """

    def __init__(self, config: GpuConfig, *tenants: Tenant) -> None:
        self.intervals: dict[int, list[Interval]] = defaultdict(list)
        self.places: dict[int, tuple[int, int, int]] = {}
        self.machine = Machine(config, tenants, seed=0)
        self.machine.on_interval.listen(self._hear)
        run_machine(self.machine)

    def _hear(
        self, sm: int, warp: int, slot: int, app: int, state: int, begin: int, end: int
    ) -> None:
        assert self.places.setdefault(warp, (sm, slot, app)) == (sm, slot, app)
        self.intervals[warp].append((self.machine.states[state], begin, end))

    def of(self, warp: int) -> list[Interval]:
        """The intervals of a warp; neighbouring ones in one state are one."""
        joined: list[Interval] = []
        for state, begin, end in self.intervals[warp]:
            if joined and joined[-1][0] == state and joined[-1][2] == begin:
                joined.append((state, joined.pop()[1], end))
            else:
                joined.append((state, begin, end))
        return joined

    def life(self, warp: int) -> tuple[int, int]:
        """The cycles of birth and death."""
        return self.intervals[warp][0][1], self.intervals[warp][-1][2]


def observe(config: GpuConfig, *scripts: Script) -> Observed:
    """One block of one launch."""
    return Observed(config, tenant(config, launch(config, scripts)))
