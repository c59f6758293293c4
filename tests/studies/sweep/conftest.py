"""A gate for runs, a folder for them, and what they are compared with."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusim.studies.sweep.run import run_sweep
from tests.studies.sweep.faulty import GATE, Gate
from tests.studies.sweep.sweeping import small_sweep


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """A closed gate, also for processes that are started."""
    gate = Gate(tmp_path / "gate")
    monkeypatch.setenv(GATE, str(gate.folder))
    return gate


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of runs that is not there yet."""
    return tmp_path / "runs"


@pytest.fixture(scope="session")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `small_sweep`, its runs done one after the other."""
    path = tmp_path_factory.mktemp("serial")
    gate = Gate(path / "gate")
    gate.open()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(GATE, str(gate.folder))
        run_sweep(small_sweep(), path / "runs", jobs=1)
    return path / "runs"
