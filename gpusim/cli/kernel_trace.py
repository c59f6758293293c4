"""Traces of kernels of your own: what `gpusim trace cuda` and `gpusim trace ptx` do."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusim.core.errors import UserError, nearest

if TYPE_CHECKING:
    from gpusim.ptx.capture import Capture

LAUNCH = "launch"
"""The function of a launch file."""


def record_kernel(
    file: str, launch: Path, output: Path, registers: int | None, options: Sequence[str]
) -> Capture:
    """Make the launches of a kernel that a file of Python says, and store what they access.

    Args:
        file: of the kernel, perhaps with its name behind a colon.
        launch: defines the function ``launch(kernel)``, which calls ``kernel.launch(...)``.
        output: HDF5 file of the trace.
        registers: of a thread; None: estimated.
        options: of NVRTC.

    Raises:
        UserError: a file cannot be read, or the launches are wrong.
    """
    from gpusim.cli.progress import block_progress
    from gpusim.ptx.capture import capture
    from gpusim.ptx.kernel_file import load_kernel
    from gpusim.traces.recorder import record_trace
    from gpusim.workloads.captured import captured_workload

    kernel = load_kernel(file, registers=registers, options=options)
    function = _function(launch)
    with capture(kernel.plain_name) as captured:
        try:
            function(kernel)
        except UserError:
            raise
        except Exception as error:  # a user's own code may do anything
            raise UserError(f"{launch}: {type(error).__name__}: {error}") from error
    workload = captured_workload(captured)
    with block_progress(f"recording {captured.name}") as progress:
        record_trace(workload, output, 32, progress)
    return captured


def _function(path: Path) -> Callable[[Any], object]:
    """The function ``launch`` of a file, which is run."""
    if not path.is_file():
        raise UserError(f"cannot open {path}: there is no such file")
    try:
        names = runpy.run_path(str(path))
    except Exception as error:  # a user's own code may do anything
        raise UserError(f"{path}: {type(error).__name__}: {error}") from error
    found = names.get(LAUNCH)
    if not callable(found):
        own = [name for name, value in names.items() if callable(value)]
        raise UserError(
            f"{path} defines no function {LAUNCH}(kernel){nearest(LAUNCH, own)}: it gets the "
            "kernel and calls kernel.launch(grid, block, ...)"
        )
    function: Callable[[Any], object] = found
    return function
