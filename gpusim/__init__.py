"""gpusim: what does address translation cost this GPU on this program?

A discrete-event, cycle-level simulator of a GPU's memory system.  The whole road in four calls::

    model = gpusim.load_model("kepler-uvm", variants=["l1-tlb-256"])
    workload = gpusim.load_workload("bfs", scale="smoke")
    result = gpusim.simulate(model, workload)
    print(result.summary)
"""

from gpusim.characterize import Characterization, characterize, read_characterization
from gpusim.config.load import LoadedModel, load_model
from gpusim.errors import UserError
from gpusim.monitor import Progress
from gpusim.programs.workload import Workload, load_workload
from gpusim.results.result import Result, open_result
from gpusim.simulate import simulate
from gpusim.version import __version__

__all__ = [
    "Characterization",
    "LoadedModel",
    "Progress",
    "Result",
    "UserError",
    "Workload",
    "__version__",
    "characterize",
    "load_model",
    "load_workload",
    "open_result",
    "read_characterization",
    "simulate",
]
