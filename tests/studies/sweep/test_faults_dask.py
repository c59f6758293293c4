"""Sweeps on a Dask scheduler and two workers, all of them processes, which are killed."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from attrs import frozen

import gpusim
from gpusim.core.errors import UserError
from gpusim.studies.sweep.executors import DaskExecutor, WorkerLostError
from gpusim.studies.sweep.run import run_sweep
from gpusim.studies.sweep.worker import Facts, Failure, Limits, Outcome
from tests.studies.sweep.faulty import GATE, Gate
from tests.studies.sweep.sweeping import (
    HOLDS_ITS_RESULT,
    SCRIPT,
    SEEDS,
    all_done,
    assert_done_once,
    assert_same_runs,
    environment,
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
    wait_until_tidy,
    write_spec,
)

pytest.importorskip("distributed")


@frozen
class Cluster:
    """A scheduler and its workers, each under a nanny that starts it again when it has died."""

    address: str
    scheduler: subprocess.Popen[bytes]
    nannies: tuple[subprocess.Popen[bytes], ...]

    def workers(self) -> list[psutil.Process]:
        """The processes in which runs are."""
        families = [psutil.Process(nanny.pid).children() for nanny in self.nannies]
        return [
            child for family in families for child in family if "spawn_main" in str(child.cmdline())
        ]


@contextmanager
def cluster(folder: Path, gate: Gate, *options: str, workers: int = 2) -> Iterator[Cluster]:
    about = folder / "scheduler.json"
    nannies: list[subprocess.Popen[bytes]] = []

    def start(program: str, *more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--no-dashboard", *more]
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment(gate),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    scheduler = start(
        "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(about)
    )
    try:
        place = ("--scheduler-file", str(about), "--local-directory", str(folder))
        for _ in range(workers):
            nannies += [start("dask_worker", *place, "--host", "127.0.0.1", *options)]
        wait_for(lambda: about.exists() and about.read_text())
        address = json.loads(about.read_text())["address"]
        yield Cluster(address, scheduler, tuple(nannies))
    finally:
        for process in (*nannies, scheduler):
            children = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            for child in children:
                if child.is_running():
                    child.kill()
            process.wait()


@pytest.fixture(scope="module")
def module_gate(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    return Gate(tmp_path_factory.mktemp("cluster") / "gate")


@pytest.fixture(scope="module")
def two(module_gate: Gate) -> Iterator[Cluster]:
    """Two workers with one thread each."""
    with (
        tempfile.TemporaryDirectory() as folder,
        cluster(Path(folder), module_gate, "--nthreads", "1") as found,
    ):
        yield found


@pytest.fixture
def gate(module_gate: Gate, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """The gate of the workers, closed."""
    for path in module_gate.folder.iterdir():
        path.unlink()
    monkeypatch.setenv(GATE, str(module_gate.folder))
    return module_gate


@pytest.mark.long
def test_a_killed_worker_costs_nothing_but_time(
    tmp_path: Path, folder: Path, gate: Gate, two: Cluster, serial: Path
) -> None:
    spec = write_spec(tmp_path, small_sweep())
    with started(spec, "-o", str(folder), "--dask", two.address, gate=gate) as sweep:
        gate.let(1)
        wait_for(lambda: keys(journal(folder), "done"), sweep)
        wait_for(lambda: running(folder) == 2, sweep)
        two.workers()[0].kill()
        gate.open()
        _, errors = finish(sweep)
    assert errors == ""
    assert_done_once(all_done(folder, len(SEEDS)), journal(folder))
    assert_same_runs(folder, serial)


@pytest.mark.long
def test_a_worker_killed_while_it_writes_a_result(
    tmp_path: Path, folder: Path, gate: Gate, two: Cluster
) -> None:
    sweep = one_run(HOLDS_ITS_RESULT)
    spec = write_spec(tmp_path, sweep)
    with started(spec, "-o", str(folder), "--dask", two.address, gate=gate) as process:
        wait_for(gate.arrived, process)
        (worker,) = gate.arrived()
        assert len(unfinished(folder)) == 1
        psutil.Process(worker).kill()
        gate.open()
        finish(process)
    wait_until_tidy(folder)
    assert_done_once(all_done(folder, 1), journal(folder))
    run_sweep(sweep, tmp_path / "undisturbed", jobs=1)
    assert_same_runs(folder, tmp_path / "undisturbed")


@pytest.mark.long
def test_failures_are_those_of_the_run(folder: Path, gate: Gate, two: Cluster) -> None:
    faults = {"Dies": "WorkerLost", "Loops": "Hang", "Raises": "KeyError", "Leaves": "SystemExit"}
    arrays = [f"tests.studies.sweep.faulty:{name}" for name in faults]
    results = run_sweep(
        small_sweep("set-associative", *arrays, seeds=[0]),
        folder,
        dask=two.address,
        limits=Limits(hang_seconds=25),
    )
    assert list(results.table["cause"][1:]) == list(faults.values())
    assert results.table["state"][0] == "done", [failed.failure for failed in results.failures]
    found = {failed.failure.cause: failed.failure for failed in results.failures}
    assert "run_in_circles" in found["Hang"].traceback
    assert "lost my way" in found["KeyError"].message
    wait_until_tidy(folder)


def test_what_is_left_of_a_run_that_stood_on_workers_as_they_died(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    task: Any = SimpleNamespace(trace=tmp_path / "trace", output=tmp_path / "result.h5")

    def told() -> Future[Outcome]:
        executor = object.__new__(DaskExecutor)
        executor._futures = set()
        running: Future[Outcome] = Future()
        running.set_exception(distributed.KilledWorker("run", SimpleNamespace(address="one"), 3))
        done: Future[Outcome] = Future()
        executor._hand_on(running, done, task)
        return done

    assert isinstance(told().exception(), WorkerLostError)  # it never began
    task.trace.touch()
    failure = told().result()
    assert isinstance(failure, Failure)
    assert failure.cause == "WorkerLost"
    result = gpusim.simulate(
        gpusim.load_model("tiny"), gpusim.load_workload("triad", "smoke"), output=task.output
    )
    facts = told().result()  # it ended, and the worker that kept the answer died
    assert isinstance(facts, Facts)
    assert facts.digest == result.digest
    task.trace.write_text("Timeout!\nthere")
    hung = told().result()
    assert isinstance(hung, Failure)
    assert hung.cause == "Hang"


@pytest.mark.long
def test_an_interrupted_sweep_ends_its_runs_on_the_cluster(
    tmp_path: Path, folder: Path, gate: Gate, two: Cluster
) -> None:
    """A thread of a worker cannot be killed: its run ends itself."""
    sweep = small_sweep("tests.studies.sweep.faulty:GoesOn", seeds=[0, 1])
    spec = write_spec(tmp_path, sweep)
    with started(spec, "-o", str(folder), "--dask", two.address, gate=gate) as process:
        wait_for(lambda: running(folder) == 2, process)
        interrupt(process)
        _, errors = finish(process, 130)
    assert errors == "gpusim: interrupted; 0 of 2 runs are finished; the same command goes on\n"
    wait_until_tidy(folder)
    results = run_sweep(small_sweep("set-associative"), folder, dask=two.address)
    assert set(results.table["state"]) == {"done"}
    wait_until_tidy(folder)


@pytest.mark.long
def test_a_policy_of_a_script(tmp_path: Path, folder: Path, gate: Gate, two: Cluster) -> None:
    script = tmp_path / "study.py"
    script.write_text(SCRIPT)
    with started(str(script), str(folder), two.address, gate=gate, program=()) as study:
        output, errors = finish(study)
    assert errors == ""
    usual, half = map(float, output.split())
    assert usual < half
    all_done(folder, 2)


@pytest.mark.long
def test_a_scheduler_that_is_gone_and_a_worker_with_threads(
    tmp_path: Path, folder: Path, gate: Gate, serial: Path
) -> None:
    spec = write_spec(tmp_path, small_sweep())
    with (
        tempfile.TemporaryDirectory() as place,
        cluster(Path(place), gate, "--nthreads", "2", workers=1) as one,
        started(spec, "-o", str(folder), "--dask", one.address, gate=gate) as sweep,
    ):
        gate.let(2)
        wait_for(lambda: keys(journal(folder), "done").total() == 2, sweep)
        one.scheduler.kill()
        _, errors = finish(sweep, 2)
    gone = f"the Dask scheduler {one.address} is gone; the same command goes on from here"
    assert errors == f"gpusim: {gone}\n"
    before = journal(folder)
    assert before[-1]["event"] == "stopped"
    gate.open()
    run_sweep(small_sweep(), folder, jobs=1)
    assert_done_once(all_done(folder, len(SEEDS)), journal(folder))
    since = journal(folder)[len(before) :]
    assert not set(keys(before, "done")) & set(keys(since, "started"))
    assert_same_runs(folder, serial)


@pytest.mark.long
def test_dask_itself_says_nothing_of_a_lost_connection(two: Cluster) -> None:
    loggers = [logging.getLogger(f"distributed.{part}") for part in ("client", "batched")]
    before = [logger.level for logger in loggers]
    executor = DaskExecutor(two.address)
    assert not any(logger.isEnabledFor(logging.ERROR) for logger in loggers)
    executor.close()
    assert [logger.level for logger in loggers] == before


@pytest.mark.long
def test_no_scheduler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusim.studies.sweep.executors._CONNECT_SECONDS", 1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but no process listens
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(UserError, match=f"dask {address}: no scheduler answers"):
            run_sweep(small_sweep(), folder, dask=address)
    for wrong in ("nonsense://here:1", "no such place", "tcp://127.0.0.1:notaport"):
        with pytest.raises(UserError, match="dask"):
            run_sweep(small_sweep(), folder, dask=wrong)
    wait_until_tidy(folder)
