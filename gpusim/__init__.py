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

import lazy_loader

from gpusim import views  # noqa: F401  (they register with results)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
