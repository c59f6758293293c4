"""Results in R and Octave, by what docs/results.md says of them; skipped where they are not."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import gpusim
from gpusim.results import Result
from tests import ROOT

PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run.h5"
    workload = gpusim.load_workload("atax", "smoke", overrides={"n": "64"})
    record = ["intervals", "walks"]
    gpusim.simulate(gpusim.load_model("kepler-uvm"), workload, record=record, output=path).close()
    return path


@pytest.fixture(scope="module")
def result(path: Path) -> Result:
    return gpusim.open_result(path)


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(*command: str, folder: Path) -> list[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def told(name: str) -> list[str]:
    """Code that the page gives for a program, each a line."""
    (row,) = re.findall(rf"^\| {re.escape(name)} \| (.*) \|$", PAGE, re.MULTILINE)
    return re.findall(r"`([^`]+)`", row)


def test_r(path: Path, result: Result) -> None:
    rscript = program("Rscript")
    if subprocess.run(
        [rscript, "-e", "library(rhdf5)"], capture_output=True, check=False
    ).returncode:
        pytest.skip("R has no rhdf5")
    table, attributes, states = told("R (rhdf5)")
    code = f"""
    suppressMessages(library(rhdf5))
    {table}
    cat(names(t), fill = 10000)
    cat(as.numeric(t$finished), fill = 10000)
    a <- {attributes}
    cat(a$units, fill = 10000)
    a <- {states}
    cat(a$flag_meanings, fill = 10000)
    cat(dim(h5read("run.h5", "stalls/warp_cycles")), fill = 10000)
    """
    columns, finished, unit, names, shape = run(rscript, "-e", code, folder=path.parent)
    walks = result.table("walks")
    assert set(walks.columns) <= set(columns.split())
    assert [int(float(one)) for one in finished.split()] == walks.finished.tolist()
    assert unit == "cycle"
    assert tuple(names.split()) == result.states
    assert tuple(map(int, shape.split())) == result.stall_sums.shape[::-1]  # R has columns first


def test_octave(path: Path, result: Result) -> None:
    octave = program("octave-cli")
    load, finished, states = told("Octave")
    code = f"""
    {load};
    printf("%d ", {finished}); printf("\\n");
    printf("%d ", size(r.stalls.warp_cycles)); printf("\\n");
    printf("%s ", {states}(2, :));
    """
    cycles, shape, second = run(octave, "--no-init-file", "--eval", code, folder=path.parent)
    assert second.strip() == result.states[1]
    assert [int(one) for one in cycles.split()] == result.table("walks").finished.tolist()
    assert tuple(map(int, shape.split())) == result.stall_sums.shape[::-1]
