# ruff: noqa: I001 (one import a module)
"""What `import gpusim` offers, and where each name is from.

Type checkers read it, and `gpusim.__init__`, which imports a name when it is first asked for.
"""

from .config.load import LoadedModel as LoadedModel
from .core.errors import UserError as UserError
from .core.version import __version__ as __version__
from .machine.load import load_model as load_model
from .programs.catalog import program as program
from .programs.kernel_function import kernel as kernel
from .programs.parameters import choice as choice, number as number
from .programs.torch.capture import capture_torch as capture_torch
from .ptx.capture import capture as capture
from .ptx.kernel_file import load_kernel as load_kernel
from .ptx.numba_kernel import capture_numba as capture_numba
from .ptx.triton_kernel import capture_triton as capture_triton, triton_kernel as triton_kernel
from .results.folder import Results as Results, open_results as open_results
from .results.result import Result as Result, open_result as open_result
from .runs.amounts import (
    Blocks as Blocks,
    Cycles as Cycles,
    Instructions as Instructions,
    IpcStable as IpcStable,
    Launches as Launches,
    LaunchSample as LaunchSample,
    Windows as Windows,
)
from .runs.checkpoint.make import checkpoint as checkpoint
from .runs.monitor import Progress as Progress
from .runs.options import RunOptions as RunOptions
from .runs.simulate import simulate as simulate
from .studies.characterize import (
    Characterization as Characterization,
    characterize as characterize,
    read_characterization as read_characterization,
)
from .studies.sweep.results import SweepResults as SweepResults, open_sweep as open_sweep
from .studies.sweep.run import run_sweep as run_sweep
from .studies.sweep.spec import Sweep as Sweep, read_sweep as read_sweep
from .workloads.addresses import workload_of as workload_of
from .workloads.workload import Workload as Workload, load_workload as load_workload
