"""Time slices: which application may place blocks, and the process that lets them take turns."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Final

import attr

from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import EventLoop
from gpusim.core.errors import UserError
from gpusim.core.metrics import Metric, Total, declare_metrics
from gpusim.hardware.sm.block_scheduler import BlockScheduler
from gpusim.hardware.sm.sharing import Slice, SmSharing

NONE: Final = -1
"""In place of an application: none may place blocks."""


@attr.s(auto_attribs=True, eq=False, repr=False)
class SliceCounters:
    """What an application had of the GPU."""

    slices: int = count("time slices that the application had", later=True)
    held_cycles: int = count("cycles in which it might place blocks", "cycles", later=True)
    drain_cycles: int = count(
        "cycles in which its blocks ended after a slice", "cycles", later=True
    )


declare_metrics(
    SliceCounters,
    Metric("time_slices", "1", "time slices of the application", Total("slices"), later=True),
    Metric(
        "time_slice_drain",
        "cycles",
        "cycles in which blocks ended after a slice",
        Total("drain_cycles"),
        later=True,
    ),
)


class TimeSlicer(Component):
    """Gives the GPU to one application after the other, as the policy says.

    Args:
        env: the clock of the machine.
        sharing: decides who is next, and for how long.
        schedulers: of all applications, before their first cycle.
    """

    name = "time slicer"
    path = "sharing"

    def __init__(
        self, env: EventLoop, sharing: SmSharing, schedulers: Sequence[BlockScheduler]
    ) -> None:
        self.env = env
        self.counters = [SliceCounters() for _ in schedulers]
        self._sharing = sharing
        self._schedulers = schedulers
        self._last = NONE
        self.process = env.start(self._run())
        for scheduler in schedulers:
            scheduler.may_place = False
            scheduler.on_change = self.process.wake

    def _run(self) -> Generator[int | None, None, None]:
        while True:
            waiting = self._waiting()
            found = self._sharing.next_slice(self._last, waiting) if waiting else None
            if found is None:
                yield None
                continue
            if found.app not in waiting or found.cycles < 1:
                raise UserError(
                    f"the SM sharing {type(self._sharing).__name__!r} gives {found.cycles} cycles "
                    f"to application {found.app}: must be 1 or more, to one of {waiting}"
                )
            if found.switch and self._last not in (NONE, found.app):
                end = self.env._now + found.switch
                while (left := end - self.env._now) > 0:
                    yield left
            yield from self._hold(found)
            yield from self._drain(found.app)

    def _hold(self, found: Slice) -> Generator[int | None, None, None]:
        """The slice of an application, longer as long as no other one waits."""
        scheduler, counters = self._schedulers[found.app], self.counters[found.app]
        begin = self.env._now
        counters.slices += 1
        scheduler.may_place = True
        scheduler.process.wake.now()
        while scheduler.has_work():
            left = begin + found.cycles - self.env._now
            if left <= 0 and len(self._waiting()) > 1:
                break
            yield left if left > 0 else None
        scheduler.may_place = False
        self._last = found.app
        counters.held_cycles += self.env._now - begin

    def _drain(self, app: int) -> Generator[int | None, None, None]:
        """Blocks in residence end."""
        begin = self.env._now
        while self._schedulers[app].resident_blocks():
            yield None
        self.counters[app].drain_cycles += self.env._now - begin

    def _waiting(self) -> list[int]:
        """The applications that have blocks to place or in residence."""
        return [app for app, one in enumerate(self._schedulers) if one.has_work()]

    def app_counters(self, app: int) -> Iterator[object]:
        yield self.counters[app]

    def policies(self) -> Iterator[tuple[str, object]]:
        yield "sharing", self._sharing
