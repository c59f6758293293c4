"""The shared memory of an SM: accesses pass it one after the other, pass by pass."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from gpusim.config.sm import SCOREBOARD, SmConfig
from gpusim.core.warp_program import LEAST_SHIFT, PASSES
from gpusim.files.units import Hertz
from gpusim.hardware.sm.counters import SmCounters


@mypyc_attr(allow_interpreted_subclasses=True)
class SharedMemory:
    """When accesses to the shared memory of an SM have their data.

    Args:
        config: the SM.
        clock: what its cycles are.
        issue_cycles: cycles that the issue of an instruction takes.

    Attributes:
        flows: accesses behind which another one follows are not waited for.
        free: when the next access can pass.
        queue: passes that may be due: as many as the load/store unit queues instructions.
    """

    def __init__(self, config: SmConfig, clock: Hertz, issue_cycles: int) -> None:
        self.flows = config.shared_loads == SCOREBOARD
        self._latency = config.shared_latency.cycles(clock)
        self.queue = config.lsu_queue
        self._issue_cycles = issue_cycles
        self.free = 0

    def passed(self, arg: int, counters: SmCounters, now: int) -> int:
        """Let an access pass that is issued now; the cycle in which it has its data.

        Args:
            arg: its passes, and above `LEAST_SHIFT` the least that it could need.
            counters: of its application.
            now: this cycle.
        """
        least, passes = arg >> LEAST_SHIFT, arg & PASSES
        counters.shared_instructions += 1
        counters.shared_passes += passes
        counters.shared_conflicts += passes - (least or 1)
        start = max(now + self._issue_cycles, self.free)
        self.free = start + passes
        return start + passes - 1 + self._latency
