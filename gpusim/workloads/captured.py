"""Launches of a `gpusim.capture` as a workload."""

from __future__ import annotations

from gpusim.ptx.capture import Capture
from gpusim.workloads.builder import ApplicationSpec
from gpusim.workloads.workload import Workload


def captured_workload(capture: Capture) -> Workload:
    """A workload of one application, which makes the launches of a capture.

    Raises:
        UserError: nothing was launched.
    """
    application = capture.application()
    origin: dict[str, object] = {"captured": capture.name, "sha256": capture.digest()}
    spec = ApplicationSpec(capture.name, application.start, origin=origin)
    return Workload(capture.name, "captured", 0, (spec,))
