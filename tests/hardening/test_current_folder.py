"""Modules that lie in the current folder run only where the user allows it."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SWEEP = """
models = ["tiny"]
workloads = ["atax"]
scale = "smoke"
[set]
"workload.n" = [32]
"tlb.L1.entries" = [8, 16]
"""
pytestmark = pytest.mark.long

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LIBRARIES = {re.split(r"[<>=]", each)[0].replace("-", "_") for each in PROJECT["dependencies"]}
EARLY = {
    # Python itself imports these to find what -m names, before anything of gpusim runs.
    *("collections", "contextlib", "copyreg", "enum", "functools", "importlib", "keyword"),
    *("operator", "pkgutil", "re", "reprlib", "runpy", "types", "warnings", "weakref"),
}
BAIT = """
import os
with open({marker!r}, "a") as stream:
    print({name!r}, os.getpid(), file=stream)
raise ImportError({name!r} + " of the current folder")
"""
SCRIPT = """
from gpusim.cli.main import main

if __name__ == "__main__":
    main()
"""
FROM_PYTHON = """
import gpusim

if __name__ == "__main__":
    gpusim.run_sweep(gpusim.read_sweep("s.toml"), "runs", jobs=2)
"""
OWN = """
from gpusim.hardware.tlb.set_associative import SetAssociativeArray

class Mine(SetAssociativeArray):
    pass
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a file of the name of each module that Python and gpusim's libraries have."""
    folder = tmp_path / "here"
    folder.mkdir()
    for name in {*LIBRARIES, *sys.stdlib_module_names} - EARLY:
        bait = BAIT.format(marker=str(tmp_path / "ran"), name=name)
        (folder / f"{name}.py").write_text(bait)
    (folder / "s.toml").write_text(SWEEP)
    return folder


def gpusim(here: Path, started: str, *arguments: str, script: str = SCRIPT) -> None:
    """Start it in that folder; fails if a file there has run, or the command has failed."""
    path = here.parent / "gpusim_script"  # an installation writes one into another folder, too
    path.write_text(script)
    start = {"script": [str(path)], "module": ["-m", "gpusim"]}[started]
    done = subprocess.run(
        [sys.executable, *start, *arguments],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    ran = here.parent / "ran"
    assert not ran.exists(), ran.read_text() + done.stderr
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("started", ["script", "module"])
def test_no_process_of_a_sweep_runs_it(here: Path, started: str):
    gpusim(here, started, "sweep", "s.toml", "-o", "runs", "-j", "2")


def test_no_process_of_a_reproduction_runs_it(here: Path):
    gpusim(here, "script", "reproduce", "orch.fig6", "--scale", "smoke", "-j", "2")


def test_no_process_that_a_study_starts_runs_it(here: Path):
    gpusim(here, "script", "study", "kill-storm", "--runs", "2", "--kills", "0")


def test_own_code_there_runs_where_it_is_allowed(here: Path):
    """Last of all: what Python and the libraries have is theirs."""
    for file in here.glob("*.py"):
        if find_spec(file.stem) is None:  # of other systems
            file.unlink()
    (here / "own_array.py").write_text(OWN)
    (here / "s.toml").write_text(SWEEP + '"tlb.L1.array" = ["own_array:Mine"]\n')
    gpusim(here, "module", "sweep", "s.toml", "-o", "runs", "-j", "2", "--allow-code")


def test_workers_that_a_script_starts_elsewhere_do_not_run_it(here: Path):
    gpusim(here, "script", script=FROM_PYTHON)
