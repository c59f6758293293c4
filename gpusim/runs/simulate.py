"""`simulate`: one model, one workload, one result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusim.config.load import LoadedModel
from gpusim.machine import Machine
from gpusim.machine.load import load_model
from gpusim.programs.captured import Captured
from gpusim.programs.catalog import ProgramMaker
from gpusim.results.result import Result
from gpusim.runs.monitor import Progress
from gpusim.runs.options import RunOptions, run_options
from gpusim.runs.run import Observers, Run
from gpusim.workloads.addresses import workload_of
from gpusim.workloads.captured import captured_workload
from gpusim.workloads.workload import Workload, load_workload


def simulate(
    model: LoadedModel | str,
    workload: Workload | NDArray[np.integer[Any]] | str | ProgramMaker | Captured,
    *,
    progress: Callable[[Progress], None] | None = None,
    attach: Callable[[Machine], None] | None = None,
    command_line: Sequence[str] | None = None,
    **options: Any,
) -> Result:
    """Run a workload on a GPU.

    Args:
        model: from `gpusim.load_model`, or a name or file that it would load.
        workload: from `gpusim.load_workload`; or a name or program that it would load at its
            defaults; or addresses, (warps, steps, lanes), as for `gpusim.workload_of`; or
            launches, kept by `gpusim.capture`; or operators, by `gpusim.capture_torch`.
        progress: called a few times a second of real time, and at the end.
        attach: is given the machine before its first cycle, to listen to its probes, or to start
            processes of its own on ``machine.env``.  What it changes is no part of the result's
            configuration.
        command_line: what the result names as its origin; default: that of this process.
        options: the fields of `gpusim.RunOptions`: ``record``, ``output``, ``log``, ``events``,
            ``until``, ``skip``, ``sample``, ``start``, …

    Returns:
        the result, opened for reading.

    Raises:
        UserError: impossible input, a file cannot be written, or a policy or program of the user's
            own failed; nothing but the log is left behind.
        DeadlockError: the simulated machine stands still.
        ConservationError: the simulator is wrong.
    """
    checked: RunOptions = run_options(options)
    if isinstance(model, str):
        model = load_model(model)
    if isinstance(workload, np.ndarray):
        workload = workload_of(workload)
    elif isinstance(workload, Captured):
        workload = captured_workload(workload)
    elif not isinstance(workload, Workload):
        workload = load_workload(workload)
    command = tuple(sys.argv) if command_line is None else tuple(command_line)
    return Run(model, workload, checked, Observers(progress, attach, command)).execute()
