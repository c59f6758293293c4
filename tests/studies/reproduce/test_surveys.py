"""Characterizations are made in processes that do not outlive the command."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

from gpusim.studies.reproduce import surveys
from tests.studies.sweep.faulty import GATE, Gate
from tests.studies.sweep.sweeping import PATIENCE_SECONDS, finish, interrupt, started, wait_for

WORKLOAD = """
[[applications]]
program = "tests.studies.reproduce.gated:Gated"
smoke = {}
"""
NAMES = ("one", "other")

SCRIPT = """
from pathlib import Path
from gpusim.cli import commands, main
from gpusim.core.user_code import Imports, permit
from gpusim.studies.reproduce.figure import Survey
from gpusim.studies.reproduce.surveys import run_survey

def survey(folder: Path, names: list[str]) -> None:
    permit(Imports.ALL)
    run_survey(Survey(model="tiny", workloads=tuple(names)), "smoke", folder, jobs=2)

commands.COMMANDS["survey"] = lambda app: app.command("survey")(survey)
main.main()
"""


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate = Gate(tmp_path / "gate")
    monkeypatch.setenv(GATE, str(gate.folder))
    return gate


@pytest.fixture
def command(tmp_path: Path) -> tuple[str, ...]:
    """The survey of two programs that wait at the gate."""
    for name in NAMES:
        (tmp_path / f"{name}.toml").write_text(f'description = "{name}"\n{WORKLOAD}')
    return (str(tmp_path / "runs"), *(str(tmp_path / f"{name}.toml") for name in NAMES))


@pytest.mark.long
def test_workers_end_with_a_command_that_is_killed(
    tmp_path: Path, gate: Gate, command: tuple[str, ...]
) -> None:
    (tmp_path / "runs").mkdir()
    with started(*command, gate=gate, program=("-c", SCRIPT, "survey")) as process:
        wait_for(lambda: len(gate.arrived()) == 2, process)
        workers = [psutil.Process(number) for number in gate.arrived()]
        os.kill(process.pid, signal.SIGKILL)
        _, alive = psutil.wait_procs(workers, PATIENCE_SECONDS)
        for worker in alive:
            worker.kill()
        assert alive == []
    assert list((tmp_path / "runs" / surveys.FOLDER).iterdir()) == []


@pytest.mark.long
def test_and_with_one_that_is_interrupted(
    tmp_path: Path, gate: Gate, command: tuple[str, ...]
) -> None:
    (tmp_path / "runs").mkdir()
    with started(*command, gate=gate, program=("-c", SCRIPT, "survey")) as process:
        wait_for(lambda: len(gate.arrived()) == 2, process)
        workers = [psutil.Process(number) for number in gate.arrived()]
        interrupt(process)
        _, errors = finish(process, 130)
        assert not any(worker.is_running() for worker in workers)
    assert errors == "gpusim: interrupted; nothing was written\n"
    assert list((tmp_path / "runs" / surveys.FOLDER).iterdir()) == []
