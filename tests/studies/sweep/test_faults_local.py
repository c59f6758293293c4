"""Sweeps on processes of this machine: workers and sweeps are killed and interrupted."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pandas as pd
import psutil
import pytest

from gpusim.studies.sweep.run import run_sweep
from tests.studies.sweep.faulty import Gate
from tests.studies.sweep.sweeping import (
    HOLDS_ITS_RESULT,
    PATIENCE_SECONDS,
    SEEDS,
    all_done,
    assert_done_once,
    assert_same_runs,
    assert_tidy,
    finish,
    interrupt,
    journal,
    keys,
    one_run,
    running,
    small_sweep,
    started,
    unfinished,
    wait_for,
    workers_of,
    write_spec,
)


@pytest.mark.long
def test_killed_workers_cost_nothing_but_time(
    tmp_path: Path, folder: Path, gate: Gate, serial: Path
) -> None:
    """Both at once: one more run is handed out before the loss of the second is noticed."""
    spec = write_spec(tmp_path, small_sweep())
    with started(spec, "-o", str(folder), "-j", "2", gate=gate) as sweep:
        gate.let(1)
        wait_for(lambda: keys(journal(folder), "done"), sweep)
        wait_for(lambda: running(folder) == 2, sweep)
        for worker in workers_of(sweep.pid):
            worker.kill()
        gate.open()
        _, errors = finish(sweep)
    assert errors == ""
    assert_done_once(all_done(folder, len(SEEDS)), journal(folder))
    assert sorted(keys(journal(folder), "worker lost").values()) == [1, 1]
    assert_same_runs(folder, serial)


@pytest.mark.long
def test_a_killed_sweep_goes_on_where_it_was(
    tmp_path: Path, folder: Path, gate: Gate, serial: Path
) -> None:
    spec = write_spec(tmp_path, small_sweep())
    with started(spec, "-o", str(folder), "-j", "2", gate=gate) as sweep:
        gate.let(2)
        wait_for(lambda: keys(journal(folder), "done").total() == 2, sweep)
        wait_for(lambda: running(folder) == 2, sweep)
        before = journal(folder)
        workers = workers_of(sweep.pid)
        assert len(workers) == 2
        os.kill(sweep.pid, signal.SIGKILL)
        gone, alive = psutil.wait_procs(workers, PATIENCE_SECONDS)
        assert (len(gone), alive) == (2, [])
    assert running(folder) == len(list((folder / "claims").glob("*.claim"))) == 2
    gate.open()
    run_sweep(small_sweep(), folder, jobs=1)
    assert_done_once(all_done(folder, len(SEEDS)), journal(folder))
    since = journal(folder)[len(before) :]
    assert not set(keys(before, "done")) & set(keys(since, "started"))
    assert_same_runs(folder, serial)


@pytest.mark.long
@pytest.mark.parametrize("victim", ["worker", "sweep"])
def test_a_death_while_a_result_is_written(
    tmp_path: Path, folder: Path, gate: Gate, victim: str
) -> None:
    sweep = one_run(HOLDS_ITS_RESULT)
    with started(write_spec(tmp_path, sweep), "-o", str(folder), "-j", "1", gate=gate) as process:
        wait_for(gate.arrived, process)
        (worker,) = gate.arrived()
        assert len(unfinished(folder)) == 1
        assert not list((folder / "runs").glob("*.h5"))
        os.kill(process.pid if victim == "sweep" else worker, signal.SIGKILL)
        wait_for(lambda: not psutil.pid_exists(worker))
        gate.open()
        if victim == "worker":
            finish(process)
    run_sweep(sweep, folder, jobs=1)
    assert_done_once(all_done(folder, 1), journal(folder))
    run_sweep(sweep, tmp_path / "undisturbed", jobs=1)
    assert_same_runs(folder, tmp_path / "undisturbed")


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_sweep_is_tidy_and_goes_on(
    tmp_path: Path, folder: Path, gate: Gate, number: signal.Signals
) -> None:
    spec = write_spec(tmp_path, small_sweep())
    with started(spec, "-o", str(folder), "-j", "2", gate=gate) as sweep:
        gate.let(2)
        wait_for(lambda: keys(journal(folder), "done").total() == 2, sweep)
        wait_for(lambda: running(folder) == 2, sweep)
        workers = workers_of(sweep.pid)
        if number == signal.SIGINT:
            interrupt(sweep)
        else:
            sweep.send_signal(number)
        _, errors = finish(sweep, 128 + number)
        assert not any(worker.is_running() for worker in workers)
    assert errors == "gpusim: interrupted; 2 of 6 runs are finished; the same command goes on\n"
    assert_tidy(folder)
    assert journal(folder)[-1]["event"] == "interrupted"
    gate.open()
    run_sweep(small_sweep(), folder, jobs=1)
    assert_done_once(all_done(folder, len(SEEDS)), journal(folder))


@pytest.mark.long
def test_ctrl_c_while_workers_start(tmp_path: Path, folder: Path, gate: Gate) -> None:
    spec = write_spec(tmp_path, small_sweep())
    with started(spec, "-o", str(folder), "-j", "2", gate=gate) as sweep:
        wait_for(lambda: workers_of(sweep.pid), sweep)
        interrupt(sweep)
        _, errors = finish(sweep, 130)
    assert errors == "gpusim: interrupted; 0 of 6 runs are finished; the same command goes on\n"
    assert_tidy(folder)


@pytest.mark.long
def test_two_sweeps_share_a_folder_at_once(
    tmp_path: Path, folder: Path, gate: Gate, serial: Path
) -> None:
    one = write_spec(tmp_path, small_sweep(seeds=range(4), name="one"))
    other = write_spec(tmp_path, small_sweep(seeds=range(2, 6), name="other"))
    with (
        started(one, "-o", str(folder), "-j", "1", gate=gate) as first,
        started(other, "-o", str(folder), "-j", "1", gate=gate) as second,
    ):
        wait_for(lambda: running(folder) == 2 or second.poll() is not None, first)
        gate.open()
        finish(first)
        finish(second)
    tables = pd.concat([all_done(folder, 4, "one"), all_done(folder, 4, "other")])
    assert tables["key"].nunique() == len(SEEDS)
    assert_done_once(tables, journal(folder, "one") + journal(folder, "other"))
    assert_same_runs(folder, serial)
