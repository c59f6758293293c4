"""An issue port of an SM: one warp scheduler, and the warp whose instruction it issues."""

from __future__ import annotations

from gpusim.core.engine import NEVER
from gpusim.hardware.sm.schedulers import WarpScheduler
from gpusim.hardware.sm.warp import Warp


class IssuePort:
    """Issues the instructions of the warps that its scheduler chooses among.

    Attributes:
        scheduler: keeps the ready warps.
        free_at: the next cycle in which it can issue; `NEVER` while it has nothing to issue.
        current: the warp that takes its issue cycles until then.
        run_from: first cycle of a run of compute instructions of `current`; -1: no run.
    """

    __slots__ = ("current", "free_at", "run_from", "scheduler")

    def __init__(self, scheduler: WarpScheduler) -> None:
        self.scheduler = scheduler
        self.free_at = NEVER
        self.current: Warp | None = None
        self.run_from = -1
