"""Launches of a `gpusim.capture`, or operators of a `gpusim.capture_torch`, as a workload."""

from __future__ import annotations

from gpusim.programs.captured import Captured
from gpusim.workloads.builder import ApplicationSpec
from gpusim.workloads.workload import Workload


def captured_workload(capture: Captured) -> Workload:
    """A workload of one application, which makes the launches of a capture.

    Raises:
        UserError: nothing was launched.
    """
    start = capture.starter()
    origin: dict[str, object] = {"captured": capture.name, "sha256": capture.digest()}
    spec = ApplicationSpec(capture.name, start, origin=origin)
    return Workload(capture.name, "captured", 0, (spec,))
