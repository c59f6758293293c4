"""The warp of an SM that executes page walks, beside those of programs (SoftWalker, MICRO 2025)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, cast

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import EventLoop, Port
from gpusim.core.metrics import Metric, PerCycle, Total, declare_metrics
from gpusim.hardware.sm.issue_port import IssuePort
from gpusim.hardware.sm.warp import STALLED, Block, Rare, Seat, Warp

_OLDEST: Final = -1
"""Age of the warp: older than all others, so that a scheduler by age takes it first."""

Step = tuple[Any, int, Callable[[Any, int], None]]
"""A walk, instructions, and what is called with the cycles that they take."""


@attr.s(auto_attribs=True, eq=False, repr=False)
class WalkWarpCounters:
    """What the walking warp of one SM did, for all applications together."""

    steps: int = count("steps of walks", later=True)
    batches: int = count("times that it issued, for all lanes that had a step", later=True)
    instructions: int = count("instructions issued for walks, one for all lanes", later=True)
    issue_cycles: int = count("issue cycles that they took", "cycles", later=True)


declare_metrics(
    WalkWarpCounters,
    Metric(
        "walk_instructions",
        "1",
        "warp instructions of page walks",
        Total("instructions"),
        later=True,
    ),
    Metric(
        "walk_issue_slots",
        "1",
        "issue ports that page walks take, mean over time",
        PerCycle("issue_cycles"),
        later=True,
    ),
)


@mypyc_attr(allow_interpreted_subclasses=True)
class WalkWarp(Component):
    """Issues the instructions of walks through an issue port of its SM, as the oldest of its warps.

    A scheduler by age takes it before all others, a greedy one when the current instruction of
    another warp has been issued; others, as they take any warp.

    Lanes that have a step when it comes to issue share its instructions: as many as the longest of
    their steps has.  Nothing of it is counted as an instruction or state of a program.

    Args:
        env: the environment.
        sm: index of the SM.
        port: the issue port.
        lanes: walks at once.
        slot: warp slot, behind those of programs.
        issue_cycles: that an instruction takes.
    """

    path = "walk_warp"

    def __init__(
        self, env: EventLoop, sm: int, port: IssuePort, lanes: int, slot: int, issue_cycles: int
    ) -> None:
        self.env = env
        self.name = f"walk_warp[{sm}]"
        self.instance = sm
        self.counters = WalkWarpCounters()
        self._port = port
        self._lanes = lanes
        self._issue_cycles = issue_cycles
        self._steps: list[Step] = []
        self._stalled = True
        ended: Port[Block] = Port(env, f"{self.name}.ended")
        block = Block(cast("Any", None), 0, Seat(0, 0, 0, [slot], 0, sm), ended)
        self._warp = Warp(-1, block, 0, _OLDEST, 0, 0)
        self._warp.begin(self._live())

    def issue(self, walk: Any, instructions: int, then: Callable[[Any, int], None]) -> None:
        """Issue some instructions of a walk; `then` is called with the cycles that they take."""
        self._steps.append((walk, instructions, then))
        if self._stalled:
            self._stalled = False
            self._port.interrupt(self._warp, self.env._now)

    def _live(self) -> Rare:
        yield STALLED
        while True:
            self._port.chosen()
            batch = self._steps[: self._lanes]
            del self._steps[: self._lanes]
            instructions = max([one[1] for one in batch])
            cycles = instructions * self._issue_cycles
            counters = self.counters
            counters.steps += len(batch)
            counters.batches += 1
            counters.instructions += instructions
            counters.issue_cycles += cycles
            for walk, _, then in batch:
                then(walk, cycles)
            if cycles:
                yield cycles
            if not self._steps:
                self._stalled = True
                yield STALLED

    def in_flight(self) -> int:
        return len(self._steps)

    def waiting(self) -> Iterator[str]:
        if self._steps:
            yield f"{self.name}: {len(self._steps)} steps of walks wait to be issued"

    def shared_counters(self) -> Iterable[object]:
        return (self.counters,)
