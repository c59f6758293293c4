"""Runs that skip the begin of their programs, and keep the machine warm meanwhile."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen

from gpusim.core.errors import UserError
from gpusim.hardware.sm.untimed.scheduler import Pace, SkippingScheduler
from gpusim.machine.machine import Machine
from gpusim.runs.run_length import SCALES
from gpusim.runs.timing import PacedTiming

_FORM = re.compile(r"([0-9]{1,18})\s*([kMG]?)\s*(launches|blocks|instructions)")


@frozen(eq=False, repr=False)
class SkipFirst(Pace):
    """Skips the first launches, blocks or warp instructions of each application.

    Attributes:
        count: how many.
        unit: of what.
    """

    count: int
    unit: str

    def skips(self, scheduler: SkippingScheduler) -> bool:
        if self.unit == "launches":
            return scheduler.launch < self.count
        if self.unit == "instructions":
            return scheduler.passed < self.count
        return scheduler.skipped < self.count or scheduler.in_turn > 0

    def may_begin(self, scheduler: SkippingScheduler) -> bool:
        return self.unit != "blocks" or scheduler.skipped < self.count

    def __str__(self) -> str:
        return f"{self.count}{self.unit}"


def parse_skip(text: str) -> SkipFirst:
    """``"3launches"``, ``"1kblocks"`` or ``"5Minstructions"``.

    Raises:
        UserError: it is none of these.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise UserError(
            f"--skip {text}: write a whole number above 0 with its unit, such as 3launches, "
            "1kblocks or 5Minstructions"
        )
    return SkipFirst(int(match[1]) * SCALES[match[2]], match[3])


class Skipped(PacedTiming):
    """The begin of each program is skipped, and in no number.

    Args:
        pace: says what is skipped; as text, what that is.
        setting: the option as results state it.
    """

    def warnings(self, machine: Machine) -> Iterator[str]:
        for app, scheduler in enumerate(machine.schedulers):
            assert isinstance(scheduler, SkippingScheduler)
            if not scheduler.passed:
                continue
            whole = scheduler.passed + sum(sm.counters[app].instructions for sm in machine.sms)
            yield (
                f"{machine.names[app]}: a part of the program: {scheduler.passed:,} of {whole:,} "
                f"warp instructions were skipped ({self.pace}) and are in no number"
            )
