"""Core cycles and DRAM clocks, converted exactly."""

from __future__ import annotations

from math import ceil, gcd

from gpusim.files.units import Duration, Hertz


class ClockRatio:
    """Two clocks that tick together at time 0.

    Args:
        core: core clock.
        dram: DRAM command clock.
    """

    __slots__ = ("core", "dram")

    def __init__(self, core: Hertz, dram: Hertz) -> None:
        common = gcd(core, dram)
        self.core = core // common
        self.dram = dram // common

    def clock(self, cycle: int) -> int:
        """The first DRAM clock at or after core cycle `cycle`."""
        return -(-cycle * self.dram // self.core)

    def cycle(self, clock: int) -> int:
        """The first core cycle at or after DRAM clock `clock`."""
        return -(-clock * self.core // self.dram)


def core_cycles(duration: Duration | None, core: Hertz, dram: Hertz) -> int:
    """A time of a DRAM table, in DRAM clocks or seconds, as core cycles, rounded up; None: none."""
    if duration is None:
        return 0
    if duration.in_seconds:
        return duration.cycles(core)
    return ceil(duration.amount * core / dram)
