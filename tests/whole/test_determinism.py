"""The same model, workload and seed give the same result, recorded or not, in any process."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import gpusim
from gpusim.results.event_tables import RECORDS
from gpusim.results.result import Result
from tests import ROOT
from tests.quick import quick
from tests.whole.running import SMALLER, run

RUNS = [
    (model, workload)
    for model in ("tiny", "kepler-uvm")
    for workload in ("bfs", "pagerank", "atax")
]
FEW = [("kepler-uvm", "bfs")]
SHORTER: dict[str, dict[str, object]] = {"atax": {"iterations": 2}}
"""What would be most of the time."""

PROGRAM = """
import sys
from tests.whole.test_determinism import shorter
for pair in sys.argv[1:]:
    print(pair, shorter(*pair.split("/")).digest)
"""


def shorter(model: str, workload: str, **options: Any) -> Result:
    return run(model, workload, parameters=SHORTER.get(workload), **options)


def digests_elsewhere(hash_seed: str, runs: list[tuple[str, str]]) -> dict[str, str]:
    """Digests of `runs`, computed in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map("/".join, runs)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": "Pacific/Chatham"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(line.split() for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("hash_seed", "runs"), [("1", FEW), pytest.param("31337", RUNS, marks=pytest.mark.long)]
)
def test_processes_with_different_hashes_agree(hash_seed: str, runs: list[tuple[str, str]]) -> None:
    here = {f"{model}/{workload}": shorter(model, workload).digest for model, workload in runs}
    assert len(set(here.values())) == len(runs)
    assert digests_elsewhere(hash_seed, runs) == here


@pytest.mark.parametrize(("model", "workload"), quick(RUNS, ("kepler-uvm", "bfs")))
def test_onlookers_change_nothing(model: str, workload: str, tmp_path: Path) -> None:
    alone = shorter(model, workload)
    reports: list[gpusim.Progress] = []
    path = tmp_path / "run.h5"
    watched = shorter(model, workload, record=tuple(RECORDS), output=path, progress=reports.append)
    with watched:
        assert set(watched.tables) == {name for names in RECORDS.values() for name in names}
        assert watched.digest == alone.digest
    assert reports[-1].done
    assert reports[-1].cycle >= alone.summary["cycles"]
    assert reports[-1].transactions == alone.summary["transactions"]
    assert reports[-1].warps_done == reports[-1].warps_total == alone.applications.warps.sum()


@pytest.mark.long
@pytest.mark.parametrize(("model", "workload"), quick(RUNS[:2], RUNS[0]))
def test_a_file_holds_what_memory_holds(model: str, workload: str, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    run(model, workload, output=path).close()
    inside = run(model, workload)
    with gpusim.open_result(path) as stored:
        assert stored.digest == inside.digest
        assert stored.summary == inside.summary
        assert stored.counter_tree() == inside.counter_tree()
        assert stored.stalls.equals(inside.stalls)
        assert stored.config_toml == inside.config_toml
    assert list(tmp_path.iterdir()) == [path]


def test_the_seed_reaches_the_input() -> None:
    model = gpusim.load_model("tiny")
    first, again, other = (
        gpusim.simulate(model, gpusim.load_workload("bfs", "smoke", seed, SMALLER["bfs"])).digest
        for seed in (0, 0, 1)
    )
    assert first == again != other


@pytest.mark.long
def test_a_resolved_model_runs_the_same(tmp_path: Path) -> None:
    variants = ["l1-tlb-256", "ideal-dram"]
    first = run("kepler-uvm", "bfs", *variants)
    path = tmp_path / "resolved.toml"
    path.write_text(first.config_toml)
    again = run(str(path), "bfs")
    assert again.summary == first.summary
    assert again.counter_tree() == first.counter_tree()


@pytest.mark.long
def test_overrides_of_model_and_workload_are_kept() -> None:
    model = gpusim.load_model("tiny", (), {"tlb.L1.entries": 16})
    workload = gpusim.load_workload("atax", "smoke", 0, {"iterations": 4})
    with gpusim.simulate(model, workload) as result:
        assert result.provenance.overrides == ("tlb.L1.entries=16", "workload.iterations=4")
        assert tomllib.loads(result.workload_toml)["applications"][0]["iterations"] == 4
