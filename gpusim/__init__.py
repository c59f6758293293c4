"""gpusim: what does address translation cost this GPU on this program?

A discrete-event, cycle-level simulator of a GPU's memory system.  The whole road in four calls::

    model = gpusim.load_model("kepler-uvm", variants=["l1-tlb-256"])
    workload = gpusim.load_workload("bfs", scale="smoke")
    result = gpusim.simulate(model, workload)
    print(result.summary)

and many runs at once::

    sweep = gpusim.Sweep(models="kepler-uvm", workloads=["atax", "bfs"], set={...})
    results = gpusim.run_sweep(sweep, "runs")
    print(results.table)
"""

from gpusim.core import import_path  # isort: split

if import_path.is_started_as_module():
    import_path.leave_out_current_folder()

from gpusim import views  # noqa: F401  (they register with results)
from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError
from gpusim.core.version import __version__
from gpusim.machine.load import load_model
from gpusim.programs.catalog import program
from gpusim.programs.kernel_function import kernel
from gpusim.results.folder import Results, open_results
from gpusim.results.result import Result, open_result
from gpusim.runs.amounts import Blocks, Cycles, Instructions, IpcStable, Launches, Windows
from gpusim.runs.checkpoint.make import checkpoint
from gpusim.runs.monitor import Progress
from gpusim.runs.options import RunOptions
from gpusim.runs.simulate import simulate
from gpusim.studies.characterize import Characterization, characterize, read_characterization
from gpusim.studies.sweep.results import SweepResults, open_sweep
from gpusim.studies.sweep.run import run_sweep
from gpusim.studies.sweep.spec import Sweep, read_sweep
from gpusim.workloads.addresses import workload_of
from gpusim.workloads.workload import Workload, load_workload

__all__ = [
    "Blocks",
    "Cycles",
    "Instructions",
    "IpcStable",
    "Launches",
    "RunOptions",
    "Windows",
    "Characterization",
    "LoadedModel",
    "Progress",
    "Result",
    "Results",
    "Sweep",
    "SweepResults",
    "UserError",
    "Workload",
    "__version__",
    "characterize",
    "checkpoint",
    "kernel",
    "load_model",
    "load_workload",
    "open_result",
    "open_results",
    "open_sweep",
    "program",
    "read_characterization",
    "read_sweep",
    "run_sweep",
    "simulate",
    "workload_of",
]
