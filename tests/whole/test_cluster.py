"""The example for workflows and clusters: its commands run, with Snakemake and SLURM or without."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import yaml

import gpusim
from tests.whole.running import command
from tests.whole.test_pages import DOCS, SHELL

FOLDER = DOCS / "examples" / "cluster"
CONFIG: dict[str, Any] = yaml.safe_load((FOLDER / "config.yaml").read_text())
RUN, TABLE = re.findall(r'shell:\n +"(.*)"\n', (FOLDER / "Snakefile").read_text())

TINY = """
models = ["tiny"]
workloads = ["atax"]
scale = "smoke"
[set]
"workload.n" = [64]
"tlb.L1.entries" = [8, 32]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(FOLDER, tmp_path / "cluster")
    monkeypatch.chdir(tmp_path / "cluster")
    return tmp_path / "cluster"


def bash(text: str, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        ["bash", "-c", SHELL + text],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(DOCS.parent), "PATH": "/usr/bin:/bin", **environment},
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def words(template: str, output: str, **names: object) -> list[str]:
    """A rule's command as Snakemake would fill it in, without its program."""
    return template.format(config=CONFIG, output=output, **names).split()[1:]


@pytest.mark.long
def test_the_commands_of_the_rules_make_the_table(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = []
    (here / "runs").mkdir()
    workload = CONFIG["workloads"][-1]  # one will do
    for design in CONFIG["designs"]:
        files.append(f"runs/{workload}.{design}.h5")
        params = SimpleNamespace(design=CONFIG["designs"][design])
        wildcards = SimpleNamespace(workload=workload, design=design)
        command(*words(RUN, files[-1], params=params, wildcards=wildcards))
    script, *arguments = words(TABLE, "table.csv", input=" ".join(files))
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    exec(compile(Path(script).read_text(), script, "exec"), {"__name__": "__main__"})
    table = pd.read_csv("table.csv", index_col="workload")
    assert list(table.columns) == list(CONFIG["designs"])
    assert list(table.index) == [workload]
    assert (table["base"] == 1).all()
    assert table["ideal-tlb"].max() > 1


@pytest.mark.long
def test_two_jobs_of_the_array_share_a_sweep(here: Path) -> None:
    (here / "tiny.toml").write_text(TINY)
    job = {"SWEEP": "tiny.toml", "RUNS": str(here / "shared"), "SLURM_CPUS_PER_TASK": "1"}
    text = (here / "sweep.sbatch").read_text().replace("exec gpusim", "gpusim")  # a function here
    both = "job() {\n" + text + "\n}\njob & one=$!\njob\nwait $one\n"
    bash(both, here, **job)
    assert len(list((here / "shared" / "runs").glob("*.h5"))) == 2
    assert list(gpusim.open_sweep(here / "shared", "tiny").table.state) == ["done", "done"]


def test_a_job_says_what_it_wants(here: Path) -> None:
    wanted = dict(
        re.findall(r"^#SBATCH --(\S+?)=(\S+)$", (here / "sweep.sbatch").read_text(), re.MULTILINE)
    )
    assert wanted["signal"].startswith("B:TERM@")  # to the shell, which gpusim has replaced
    with pytest.raises(AssertionError, match="name a sweep"):
        bash((here / "sweep.sbatch").read_text(), here)


@pytest.mark.long
def test_snakemake_plans_it(here: Path) -> None:
    snakemake = shutil.which("snakemake")
    if snakemake is None:
        pytest.skip("snakemake is not installed")
    done = subprocess.run(
        [snakemake, "--dry-run", "--cores", "1"],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    jobs = len(CONFIG["workloads"]) * len(CONFIG["designs"])
    assert re.search(rf"^run +{jobs}$", done.stdout, re.MULTILINE), done.stdout
