"""A sweep of a study: what is missing of it is run, and how far it is is shown."""

from __future__ import annotations

from pathlib import Path

from gpusim.cli.sweep_view import sweep_progress
from gpusim.studies.sweep.results import SweepResults
from gpusim.studies.sweep.run import run_sweep
from gpusim.studies.sweep.spec import Sweep


def run_shown(sweep: Sweep, folder: Path, jobs: int | None) -> SweepResults:
    """Run what is missing in a folder, and tell how far it is."""
    with sweep_progress(sweep.title or sweep.name) as progress:
        return run_sweep(sweep, folder, jobs=jobs, progress=progress)
