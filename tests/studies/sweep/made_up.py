"""Results of sweeps that have not run: tables with numbers that a test makes up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from gpusim.studies.sweep.folder import FailedRun, RunFolder, table_of
from gpusim.studies.sweep.plan import make_plan
from gpusim.studies.sweep.point import Point
from gpusim.studies.sweep.results import SweepResults, open_sweep
from gpusim.studies.sweep.spec import Sweep
from gpusim.studies.sweep.worker import Facts, Failure

UNITS = {"cycles": "cycles", "ipc": "1/cycle", "tlb_L1_hit_rate": "fraction"}

Numbers = Mapping[str, float]


def make_up(
    folder: Path, sweep: Sweep, numbers: Callable[[Point], Numbers | str | None]
) -> SweepResults:
    """Results of a sweep.

    Args:
        folder: of runs.
        sweep: what was run.
        numbers: headline numbers of a combination; or the cause of its failure; or None.
    """
    runs = RunFolder(folder, create=True)
    rows = []
    for point, key in make_plan(sweep).points:
        found = numbers(point)
        if isinstance(found, str):
            failed = FailedRun(key, point.label, Failure(found, "why\nwhere"), 1)
            runs.record_failure(failed)
            rows.append((point.values, key, failed))
        elif found is None:
            rows.append((point.values, key, None))
        else:
            units = {name: UNITS.get(name.rpartition("/")[2], "1") for name in found}
            rows.append((point.values, key, Facts(key[::-1], 1.5, 1000, 10**18 + 1, found, units)))
    runs.keep_sweep(sweep)
    runs.keep_table(sweep.name, table_of(rows))
    return open_sweep(folder, sweep.name)
