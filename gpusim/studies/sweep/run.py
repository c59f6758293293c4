"""`run_sweep`: a plan, an executor and a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from gpusim.studies.sweep.execution import Execution
from gpusim.studies.sweep.executors import DaskExecutor, Executor, LocalExecutor
from gpusim.studies.sweep.folder import RunFolder
from gpusim.studies.sweep.journal import Journal
from gpusim.studies.sweep.options import SweepOptions
from gpusim.studies.sweep.plan import Plan, make_plan, plan_together
from gpusim.studies.sweep.progress import Report
from gpusim.studies.sweep.results import SweepResults
from gpusim.studies.sweep.run_claims import Claims
from gpusim.studies.sweep.spec import Sweep


def run_sweep(
    sweep: Sweep,
    folder: str | os.PathLike[str],
    **options: Any,
) -> SweepResults:
    """Run what is missing of a sweep.

    Args:
        sweep: what to run.
        folder: of runs, which other sweeps may share, also at the same time; made if it is new.
        options: the fields of `SweepOptions`: ``jobs``, ``dask``, ``retry_failed``, ``limits``,
            ``progress``, ``brake``.

    Returns:
        the sweep's results; runs that failed are in its table, too.

    Raises:
        UserError: the sweep or the folder is wrong, the folder cannot be written, or there is no
            Dask scheduler (any more); what was finished by then stays.
    """
    chosen = SweepOptions(**options)
    plan = make_plan(sweep)
    runs = RunFolder(folder, create=True)
    _run(plan, runs, chosen, sweep)
    return SweepResults(runs, sweep.name, plan.refused)


def run_together(
    name: str,
    sweeps: Sequence[Sweep],
    folder: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Report | None = None,
) -> None:
    """Run what is missing of several sweeps at once, the longest first, whosever they are.

    Each of them then finds its runs in the folder.

    Args:
        name: of the table of all runs.
        sweeps: at least one.
        folder: of runs.
        jobs: processes of this machine; default: one a core.
        dask: address of a Dask scheduler whose workers are to run them instead.
        progress: called a few times a second.

    Raises:
        UserError: as `run_sweep`.
    """
    plan = plan_together(name, sweeps)
    options = SweepOptions(jobs=jobs, dask=dask, progress=progress)
    _run(plan, RunFolder(folder, create=True), options)


def _run(plan: Plan, runs: RunFolder, options: SweepOptions, kept: Sweep | None = None) -> None:
    try:
        with (
            Claims(runs.claims) as claims,
            Journal(runs.journal_path(plan.sweep.name), claims.id) as tell,
            closing(_executor(options)) as executor,
        ):
            if kept is not None:  # where others know that this sweep lives, and leave its files
                runs.keep_sweep(kept)
            claims.remove_stale()
            runs.remove_remains()
            runs.remove_partial_tables(claims.id)
            execution = Execution(plan, runs, executor, claims, tell, options)
            execution.begin(options.retry_failed)
            execution.run()
    finally:
        runs.remove_remains()  # of workers that were killed


def _executor(options: SweepOptions) -> Executor:
    if options.dask:
        return DaskExecutor(options.dask)
    return LocalExecutor(options.jobs or cores())


def cores() -> int:
    """Number of cores that this process may use."""
    import loky

    return int(loky.cpu_count())
