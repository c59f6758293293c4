"""Who looks on while a run goes sees the numbers of its end come nearer, and changes nothing."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.runs.monitor import Progress
from tests.quick import quick
from tests.whole.running import command, run
from tests.whole.test_relaunch import pair

EVERY = 777
SHORT: dict[str, object] = {"iterations": 2}


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("model", "workload"),
    quick(
        [("tiny", "bfs"), ("kepler-uvm", "atax"), ("apu-hsa", "bfs"), ("a100-mig", "pagerank")],
        ("tiny", "bfs"),
    ),
)
def test_a_log_adds_up_to_the_result(model: str, workload: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    reports: list[Progress] = []
    result = run(model, workload, log=path, log_every=EVERY, progress=reports.append)
    assert result.digest == run(model, workload).digest
    log = records(path)
    *samples, end = log
    assert [one["cycle"] for one in samples] == [EVERY * (i + 1) for i in range(len(samples))]
    assert {one["event"] for one in samples} == {"sample"}
    assert end["event"] == "end"
    assert end["cycle"] == result.summary["cycles"] < EVERY * (len(samples) + 1)
    assert sum(one["window"]["cycles"] for one in log) == end["cycle"]
    for key in ("instructions", "transactions"):
        assert sum(one["window"][key] for one in log) == end["run"][key] == result.summary[key]
    assert end["run"]["ipc"] == result.summary["ipc"]
    for level, rate in end["run"]["tlb_hit_rates"].items():
        assert rate == result.summary.get(f"tlb_{level}_hit_rate")
    for state, share in end["run"]["stalls"].items():
        assert share == result.summary[f"share_{state}"]
    assert end["warps_done"] == end["warps_total"] == result.applications.warps.sum()
    assert end["warps_running"] == 0
    assert set(end["in_flight"].values()) == {0}
    assert any(any(one["in_flight"].values()) for one in samples)
    last = reports[-1]
    assert last.done
    assert (last.cycle, last.activity.ipc) == (end["cycle"], end["run"]["ipc"])
    assert last.activity.tlb_hit_rates == end["run"]["tlb_hit_rates"]


def test_windows_are_differences(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    run("kepler-uvm", "atax", log=path, log_every=EVERY // 4, parameters=SHORT).close()
    log = records(path)
    assert log[0]["window"] == log[0]["run"]
    assert len(log) > 100
    for before, one in pairwise(log):
        window = one["window"]
        assert window["instructions"] == one["run"]["instructions"] - before["run"]["instructions"]
        assert window["ipc"] == window["instructions"] / (one["cycle"] - before["cycle"])
        shares = [share for share in window["stalls"].values() if share is not None]
        assert not shares or sum(shares) == pytest.approx(1)
        assert all(0 <= share <= 1 for share in shares)
        assert all(0 <= rate <= 1 for rate in window["tlb_hit_rates"].values() if rate is not None)


@pytest.mark.long
def test_equal_runs_write_equal_bytes_and_replace_what_was_there(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    second.write_text("something older\n" * 10_000)
    for path in (first, second):
        run("tiny", "pagerank", log=path, log_every=500).close()
    assert first.read_bytes() == second.read_bytes()
    assert b"older" not in second.read_bytes()


@pytest.mark.long
def test_relaunched_applications_are_logged_until_all_first_runs_have_ended(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pair.jsonl"
    result = gpusim.simulate(
        gpusim.load_model("tiny"),
        pair(tmp_path, "until-all-have-run"),
        log=path,
        log_every=1000,
    )
    log = records(path)
    assert log[-1]["cycle"] == result.summary["cycles"]
    assert all(0 <= later["cycle"] - one["cycle"] <= 1000 for one, later in pairwise(log))


def test_a_record_can_be_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    seen: list[int] = []

    def look(_: Progress) -> None:
        seen.append(len(records(path)))

    run("kepler-uvm", "atax", parameters=SHORT, log=path, log_every=1000, progress=look).close()
    assert seen[0] == 0
    assert seen[-1] == len(records(path)) - 1  # all but the last record, which comes then


def test_a_failed_run_leaves_its_log(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    def fail(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("tiny", "atax", log=path, log_every=100, output=tmp_path / "x.h5", progress=fail)
    assert list(tmp_path.iterdir()) == [path]


def test_logs_that_cannot_be_written(tmp_path: Path) -> None:
    for path, why in (
        (tmp_path, "Is a directory"),
        (tmp_path / "no" / "run.jsonl", "No such file or directory"),
    ):
        with pytest.raises(UserError, match=f"cannot write {path}: {why}"):
            run("tiny", "atax", log=path)
    with pytest.raises(UserError, match="log_every 0: must be at least 1"):
        run("tiny", "atax", log=tmp_path / "run.jsonl", log_every=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot write /dev/full: No space left on device"):
        run("tiny", "atax", log="/dev/full", log_every=500, output=tmp_path / "run.h5")
    assert list(tmp_path.iterdir()) == []


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    run_tiny = ("run", "tiny", "atax", "--scale", "smoke", "--set", "workload.iterations=1")
    outcome = command(*run_tiny, "--log", str(path), "--log-every", "1_000", "--json")
    log = records(path)
    assert [one["cycle"] for one in log[:2]] == [1000, 2000]
    assert log[-1]["cycle"] == json.loads(outcome.stdout)["summary"]["cycles"]
    assert "--log FILE.jsonl" in command(*run_tiny, "--log-every", "5", code=2).stderr
    refused = command(*run_tiny, "--log", str(tmp_path / "no" / "x"), code=2)
    assert "cannot write" in refused.stderr
