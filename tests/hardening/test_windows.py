"""gpusim where there is only what Windows has (tests/hardening/windows/sitecustomize.py)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpusim

ROOT = Path(__file__).parents[2]
SWEEP = """
models = ["tiny"]
workloads = ["atax"]
scale = "smoke"
[set]
"workload.n" = [32]
"tlb.L1.entries" = [8, 16, 32]
"""

SESSION = """
import json, sys
from gpusim.cli.main import main
for sys.argv[1:] in json.loads(sys.argv[1]):
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
"""
"""Commands one after another, none of which fails."""

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks into /proc")


def on_windows(folder: Path, *arguments: str, code: int = 0) -> str:
    """A command of gpusim; returns what it printed."""
    return started(folder, "-m", "gpusim", *arguments, code=code)


def session_on_windows(folder: Path, *commands: list[str]) -> str:
    """Commands of gpusim in one process; returns what they printed."""
    return started(folder, "-P", "-c", SESSION, json.dumps(commands))


def started(folder: Path, *arguments: str, code: int = 0) -> str:
    """Python where there is only what Windows has; returns what it printed."""
    places = (Path(__file__).parent / "windows", ROOT)
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    failures = [path.read_text() for path in folder.glob("runs/failures/*.json")]
    assert done.returncode == code, done.stdout + done.stderr + "".join(failures)
    return done.stdout + done.stderr


def test_what_is_missing_is_missing(tmp_path: Path):
    """The stand-in works: gpusim sees no limits of memory, which Linux has."""
    program = "import gpusim.core.process_memory as found, signal; print(found._limits())"
    done = subprocess.run(
        [sys.executable, "-c", program + "; signal.pthread_sigmask"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{Path(__file__).parent / 'windows'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "None\n"


@pytest.mark.long
def test_a_sweep_with_two_jobs(tmp_path: Path):
    (tmp_path / "s.toml").write_text(SWEEP)
    on_windows(tmp_path, "sweep", "s.toml", "-o", "runs", "-j", "2")
    table = gpusim.open_sweep(tmp_path / "runs").table
    assert table["state"].tolist() == ["done"] * 3
    left = [path.name for path in (tmp_path / "runs").rglob("*") if path.suffix != ".h5"]
    assert not [name for name in left if name.endswith((".claim", ".trace", ".partial", ".stale"))]
    on_windows(tmp_path, "sweep", "s.toml", "-o", "runs", "-j", "2")  # writes over its table


@pytest.mark.long
def test_a_run_a_checkpoint_and_a_trace(tmp_path: Path):
    small = ["--scale", "smoke", "--set", "workload.n=32"]
    run = ["run", "tiny", "atax", *small, "-o", "run.h5", "--record", "walks"]
    printed = session_on_windows(
        tmp_path,
        run,
        run,  # over the file of the first one
        ["report", "run.h5", "-o", "report.html"],
        ["trace", "record", "atax", *small, "-o", "trace.h5"],
        ["run", "tiny", "trace.h5"],
    )
    assert printed.count(" cycles") >= 3
    assert gpusim.open_result(tmp_path / "run.h5").summary["cycles"] > 0


@pytest.mark.long
def test_a_study_that_needs_more_says_so(tmp_path: Path):
    told = on_windows(tmp_path, "study", "fuzz", "--minutes", "0.01", code=2)
    assert "needs Python's module 'resource', which this system has not got" in told
