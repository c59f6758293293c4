"""Traces of kernels of your own: `gpusim trace cuda`, `ptx`, `triton` and `numba`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.core.errors import UserError, nearest
from gpusim.core.user_code import run_file
from gpusim.files.apart import keep_apart

if TYPE_CHECKING:
    from gpusim.cli.recording import Recording
    from gpusim.ptx.capture import Capture
    from gpusim.ptx.kernel_file import LoadedKernel

LAUNCH = "launch"
"""The function of a launch file."""


def record_kernel(
    file: str, launch: Path, made: Recording, registers: int | None, options: Sequence[str]
) -> Capture:
    """Make the launches of kernels that a file of Python says, and store what they access.

    Args:
        file: of the kernels, perhaps with a kernel's name behind a colon.
        launch: defines the function ``launch(kernel)``, which calls ``kernel.launch(...)``; of a
            file with several kernels, its parameters have their names.
        made: the recording.
        registers: of a thread; None: estimated.
        options: of NVRTC.

    Raises:
        UserError: a file cannot be read, or the launches are wrong.
    """
    from gpusim.ptx.capture import capture
    from gpusim.ptx.kernel_file import path_and_kernel

    keep_apart({"output": made.output}, [path_and_kernel(file)[0], launch])
    function = _function(launch, LAUNCH)
    kernels = _kernels(file, launch, _wanted(launch, function), registers, options)
    with capture(kernels[0].plain_name) as captured:
        _call(launch, function, *kernels)
    _store(captured, made)
    return captured


def _wanted(launch: Path, function: Callable[..., object]) -> list[str]:
    """The parameters of a launch file's function that have to be given."""
    try:
        parameters = list(signature(function).parameters.values())
    except (TypeError, ValueError):  # as of some classes of Python's own
        parameters = []
    wanted = [one.name for one in parameters if one.default is Parameter.empty]
    if not wanted:
        raise UserError(f"{launch}: {LAUNCH}() must take the kernel: def {LAUNCH}(kernel)")
    return wanted


def _kernels(
    file: str, launch: Path, wanted: list[str], registers: int | None, options: Sequence[str]
) -> list[LoadedKernel]:
    """What a launch file's function takes: the kernel, or the kernels that its parameters name."""
    from gpusim.ptx.kernel_file import KernelFile, path_and_kernel
    from gpusim.ptx.names import plain_name

    path, named = path_and_kernel(file)
    kernels = KernelFile(path, [named], options=options)
    if not kernels.names or (len(wanted) == 1 and (named or len(kernels.names) == 1)):
        return [kernels.kernel(named, registers)]
    own = [plain_name(one) for one in kernels.names]
    if named or not {*wanted} <= {*own}:
        raise UserError(
            f"{launch}: {LAUNCH}({', '.join(wanted)}): its parameters must be names of kernels of "
            f"{path} ({', '.join(own)}), or one parameter for {named or 'the one'} that is named "
            f"behind a colon, as in {path}:{named or own[0]}"
        )
    return [kernels.kernel(one, registers) for one in wanted]


def record_python(
    capture: Callable[[str, int, bool], AbstractContextManager[Capture]],
    file: str,
    made: Recording,
    capability: int,
    execute: bool,
) -> Capture:
    """Call a function that launches kernels, in a capture, and store what they access.

    Args:
        capture: `gpusim.ptx.triton_kernel.capture_triton`, or Numba's.
        file: of Python, perhaps with the function's name behind a colon.
        made: the recording.
        capability: compute capability that kernels are compiled for.
        execute: whether results are computed.

    Raises:
        UserError: what the capture needs is not installed, the file cannot be run, or the launches
            are wrong.
    """
    name, _, called = file.partition(".py:")
    path = Path(f"{name}.py" if called else file)
    keep_apart({"output": made.output}, [path])
    with capture(path.stem, capability, execute) as captured:
        function = _function(path, called or LAUNCH)
        if hasattr(function, "__getitem__"):
            raise UserError(
                f"{path}: {called or LAUNCH} is a kernel, which is launched on a grid: name the "
                f"function that launches it, {path}:FUNCTION; see docs/kernels.md"
            )
        _call(path, function)
    _store(captured, made)
    return captured


def _call(path: Path, function: Callable[..., object], *args: object) -> None:
    """Call a function of a user's file; what goes wrong in it names the file."""
    try:
        function(*args)
    except UserError:
        raise
    except Exception as error:  # a user's own code may do anything
        raise UserError(f"{path}: {type(error).__name__}: {error}") from error


def _store(captured: Capture, made: Recording) -> None:
    from gpusim.cli.progress import block_progress
    from gpusim.traces.recorder import record_trace
    from gpusim.workloads.captured import captured_workload

    workload = captured_workload(captured)
    with block_progress(f"recording {captured.name}") as progress:
        record_trace(workload, made.output, 32, progress, made.machine)


def _function(path: Path, name: str) -> Callable[..., object]:
    """A function of a file, which is run."""
    names = run_file(path)
    found = names.get(name)
    if not callable(found):
        own = [name for name, value in names.items() if callable(value)]
        raise UserError(
            f"{path} defines no function {name}{nearest(name, own)}; see docs/kernels.md"
        )
    function: Callable[..., object] = found
    return function
