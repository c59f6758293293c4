"""How far sweeps are, and what one would run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from gpusim.core.errors import UserError
from gpusim.studies.sweep.estimate import Estimates
from gpusim.studies.sweep.folder import FailedRun, RunFolder
from gpusim.studies.sweep.plan import make_plan
from gpusim.studies.sweep.point import Point
from gpusim.studies.sweep.run import run_sweep
from gpusim.studies.sweep.run_claims import Claims
from gpusim.studies.sweep.spec import Sweep
from gpusim.studies.sweep.status import SweepStatus, look_ahead, sweep_status
from gpusim.studies.sweep.worker import Failure
from tests.studies.sweep.made_up import make_up

pytestmark = pytest.mark.usefixtures("forked_workers")

SWEEP = Sweep(
    name="sizes", models="tiny", workloads="nw", scale="smoke", set={"workload.n": [32, 48, 64]}
)

# -- what would be run ---------------------------------------------------------------------------


def test_nothing_is_known_of_a_new_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "new", tmp_path):
        ahead = look_ahead(SWEEP, path)
        assert (ahead.combinations, ahead.runs, ahead.done, ahead.failed) == (3, 3, 0, 0)
        assert ahead.todo == tuple(f"nw · tiny · baseline · workload.n={n}" for n in (32, 48, 64))
        assert ahead.seconds is None
    assert list(tmp_path.iterdir()) == []  # nothing is made, either


def test_what_a_real_sweep_would_refuse_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UserError, match="is no folder of runs"):
        look_ahead(SWEEP, tmp_path)
    with pytest.raises(UserError, match="is no folder of runs"):
        look_ahead(SWEEP, tmp_path / "thesis.tex")
    with pytest.raises(UserError, match="no model named 'tinny'"):
        look_ahead(evolve(SWEEP, models="tinny"), tmp_path / "new")


def test_combinations_that_share_a_run_are_counted_once(tmp_path: Path) -> None:
    ahead = look_ahead(
        evolve(SWEEP, set={"workload.n": [32, 64], "clock": ["1GHz", "1000MHz"]}), tmp_path
    )
    assert (ahead.combinations, ahead.runs, len(ahead.todo)) == (4, 2, 2)


def test_done_and_failed_runs_are_not_to_do(tmp_path: Path) -> None:
    small = evolve(SWEEP, set={"workload.n": [32]})
    results = run_sweep(small, tmp_path / "runs", jobs=1)
    seconds = results.table["seconds"].item()
    ahead = look_ahead(SWEEP, tmp_path / "runs")
    assert (ahead.done, ahead.failed, len(ahead.todo)) == (1, 0, 2)
    assert ahead.seconds == pytest.approx(2 * seconds)

    runs = RunFolder(tmp_path / "runs")
    key = make_plan(SWEEP).points[2][1]
    runs.record_failure(FailedRun(key, "", Failure("Hang", ""), 1))
    ahead = look_ahead(SWEEP, tmp_path / "runs")
    assert (ahead.done, ahead.failed, len(ahead.todo)) == (1, 1, 1)
    assert ahead.seconds == pytest.approx(seconds)
    ahead = look_ahead(SWEEP, tmp_path / "runs", retry_failed=True)
    assert (ahead.done, ahead.failed, len(ahead.todo)) == (1, 0, 2)

    other = evolve(SWEEP, name="more", variants=["ideal-tlb"])  # only the program is the same
    assert look_ahead(other, tmp_path / "runs").seconds == pytest.approx(3 * seconds)
    larger = evolve(SWEEP, scale="paper")  # no run has been of this size
    assert look_ahead(larger, tmp_path / "runs").seconds is None

    (status,) = sweep_status(tmp_path / "runs")
    assert status == SweepStatus("sizes", 1, 1, 0, 0, 0, {}, seconds)


# -- estimates -----------------------------------------------------------------------------------


def point(**changes: Any) -> Point:
    return evolve(Point("tiny", "baseline", "nw", "smoke", 0), **changes)


def test_estimates_are_means_of_what_is_most_alike() -> None:
    estimates = Estimates()
    assert estimates.seconds(point()) is None
    assert estimates.total([]) == 0
    estimates.add(point(), 1.0)
    estimates.add(point(seed=1), 3.0)
    estimates.add(point(model="kepler-uvm"), 8.0)
    estimates.add(point(workload="bfs", scale="paper"), 1000.0)
    assert estimates.seconds(point(variant="ideal-tlb")) == 2.0
    assert estimates.seconds(point(model="kepler-uvm")) == 8.0
    assert estimates.seconds(point(model="r9-nano")) == 4.0  # the same program
    assert estimates.seconds(point(workload="atax")) == 4.0  # the same scale
    assert estimates.seconds(point(application="nw", role="alone")) == 4.0
    assert estimates.seconds(point(scale="quick")) is None
    assert estimates.total([point(), point(model="kepler-uvm")]) == 10.0
    assert estimates.total([point(), point(scale="quick")]) is None


# -- status --------------------------------------------------------------------------------------


def test_status_of_a_folder_without_sweeps(tmp_path: Path) -> None:
    RunFolder(tmp_path / "runs", create=True)
    assert sweep_status(tmp_path / "runs") == []
    with pytest.raises(UserError, match="is no folder of runs: it does not exist"):
        sweep_status(tmp_path / "nowhere")


def test_status_of_several_sweeps(tmp_path: Path) -> None:
    """What is there counts, not what a table says of an earlier time."""
    results = make_up(
        tmp_path, SWEEP, lambda made: "Hang" if made.settings[0][1] == "48" else {"cycles": 1}
    )
    other = Sweep(name="other", models="tiny", workloads="nw", scale="smoke", seeds=[1, 2])
    make_up(tmp_path, other, lambda _: None)
    keys = list(results.table["key"])
    first, second = sweep_status(tmp_path)
    assert first == SweepStatus("other", 2, 0, 0, 0, 2, {}, 0.0)
    assert second == SweepStatus("sizes", 3, 0, 1, 0, 2, {"Hang": 1}, 0.0)  # no result is there

    claims = tmp_path / "claims"
    with Claims(claims) as mine:
        assert mine.take(keys[0])
        assert mine.take(keys[1])  # which failed, and is tried again
        _, second = sweep_status(tmp_path)
        assert second == SweepStatus("sizes", 3, 0, 0, 2, 1, {}, 0.0)
    _, second = sweep_status(tmp_path)
    assert (second.failed, second.running, second.missing) == (1, 0, 2)
