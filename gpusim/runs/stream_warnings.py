"""What a user should know of launches in several streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpusim.hardware.sm.running import LaunchRecord
from gpusim.hardware.sm.untimed.scheduler import SkippingScheduler
from gpusim.machine import Machine


def stream_warnings(machine: Machine) -> Iterator[str]:
    """Launches that did not run in their streams, or whose numbers are those of others as well."""
    for name, scheduler in zip(machine.names, machine.schedulers, strict=True):
        if isinstance(scheduler, SkippingScheduler) and scheduler.in_streams:
            yield (
                f"{name}: {scheduler.in_streams} launches of streams or GPUs ran one after the "
                "other: launches do not overlap with --skip, --sample or --from"
            )
        count = overlapping(scheduler.records)
        if count:
            yield (
                f"{name}: {count} launches had blocks while earlier ones had; the numbers of "
                'launches with "overlaps" above 0 are of what all of them did meanwhile'
            )


def overlapping(records: Sequence[LaunchRecord]) -> int:
    """How many launches of an application had blocks before all earlier ones had ended."""
    count, last = 0, 0
    for record in sorted(records, key=lambda one: (one.work_begin, one.index)):
        count += record.work_begin < last and record.work_begin < record.end
        last = max(last, record.end)
    return count
