"""A study that runs sweeps: its options, and how far it is."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from experiments.counts import positive
from gpusim.cli.sweep_view import sweep_progress
from gpusim.studies.scripts import FOLDER
from gpusim.studies.sweep.results import SweepResults
from gpusim.studies.sweep.run import run_sweep
from gpusim.studies.sweep.spec import Sweep


def study_options(doc: str | None, folder: str) -> ArgumentParser:
    """Options of a study.

    Args:
        doc: of its module; the first line tells what it does.
        folder: of its runs, in that of all studies.
    """
    parser = ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--doc", type=Path, help="page whose tables are replaced")
    parser.add_argument(
        "--output",
        type=Path,
        default=FOLDER / folder,
        help="folder of runs, which is continued (default: %(default)s)",
    )
    parser.add_argument("--jobs", type=positive, help="processes; default: one a core")
    return parser


def run_shown(sweep: Sweep, folder: Path, jobs: int | None) -> SweepResults:
    """Run what is missing in a folder, and tell how far it is."""
    with sweep_progress(sweep.title or sweep.name) as progress:
        return run_sweep(sweep, folder, jobs=jobs, progress=progress)
