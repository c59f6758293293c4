"""Page walks that warps of the SMs execute, in issue slots of theirs and with loads of theirs.

*SoftWalker: Supporting Software Page Table Walk for Irregular GPU Applications*, MICRO 2025: an SM
has a warp of the hardware's own, of which a lane does a walk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import evolve
from mypy_extensions import mypyc_attr

from gpusim.config.translation import WarpWalksConfig
from gpusim.core.engine import Sink
from gpusim.core.request import MemoryRequest
from gpusim.hardware.walk.walk import Walk
from gpusim.hardware.walk.walker import Walkers, WalkersSite


class WalkExecutor(Protocol):
    """The warp of an SM that executes walks."""

    def issue(self, walk: Walk, instructions: int, then: Callable[[Walk, int], None]) -> None:
        """Issue some instructions of a walk; `then` is called with the cycles that they take."""


@mypyc_attr(allow_interpreted_subclasses=True)
class WarpWalkers(Walkers):
    """Walkers that are lanes of warps: each step of a walk issues instructions on its SM first.

    The SM is the next one in turn that has a free lane, or the one that asked.  The reads of a walk
    leave that SM, through the network.

    Args:
        site: where they stand; the number of walkers is that of all lanes.
        memory: see `Walkers`.
        warps: what they are like.
        sms: the SMs of the domain.
    """

    def __init__(
        self,
        site: WalkersSite,
        memory: Callable[[MemoryRequest], Sink],
        warps: WarpWalksConfig,
        sms: Sequence[int],
    ) -> None:
        lanes = len(sms) * warps.lanes
        super().__init__(evolve(site, config=evolve(site.config, walkers=lanes)), memory)
        self.executors: dict[int, WalkExecutor] = {}
        """By SM; the machine names them."""
        self._warps = warps
        self._sms = list(sms)
        self._lanes = dict.fromkeys(sms, warps.lanes)
        """By SM: lanes that are free."""
        self._next = 0

    def _start(self, walk: Walk) -> None:
        walk.home = self._home(walk)
        self._lanes[walk.home] -= 1
        super()._start(walk)

    def _home(self, walk: Walk) -> int:
        """The SM whose warp takes a walk; there is a free lane on one."""
        if self._warps.placed == "requester" and self._lanes.get(walk.sm, 0):
            return walk.sm
        while not self._lanes[self._sms[self._next]]:
            self._next = (self._next + 1) % len(self._sms)
        home = self._sms[self._next]
        self._next = (self._next + 1) % len(self._sms)
        return home

    def _step(self, walk: Walk) -> None:
        if walk.issued:
            walk.issued = False
            super()._step(walk)
            return
        over = walk.overtaken or walk.level >= len(walk.path.entries)
        instructions = self._warps.end if over else self._warps.level
        if not walk.begun:
            walk.begun = True
            instructions += self._warps.begin
        self.executors[walk.home].issue(walk, instructions, self._go_on)

    def _go_on(self, walk: Walk, cycles: int) -> None:
        """The instructions of a step are issued in `cycles` cycles."""
        walk.issued = True
        self._steps.send(walk, cycles)

    def _sender(self, walk: Walk) -> int:
        return walk.home

    def _finish(self, walk: Walk) -> None:
        free = self._free
        super()._finish(walk)
        if self._free > free:
            self._lanes[walk.home] += 1
