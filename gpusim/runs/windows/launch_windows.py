"""Windows that are whole launches."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, evolve, field

from gpusim.hardware.sm.untimed.scheduler import SkippingScheduler
from gpusim.runs.windows.measured import MeasuringPace, Snapshot, Span, Window


@define(eq=False, slots=False, repr=False)
class LaunchPace(MeasuringPace):
    """Windows are whole launches of the only application.

    Attributes:
        chosen: of each window its launch, the part of all instructions that it stands for, and its
            stratum; by launch.
    """

    chosen: Sequence[tuple[int, float, int]] = field(kw_only=True)
    _begun: tuple[SkippingScheduler, int, Snapshot] | None = None
    """Whose window is open, its place, and how the machine was then."""

    @property
    def planned(self) -> int:
        return len(self.chosen)

    def skips(self, scheduler: SkippingScheduler) -> bool:
        assert self.machine is not None
        if self._begun is not None:
            if scheduler.launch == self._next:
                return False
            self._close()
        if len(self.windows) == len(self.chosen):
            scheduler.stop()
            return False
        if scheduler.launch < self._next:
            return True
        self._begun = scheduler, scheduler.executed, Snapshot.of(self.machine)
        return False

    def measured(self) -> Sequence[Window]:
        if self._begun is not None:
            self._close()
        return self.windows

    @property
    def _next(self) -> int:
        """Number of the launch that is next, or open."""
        return self.chosen[len(self.windows)][0]

    def _close(self) -> None:
        """The launch has ended."""
        assert self.machine is not None
        assert self._begun is not None
        scheduler, place, begun = self._begun
        after = Snapshot.of(self.machine)
        if scheduler.finished_at >= 0:
            after = evolve(after, cycle=scheduler.finished_at)
        launch, weight, stratum = self.chosen[len(self.windows)]
        self.windows.append(Window([Span(place, launch, after.since(begun))], weight, stratum))
        self._begun = None
