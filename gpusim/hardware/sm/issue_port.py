"""An issue port of an SM: one warp scheduler, and the warp whose instructions it issues."""

from __future__ import annotations

from typing import Any, Final

from mypy_extensions import mypyc_attr, trait

from gpusim.core.engine import NEVER, Wake
from gpusim.core.states import State
from gpusim.hardware.sm.counters import SmCounters
from gpusim.hardware.sm.ledger import Ledger
from gpusim.hardware.sm.schedulers import WarpScheduler
from gpusim.hardware.sm.warp import Warp

_COMPUTING: Final = int(State.COMPUTING)
_READY: Final = int(State.READY)


@trait
@mypyc_attr(allow_interpreted_subclasses=True)
class Executing:
    """The SM, as its issue ports see it."""

    __slots__ = ()

    def live(self, warp: Warp, now: int) -> int:
        """Let a warp go on with its program in a cycle in which it may issue.

        Returns:
            the issue cycles of its next instruction; `STALLED`: it waits, or has ended.
        """
        raise NotImplementedError


class IssuePort:
    """Resumes one warp at a time, which takes its issue cycles; the scheduler says which.

    Args:
        scheduler: keeps the ready warps.
        sm: executes their programs.
        ledger, counters: of the SM.
        issue_cycles: that an instruction takes.
        wake: of the SM's process, which calls `issue` in the cycle `free_at`.

    Attributes:
        scheduler: keeps the ready warps.
        free_at: the next cycle in which it can issue; `NEVER` while it has nothing to issue.
        current: the warp that takes its issue cycles until then, and goes on if the scheduler is
            greedy or has no other; None if that warp leaves the port.
        run_from: first cycle of a run of compute instructions of `current`; -1: no run.
    """

    __slots__ = (
        "_counted",
        "_counters",
        "_greedy",
        "_issue_cycles",
        "_ledger",
        "_run",
        "_sm",
        "_wake",
        "current",
        "free_at",
        "run_from",
        "scheduler",
    )

    def __init__(
        self,
        scheduler: WarpScheduler,
        sm: Executing,
        ledger: Ledger,
        counters: list[SmCounters],
        issue_cycles: int,
        wake: Wake,
    ) -> None:
        self.scheduler = scheduler
        self._sm = sm
        self._greedy = bool(scheduler.greedy)
        self.free_at = NEVER
        self.current: Warp | None = None
        self.run_from = -1
        self._run = 0
        """Instructions of the run."""
        self._counted = 0
        """Instructions of the run that are counted: no more than have begun."""
        self._ledger = ledger
        self._counters = counters
        self._issue_cycles = issue_cycles
        self._wake = wake

    def add(self, warp: Warp, now: int) -> None:
        """`warp` may issue from now on."""
        self.scheduler.add(warp)
        if self.free_at == NEVER:
            self.free_at = now
            self._wake.at(now)
        elif self.run_from >= 0 and not self._greedy:
            self._cut_run(now)

    def interrupt(self, warp: Warp, now: int) -> None:
        """`warp` may issue from now on, before a greedy scheduler's warp goes on (`chosen`)."""
        self.scheduler.add(warp)
        if self.free_at == NEVER:
            self.free_at = now
            self._wake.at(now)
        elif self.run_from >= 0:
            self._cut_run(now)
        self._greedy = False

    def chosen(self) -> None:
        """The warp that interrupted issues: the scheduler is as greedy as before."""
        self._greedy = bool(self.scheduler.greedy)

    def issue(self, now: int) -> None:
        """Resume a warp in this cycle, and others if it stalls, until one issues."""
        scheduler = self.scheduler
        warp: Warp | None = self.current
        if self.run_from >= 0:
            self.count_until(now)
            self.run_from = -1
        if warp is not None and not self._greedy and len(scheduler):
            self._ledger.enter(warp, _READY, now)
            scheduler.add(warp)
            warp = None
        while True:
            if warp is None:
                picked: Any = scheduler.pick()
                warp = picked  # it was given warps
                if warp is None:
                    self.current = None
                    self.free_at = NEVER
                    return
            self.current = warp
            taken = self._sm.live(warp, now)
            if taken:
                self.free_at = now + taken
                return
            warp = None

    def run(self, warp: Warp, now: int) -> int:
        """Issue the compute instructions that `warp` has left, or one if others are ready.

        Returns:
            The issue cycles that they take.
        """
        scheduler = self.scheduler
        run = warp.left if self._greedy or not len(scheduler) else 1
        warp.left -= run
        self.run_from = now
        self._run = run
        self._counted = 0
        self._ledger.enter(warp, _COMPUTING, now)
        return run * self._issue_cycles

    def count_until(self, now: int) -> None:
        """Count the instructions of the run that have begun, this cycle included."""
        warp = self.current
        if warp is None or self.run_from < 0:
            return
        cycles, begun = self._issue_cycles, self._run
        if now - self.run_from < (begun - 1) * cycles:
            begun = (now - self.run_from) // cycles + 1
        more = begun - self._counted
        self._counted = begun
        counters = self._counters[warp.app]
        counters.instructions += more
        counters.compute_instructions += more
        counters.issue_cycles += more * cycles

    def uncounted(self) -> int:
        """Instructions of the run that are not counted yet."""
        return self._run - self._counted if self.run_from >= 0 else 0

    def _cut_run(self, now: int) -> None:
        """End a round-robin run of compute instructions with the one that is being issued now."""
        warp = self.current
        assert warp is not None
        done = (now - self.run_from) // self._issue_cycles + 1
        end = self.run_from + done * self._issue_cycles
        if end < self.free_at:
            cut = (self.free_at - end) // self._issue_cycles
            warp.left += cut
            self._run -= cut
            self.free_at = end
            self._wake.at(end)
