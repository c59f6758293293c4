"""One task in a process: what it hands back, whatever happens in it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from attrs import evolve

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.registry import Slot
from gpusim.hardware.tlb import SetAssociativeArray
from gpusim.runs.options import RunOptions
from gpusim.studies.sweep.code import semantics
from gpusim.studies.sweep.plan import make_plan
from gpusim.studies.sweep.run_claims import Claims, claim_file
from gpusim.studies.sweep.worker import (
    HANG,
    OTHER_VERSION,
    ClaimLost,
    Facts,
    Failure,
    Limits,
    Task,
    facts_of,
    pack,
    perform,
)
from tests.studies.sweep.sweeping import small_sweep


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """A run that its sweep has claimed."""
    (run,) = make_plan(small_sweep("set-associative", seeds=[0])).runs.values()
    claims = Claims(tmp_path)
    assert claims.take(run.key)
    return Task(
        key=run.key,
        model=run.model,
        workload=run.workload,
        options=RunOptions(output=tmp_path / "run.h5"),
        trace=tmp_path / "run.trace",
        claim=claim_file(tmp_path, run.key),
        sweep=claims.id,
        limits=Limits(),
        semantics=semantics(),
        command_line=("gpusim", "run"),
        own=pack([], []),
    )


def test_a_run_is_the_same_as_any_other(task: Task) -> None:
    facts = perform(task)
    assert isinstance(facts, Facts)
    assert facts == facts_of(task.output)
    with gpusim.simulate(task.model, gpusim.load_workload("nw", "smoke")) as alone:
        assert facts.digest == alone.digest
        assert facts.summary == dict(alone.summary)
        assert facts.units == alone.summary_units
    with gpusim.open_result(task.output) as result:
        assert result.provenance.command_line == ("gpusim", "run")
    assert not task.trace.exists()


@pytest.mark.parametrize("text", [None, "another sweep"])
def test_a_run_that_is_no_longer_the_sweeps_is_given_up(task: Task, text: str | None) -> None:
    if text is None:
        task.claim.unlink()
    else:
        task.claim.write_text(text)
    assert isinstance(perform(task), ClaimLost)
    assert not task.output.exists()
    assert not task.trace.exists()


def test_a_task_that_hung_in_another_process_is_not_tried_again(task: Task) -> None:
    task.trace.write_text("Timeout (0:00:03)!\nThread 1:\n  in loop\n")
    outcome = perform(task)
    assert outcome == Failure(HANG, "nothing moved: Timeout (0:00:03)!", "Thread 1:\n  in loop\n")
    assert not task.output.exists()


@pytest.mark.long
def test_a_task_that_was_done_in_another_process_is_not_done_again(task: Task) -> None:
    first = perform(task)
    assert perform(task) == first
    task.output.write_bytes(task.output.read_bytes()[:1000])
    again = perform(task)
    assert isinstance(first, Facts)
    assert isinstance(again, Facts)
    assert again.digest == first.digest
    assert again.modified_ns > first.modified_ns


def test_another_gpusim_does_nothing(task: Task) -> None:
    outcome = perform(evolve(task, semantics="something else"))
    assert isinstance(outcome, Failure)
    assert (outcome.cause, outcome.stop) == (OTHER_VERSION, True)
    assert not task.output.exists()


@pytest.mark.parametrize(
    "change",
    [{"options": RunOptions(output="/nowhere/at/all")}, {"trace": Path("/nowhere/at/all")}],
)
def test_a_folder_that_cannot_be_written_stops_the_sweep(
    task: Task, change: dict[str, object]
) -> None:
    outcome = perform(evolve(task, **change))
    assert isinstance(outcome, Failure)
    assert outcome.stop
    assert "/nowhere/at" in outcome.message


def test_code_that_is_not_there_fails_the_run(task: Task) -> None:
    outcome = perform(evolve(task, own=b"cnot_there\nPolicy\n."))
    assert isinstance(outcome, Failure)
    assert (outcome.cause, outcome.stop) == ("ModuleNotFoundError", False)
    assert "not_there" in outcome.traceback


def test_policies_go_along_if_they_can() -> None:
    class Locked(SetAssociativeArray):
        lock = threading.Lock()

    with pytest.raises(UserError, match=r"cannot hand locked to other processes: .*lock"):
        pack([(Slot.TLB_ARRAY, "locked", Locked)], [])


@pytest.mark.parametrize("limits", [{"wall_seconds": 0}, {"hang_seconds": -1}])
def test_limits_are_above_0(limits: dict[str, float]) -> None:
    with pytest.raises(UserError, match="must be above 0"):
        Limits(**limits)


def test_no_limit_at_all(task: Task) -> None:
    assert isinstance(perform(evolve(task, limits=Limits(hang_seconds=float("inf")))), Facts)
