"""Connects what a machine offers to be recorded with the tables of a run."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.machine import Machine
from gpusim.runs.recorder import Recorder
from gpusim.runs.watching import WATCHERS


def listen(machine: Machine, recorder: Recorder) -> Callable[[], None]:
    """Connect the probes of the records that were asked for.

    Returns:
        what to call at the end of the run.
    """
    for name, probe in machine.recordable():
        if name in recorder.records:
            probe.listen(recorder.listener(name))
    ends = [
        watch(machine, recorder.listener(name))
        for name, watch in WATCHERS.items()
        if name in recorder.records
    ]

    def finish() -> None:
        for end in ends:
            end()

    return finish
