"""What a command imports before it does anything: as little as it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


@pytest.mark.parametrize("options", [("--json",), ()])
def test_a_run_imports_no_table_and_no_other_program(options: tuple[str, ...]) -> None:
    modules = imported_by(*RUN, *options)
    assert "gpusim.programs.micro.launches" in modules
    assert not modules & (SLOW | {"gpusim.programs.polybench.gemm"})
    assert len(own(modules)) <= 420


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
