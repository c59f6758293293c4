"""What a command imports before it does anything: as little as it needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpusim
from tests import ROOT
from tests.quick import quick
from tests.traces.writing import EXIT, block, header, write

SLOW = {"matplotlib", "pandas", "pyarrow", "scipy", "xarray"}
"""Packages that take a tenth of a second and more to import."""

RUN = ("run", "tiny", "launches", "--scale", "smoke")


def imported_by(*arguments: str) -> set[str]:
    """Modules in a process at the end of a command."""
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "from gpusim.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def own(modules: set[str]) -> set[str]:
    return {name for name in modules if name.startswith("gpusim.")}


def test_help_imports_the_commands_alone() -> None:
    modules = imported_by("--help")
    assert not modules & (SLOW | {"h5py", "numpy", "simpy", "cattrs"})
    assert len(own(modules)) <= 60


@pytest.mark.parametrize("option", quick(["--json", ""], ""))
def test_a_run_imports_no_table_and_no_other_program(option: str) -> None:
    modules = imported_by(*RUN, *option.split())
    assert "gpusim.programs.micro.launches" in modules
    assert not modules & (SLOW | {"gpusim.programs.polybench.gemm", "h5py", "pydantic"})
    assert len(own(modules)) <= 440


@pytest.mark.long
def test_a_run_of_a_trace_imports_no_program_and_no_other_reader(tmp_path: Path) -> None:
    trace = write(tmp_path / "k.traceg", header() + block([[EXIT]]))
    modules = imported_by("run", "tiny", str(trace), "--json")
    assert not modules & (SLOW | {"h5py", "pydantic", "rich.console", "gpusim.traces.nvbit"})
    assert not {name for name in modules if name.startswith("gpusim.programs.micro")}
    assert len(own(modules)) <= 440


def test_a_public_name_is_imported_when_it_is_asked_for() -> None:
    code = (
        "import sys, gpusim\n"
        "assert 'numpy' not in sys.modules\n"
        "assert 'simulate' in dir(gpusim)\n"
        "assert gpusim.simulate.__module__ == 'gpusim.runs.simulate'\n"
        "private = [name for name in dir(gpusim) if name.startswith('_')]\n"
        "assert private == ['__version__']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.long
@pytest.mark.parametrize("closed", [">&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed(tmp_path: Path, closed: str) -> None:
    """What is printed goes nowhere; the result is written, and the exit code says so."""
    line = f'"{sys.executable}" -m gpusim {" ".join(RUN)} -o run.h5 {closed}'
    done = in_a_shell(line, tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    with gpusim.open_result(tmp_path / "run.h5") as result:
        assert result.summary["cycles"] > 0


@pytest.mark.long
def test_errors_keep_their_code_where_streams_are_closed(tmp_path: Path) -> None:
    line = f'"{sys.executable}" -m gpusim run tiny no-such-workload >&- 2>&-'
    assert in_a_shell(line, tmp_path).returncode == 2


def in_a_shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = ["sh", "-c", line]
    return subprocess.run(
        words, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, check=False
    )
