"""Runs that fail, each in its own way, and what cannot be written: in a sweep on two processes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pandas as pd
import pytest

from gpusim.core.errors import UserError
from gpusim.studies.sweep.execution import ATTEMPTS
from gpusim.studies.sweep.progress import SweepProgress
from gpusim.studies.sweep.results import SweepResults
from gpusim.studies.sweep.run import run_sweep
from gpusim.studies.sweep.spec import Sweep
from gpusim.studies.sweep.worker import Limits
from tests.studies.sweep.faulty import Gate
from tests.studies.sweep.sweeping import (
    SCRIPT,
    all_done,
    assert_tidy,
    finish,
    journal,
    keys,
    running,
    small_sweep,
    started,
    workers_of,
    write_spec,
)

USUAL, NORMAL = "set-associative", "100000 cycles"
CASES = {
    "tests.studies.sweep.faulty:Dies": "WorkerLost",
    "tests.studies.sweep.faulty:Raises": "KeyError",
    "tests.studies.sweep.faulty:Loops": "Hang",
    "tests.studies.sweep.faulty:TakesItsTime": "TimeLimit",
    "tests.studies.sweep.faulty:NeedsTooMuch": "MemoryError",
    "tests.studies.sweep.faulty:Leaves": "SystemExit",
}


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> SweepResults:
    """A sweep in which most runs fail."""
    rows = [[name, NORMAL] for name in (*CASES, USUAL)] + [[USUAL, "1 cycles"]]
    sweep = Sweep(
        name="study",
        models="tiny",
        workloads="nw",
        scale="smoke",
        set={"tlb.L2.array, watchdog": rows},
    )
    folder = tmp_path_factory.mktemp("troubled") / "runs"
    return run_sweep(sweep, folder, jobs=2, limits=Limits(wall_seconds=12, hang_seconds=8))


def row(results: SweepResults, array: str, watchdog: str = NORMAL) -> pd.Series:
    table = results.table
    return table[(table["tlb.L2.array"] == array) & (table["watchdog"] == watchdog)].iloc[0]


@pytest.mark.long
def test_failures_do_not_stop_the_others(troubled: SweepResults) -> None:
    assert {array: row(troubled, array)["cause"] for array in CASES} == CASES
    assert row(troubled, USUAL, "1 cycles")["cause"] == "DeadlockError"
    assert row(troubled, USUAL)["state"] == "done"
    assert len(troubled.failures) == 7
    assert_tidy(troubled.folder)


@pytest.mark.long
def test_failures_tell_why_and_where(troubled: SweepResults) -> None:
    found = {failed.failure.cause: failed for failed in troubled.failures}
    lost = found["WorkerLost"]
    assert lost.attempts == ATTEMPTS == 3
    assert "SIGKILL" in lost.failure.message
    raised = found["KeyError"].failure
    assert "lost my way" in raised.message
    assert "faulty.py" in raised.message
    assert 'raise KeyError("lost my way")' in raised.traceback
    assert "run_in_circles" in found["Hang"].failure.traceback
    assert "12 s" in found["TimeLimit"].failure.message
    assert "I have had enough" in found["SystemExit"].failure.message
    assert "What waits for what" in found["DeadlockError"].failure.message
    assert all(one.attempts == 1 for cause, one in found.items() if cause != "WorkerLost")
    started = keys(journal(troubled.folder), "started")
    assert sorted(started.values()) == [1] * 7 + [ATTEMPTS]


@pytest.mark.usefixtures("forked_workers")
def test_what_failed_is_run_again_only_if_asked(gate: Gate, folder: Path) -> None:
    sweep = small_sweep(USUAL, "tests.studies.sweep.faulty:Closed", seeds=[0])
    results = run_sweep(sweep, folder, jobs=1)
    assert list(results.table["state"]) == ["done", "failed"]
    gate.open()
    assert list(run_sweep(sweep, folder, jobs=1).table["state"]) == ["done", "failed"]
    assert keys(journal(folder), "started").total() == 2
    results = run_sweep(sweep, folder, jobs=1, retry_failed=True)
    assert results.failures == []
    assert keys(journal(folder), "started").total() == 3
    all_done(folder, 2)


@pytest.mark.long
def test_an_idle_worker_that_is_killed_is_replaced(gate: Gate, folder: Path) -> None:
    gate.let(2)

    def look(progress: SweepProgress) -> None:
        if progress.done == 2 and not gate.is_open():
            for worker in workers_of(os.getpid()):
                worker.kill()
            gate.open()

    run_sweep(small_sweep(seeds=range(3)), folder, jobs=2, progress=look)
    all_done(folder, 3)


@pytest.mark.long
def test_limits_of_the_command_line(tmp_path: Path, folder: Path, gate: Gate) -> None:
    sweep = small_sweep(USUAL, "tests.studies.sweep.faulty:Loops", seeds=[0])
    spec = write_spec(tmp_path, sweep)
    with started(spec, "-o", str(folder), "--hang-limit", "0.05", gate=gate) as process:
        output, _ = finish(process, 1)
    assert "Hang" in output
    with started(spec, "-o", str(folder), "--time-limit", "0", gate=gate) as process:
        _, errors = finish(process, 2)
    assert errors == "gpusim: a time limit of 0 s: must be above 0\n"


FULL_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))
from gpusim.cli.main import main
main()
"""


@pytest.mark.long
def test_a_full_disk_ends_the_sweep(tmp_path: Path, folder: Path, gate: Gate) -> None:
    gate.open()
    spec = write_spec(tmp_path, small_sweep())
    program = ("-c", FULL_DISK, "sweep", "--allow-code")
    with started(spec, "-o", str(folder), "-j", "2", gate=gate, program=program) as sweep:
        _, errors = finish(sweep, 2)
    assert errors.startswith(f"gpusim: cannot write {folder}/runs/")
    assert "File too large" in errors
    assert errors.count("\n") == 1
    assert list((folder / "failures").iterdir()) == []
    assert_tidy(folder)


@pytest.mark.long
@pytest.mark.parametrize("what", ["runs", "claims", "."])
def test_a_folder_that_is_gone_ends_the_sweep(what: str, folder: Path, gate: Gate) -> None:
    def look(_: SweepProgress) -> None:
        if running(folder) == 2 and not gate.is_open():
            shutil.rmtree(folder / what)
            gate.open()

    with pytest.raises(UserError, match=f"cannot write {folder}"):
        run_sweep(small_sweep(), folder, jobs=2, progress=look)


@pytest.mark.long
def test_a_policy_of_a_script(tmp_path: Path, folder: Path, gate: Gate) -> None:
    script = tmp_path / "study.py"
    script.write_text(SCRIPT)
    with started(str(script), str(folder), gate=gate, program=()) as study:
        output, errors = finish(study)
    assert errors == ""
    usual, half = map(float, output.split())
    assert usual < half
    all_done(folder, 2)
