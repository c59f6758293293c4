"""Processes that get no more memory: one line that says what to do, nothing half-written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gpusim.runs.run
from gpusim.core.process_memory import MORE_MEMORY, lacks_memory
from tests import ROOT
from tests.whole.running import command

LARGE = ("run", "tiny", "atax", "--scale", "smoke", "--set", "workload.n=16000", "--quiet")
RUN = ("run", "tiny", "atax", "--scale", "smoke", "--set", "workload.n=32", "--quiet")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 3.00 GiB for an array"),
        OSError(12, "Cannot allocate memory"),
        ImportError("libopenblas.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
    ],
)
def test_memory_that_ends_in_mid_run_leaves_no_file(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_out(_machine: object) -> None:
        raise error

    monkeypatch.setattr(gpusim.runs.run, "run_machine", run_out)
    outcome = command(*RUN, "-o", str(tmp_path / "run.h5"), code=2)
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("gpusim: there is not enough memory for this (")
    assert line.endswith(MORE_MEMORY)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "error", [ValueError("new"), ImportError("no module named x"), OSError(13, "Permission denied")]
)
def test_other_errors_are_none_of_memory(error: Exception) -> None:
    assert not lacks_memory(error)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are Linux's")
def test_a_limit_of_the_address_space_is_one_line(tmp_path: Path) -> None:
    limited = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_AS, (700 << 20,) * 2); "
        "sys.argv[0] = 'gpusim'; runpy.run_module('gpusim', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, *LARGE, "-o", str(tmp_path / "run.h5")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"OPENBLAS_NUM_THREADS": "1", "PATH": ""},
    )
    assert done.returncode == 2, done.stderr
    assert "memory" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())
