"""Sweeps whose runs start from a checkpoint."""

from pathlib import Path

import pytest

import gpusim
from gpusim.studies.sweep.spec import read_sweep

pytestmark = pytest.mark.usefixtures("forked_workers")

SMALL = {"n": 64, "iterations": 2}

SWEEP = """\
models = "tiny"
workloads = "mvt"
scale = "smoke"

[set]
"workload.n" = 64
"workload.iterations" = 2
"workload.timed.start" = "state.h5"
"tlb.L1.entries" = [4, 8]
"""


def made(path: Path, skip: str) -> None:
    workload = gpusim.load_workload("mvt", "smoke", overrides=SMALL)
    gpusim.checkpoint(gpusim.load_model("tiny"), workload, path, skip=skip)


def test_designs_of_a_sweep_start_from_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "study"
    study.mkdir()
    (study / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    made(study / "state.h5", "1launches")
    monkeypatch.chdir(tmp_path)  # paths are relative to the sweep's file
    results = gpusim.run_sweep(read_sweep("study/sweep.toml"), tmp_path / "runs", jobs=1)
    assert not results.failures
    skipped = {**SMALL, "timed.skip": "1launches"}
    assert results.table.cycles.tolist() == [
        gpusim.simulate(
            gpusim.load_model("tiny", (), {"tlb.L1.entries": entries}),
            gpusim.load_workload("mvt", "smoke", overrides=skipped),
        ).summary["cycles"]
        for entries in (4, 8)
    ]


def test_another_file_of_the_same_name_is_another_run(tmp_path: Path) -> None:
    from gpusim.studies.sweep.key import workload_digest

    path, copy = tmp_path / "state.h5", tmp_path / "copy.h5"
    made(path, "1launches")

    def key(of: Path) -> str:
        start: dict[str, object] = {"timed.start": str(of)}
        return workload_digest(gpusim.load_workload("mvt", "smoke", overrides={**SMALL, **start}))

    first = key(path)
    copy.write_bytes(path.read_bytes())
    assert key(copy) == first
    made(path, "1blocks")
    assert key(path) != first


def test_a_workload_names_a_checkpoint_beside_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    smoke = "smoke = { n = 64, iterations = 2 }"
    text = f'[[applications]]\nprogram = "mvt"\n{smoke}\n'
    path.write_text(text, encoding="utf-8")
    model = gpusim.load_model("tiny")
    whole = gpusim.load_workload(str(path), "smoke")
    gpusim.checkpoint(model, whole, tmp_path / "state.h5", skip="1launches")
    path.write_text(f'{text}[timed.smoke]\nstart = "state.h5"\n', encoding="utf-8")
    started = gpusim.simulate(model, gpusim.load_workload(str(path), "smoke"))
    assert started.digest == gpusim.simulate(model, whole, skip="1launches").digest
