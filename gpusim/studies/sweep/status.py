"""Progress of sweeps in a folder, and the runs that one would do; nothing is run or changed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

from attrs import frozen

from gpusim.studies.sweep.estimate import Estimates
from gpusim.studies.sweep.folder import RunFolder
from gpusim.studies.sweep.plan import make_plan
from gpusim.studies.sweep.run_claims import held
from gpusim.studies.sweep.spec import Sweep
from gpusim.studies.sweep.worker import Facts


@frozen
class SweepStatus:
    """The status of a sweep in a folder.

    Attributes:
        name: of the sweep.
        runs: that it needs.
        done, failed, running, missing: of these.
        causes: of failures, and how many have them.
        seconds: that the finished ones took, all together.
    """

    name: str
    runs: int
    done: int
    failed: int
    running: int
    missing: int
    causes: dict[str, int]
    seconds: float


@frozen
class LookAhead:
    """What a sweep would do.

    Attributes:
        combinations: of its axes, derived ones included.
        runs: that these need.
        done: of these, results that are there.
        failed: that have failed, and would not be tried again.
        todo: labels of what would be run.
        seconds: that this takes on one core, by earlier runs; None if there is none like it.
    """

    combinations: int
    runs: int
    done: int
    failed: int
    todo: tuple[str, ...]
    seconds: float | None


def sweep_status(folder: str | os.PathLike[str]) -> list[SweepStatus]:
    """How far the sweeps of a folder are.

    Raises:
        UserError: it is no folder of runs.
    """
    runs = RunFolder(folder)
    known, running = runs.known_facts(), held(runs.claims)
    return [_status(runs, name, known, running) for name in runs.sweeps()]


def look_ahead(
    sweep: Sweep, folder: str | os.PathLike[str], retry_failed: bool = False
) -> LookAhead:
    """What `gpusim.studies.sweep.run.run_sweep` would do.

    Raises:
        UserError: the sweep is wrong, or the folder holds something else.
    """
    plan = make_plan(sweep)
    runs = _folder_to_be(Path(folder))
    known = runs.known_points() if runs else {}
    facts = {key: earlier for key, (_, earlier) in known.items()}
    done, failed, todo = 0, 0, []
    for key, run in plan.runs.items():
        found = runs.facts(key, facts) if runs else None
        if found:
            known[key] = run.point, found
            done += 1
        elif runs and not retry_failed and runs.failed(key):
            failed += 1
        else:
            todo.append(run.point)
    estimates = Estimates()
    for point, earlier in known.values():
        estimates.add(point, earlier.seconds)
    return LookAhead(
        combinations=len(plan.points),
        runs=len(plan.runs),
        done=done,
        failed=failed,
        todo=tuple(point.label for point in todo),
        seconds=estimates.total(todo),
    )


def _folder_to_be(path: Path) -> RunFolder | None:
    """None where one would be made."""
    is_free = not path.exists() or (path.is_dir() and not any(path.iterdir()))
    return None if is_free else RunFolder(path)


def _status(
    runs: RunFolder, name: str, known: Mapping[str, Facts], running: Collection[str]
) -> SweepStatus:
    """The table as it was last written, and what has changed since."""
    states: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    seconds = 0.0
    keys = runs.table(name)["key"].unique()
    for key in keys:
        if facts := runs.facts(key, known):
            states["done"] += 1
            seconds += facts.seconds
        elif key in running:
            states["running"] += 1
        elif failed := runs.failed(key):
            states["failed"] += 1
            causes[failed.failure.cause] += 1
    return SweepStatus(
        name=name,
        runs=len(keys),
        done=states["done"],
        failed=states["failed"],
        running=states["running"],
        missing=len(keys) - states.total(),
        causes=dict(causes),
        seconds=seconds,
    )
