"""The folder of a study: what is refused, what is damaged, what is not looked at twice."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from attrs import evolve

from gpusim.core.errors import UserError, WriteError
from gpusim.studies.sweep import folder as folder_module
from gpusim.studies.sweep.folder import RUN_COLUMNS, FailedRun, RunFolder, headline_columns, runs_in
from gpusim.studies.sweep.folder_marker import FORMAT, MARK, VERSION
from gpusim.studies.sweep.results import open_sweep
from gpusim.studies.sweep.run import run_sweep, run_together
from gpusim.studies.sweep.spec import Sweep, read_sweep
from gpusim.studies.sweep.status import look_ahead
from gpusim.studies.sweep.worker import Facts, Failure
from tests.quick import quick

pytestmark = pytest.mark.usefixtures("forked_workers")

SWEEP = Sweep(
    name="pair",
    models="tiny",
    workloads="nw",
    scale="smoke",
    variants=["baseline", "ideal-tlb"],
    set={"workload.n": 32},
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "runs"
    run_sweep(SWEEP, path, jobs=1)
    return path


@pytest.fixture
def runs(study: Path, tmp_path: Path) -> RunFolder:
    """A copy that may be damaged; its files look unchanged."""
    shutil.copytree(study, tmp_path / "runs")
    return RunFolder(tmp_path / "runs")


NO_TEXT = os.fsdecode(b"runs\xff")
other_names = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are text")


@other_names
def test_a_folder_whose_name_is_no_text(runs: RunFolder, tmp_path: Path) -> None:
    odd = RunFolder(runs.path.rename(tmp_path / NO_TEXT))
    assert len(odd.table("pair")) == 2
    assert len(odd.known_facts()) == 2


@other_names
def test_a_sweep_keeps_text_alone(runs: RunFolder) -> None:
    sweep = evolve(SWEEP, workloads=NO_TEXT)
    with pytest.raises(UserError, match=r"bytes that are no text: .*runs\ufffd"):
        runs.keep_sweep(sweep)


def keys(runs: RunFolder) -> list[str]:
    return list(runs.table("pair")["key"])


def journal(runs: RunFolder) -> list[str]:
    lines = runs.journal_path("pair").read_text().splitlines()
    return [json.loads(line)["event"] for line in lines]


# -- several sweeps at once ----------------------------------------------------------------------


def test_sweeps_run_together_find_their_runs(tmp_path: Path) -> None:
    other = Sweep(
        name="other",
        models="tiny",
        workloads="nw",
        scale="smoke",
        set={"tlb.L1.misses": ["mshr", "hit-under-miss"]},
    )
    run_together("both", [SWEEP, other], tmp_path / "runs", jobs=1)
    runs = RunFolder(tmp_path / "runs")
    made = set(runs.table("both")["key"])
    assert list(runs.table("both")["tlb.L1.misses"]) == ["", "", "mshr", "hit-under-miss"]
    for sweep in (SWEEP, other):
        found = run_sweep(sweep, runs.path, jobs=1).table
        assert set(found["key"]) <= made
        begun = json.loads(runs.journal_path(sweep.name).read_text().splitlines()[0])
        assert begun["runs"] == begun["whole"] == 2, "nothing was run again"


# -- which folders -------------------------------------------------------------------------------


def test_a_new_folder_and_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "new" / "runs", tmp_path / "empty"):
        runs = RunFolder(path, create=True)
        assert json.loads((path / MARK).read_text()) == {"format": FORMAT, "version": VERSION}
        assert runs.sweeps() == []
        assert RunFolder(path, create=True).path == RunFolder(path).path == path


def test_a_folder_that_another_sweep_is_making(tmp_path: Path) -> None:
    (tmp_path / f".{MARK}.12345678.partial").touch()
    RunFolder(tmp_path, create=True)
    assert (tmp_path / MARK).exists()


@pytest.mark.parametrize("create", [True, False])
def test_foreign_folders(tmp_path: Path, create: bool) -> None:
    (tmp_path / "thesis").mkdir()
    for name in "edcba":
        (tmp_path / "thesis" / name).touch()
    there = "it holds a, b, c, …; name a new or empty folder" if create else f"it has no {MARK}"
    with pytest.raises(UserError, match=rf"thesis is no folder of runs: {there}"):
        RunFolder(tmp_path / "thesis", create)
    assert sorted(path.name for path in (tmp_path / "thesis").iterdir()) == list("abcde")


def test_no_folder_at_all(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere is no folder of runs: it does not exist"):
        RunFolder(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []
    file = tmp_path / "file"
    file.touch()
    for path in (file, file / "runs"):
        with pytest.raises(WriteError, match="it is, or lies in, a file"):
            RunFolder(path, create=True)
        with pytest.raises(UserError, match="is no folder of runs"):
            RunFolder(path)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that root cannot write")
def test_a_folder_that_cannot_be_written() -> None:
    with pytest.raises(WriteError, match="cannot write /proc/runs: "):
        run_sweep(SWEEP, "/proc/runs")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (json.dumps({"format": FORMAT, "version": VERSION + 1}), "was made by another gpusim: it"),
        (json.dumps({"format": FORMAT}), "it has version None, this gpusim knows 1"),
        (json.dumps({"version": VERSION}), "is damaged: it does not tell"),
        ("[]", "is damaged: it does not tell"),
        ("{", "is damaged: Expecting"),
        ("", "is damaged: Expecting"),
    ],
)
def test_folders_of_others(runs: RunFolder, text: str, words: str) -> None:
    (runs.path / MARK).write_text(text)
    for create in (True, False):
        with pytest.raises(UserError, match=words):
            RunFolder(runs.path, create)


def test_reading_makes_nothing(runs: RunFolder) -> None:
    for name in ("failures", "claims"):
        shutil.rmtree(runs.path / name)
    before = sorted(runs.path.rglob("*"))
    results = open_sweep(runs.path)
    assert len(results.table) == 2
    assert look_ahead(SWEEP, runs.path).done == 2
    assert sorted(runs.path.rglob("*")) == before
    run_sweep(SWEEP, runs.path)
    assert (runs.path / "failures").is_dir()


def test_remains_of_runs_that_nobody_is_running(runs: RunFolder) -> None:
    remains = [
        runs.path / "runs" / ".0123.h5.89abcdef.partial",
        runs.trace_path("0123", "host-1-2-1"),
    ]
    for path in remains:
        path.touch()
    runs.remove_remains()
    assert not any(path.exists() for path in remains)
    assert len(list((runs.path / "runs").iterdir())) == 2


# -- results -------------------------------------------------------------------------------------


def test_results_that_have_not_changed_are_not_opened(
    runs: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    real = folder_module.facts_of

    def count(path: Path) -> Facts:
        opened.append(path)
        return real(path)

    monkeypatch.setattr(folder_module, "facts_of", count)
    before = open_sweep(runs.path).table
    again = run_sweep(SWEEP, runs.path).table
    assert opened == []
    pd.testing.assert_frame_equal(again, before)
    assert again.attrs == before.attrs

    first, second = map(runs.result_path, keys(runs))
    os.utime(first)  # looks changed, and is not
    third = run_sweep(SWEEP, runs.path).table
    assert opened == [first]
    assert list(third["digest"]) == list(before["digest"])
    runs.table_path("pair").unlink()  # nothing is known
    opened.clear()
    fourth = run_sweep(SWEEP, runs.path).table
    assert opened == [first, second]
    pd.testing.assert_frame_equal(fourth, third)
    assert journal(runs).count("done") == 2


def test_another_sweep_uses_what_is_known(runs: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_module, "facts_of", lambda path: pytest.fail(f"opened {path}"))
    other = Sweep(name="one", models="tiny", workloads="nw", scale="smoke", set={"workload.n": 32})
    results = run_sweep(other, runs.path)
    assert list(results.table["state"]) == ["done"]
    assert set(results.table["key"]) < set(keys(runs))
    assert runs.sweeps() == ["one", "pair"]


DAMAGES: list[Callable[[bytes], bytes]] = [
    lambda data: b"",
    lambda data: b"no result",
    lambda data: data[: len(data) // 2],
    lambda data: data[:-1],
    lambda data: data[:100] + bytes(len(data) - 100),
]


@pytest.mark.long
def test_a_damaged_result_is_noticed_and_made_again(runs: RunFolder) -> None:
    before = runs.table("pair")
    path = runs.result_path(keys(runs)[1])
    data = path.read_bytes()
    for damage in DAMAGES:
        path.write_bytes(damage(data))
        ahead = look_ahead(SWEEP, runs.path)
        assert (ahead.done, ahead.todo) == (1, ("nw · tiny · ideal-tlb · workload.n=32",))
    after = run_sweep(SWEEP, runs.path, jobs=1).table
    assert list(after["state"]) == ["done", "done"]
    assert list(after["digest"]) == list(before["digest"])
    assert journal(runs).count("done") == 3
    with open_sweep(runs.path).open(keys(runs)[1]) as result:
        assert result.digest == after["digest"][1]


@pytest.mark.parametrize("places", quick([20, 150], 20))
def test_no_damage_is_more_than_a_missing_result(runs: RunFolder, places: int) -> None:
    key = keys(runs)[0]
    path = runs.result_path(key)
    data = path.read_bytes()
    whole = runs.facts(key, {})
    assert whole is not None
    for place in range(0, len(data), max(len(data) // places, 1)):
        for bad in (data[:place], data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]):
            path.write_bytes(bad)
            found = runs.facts(key, {})
            assert found is None or found.summary == whole.summary


# -- failures ------------------------------------------------------------------------------------


def test_failures_are_kept_and_forgotten(runs: RunFolder) -> None:
    failed = FailedRun("ab12", "nw · tiny", Failure("Hang", "ünmoved\n", "File x"), 2)
    assert runs.failed("ab12") is None
    runs.record_failure(failed)
    assert RunFolder(runs.path).failed("ab12") == failed
    runs.forget_failure("ab12")
    runs.forget_failure("ab12")
    assert runs.failed("ab12") is None


@pytest.mark.long
def test_a_damaged_failure_is_told(runs: RunFolder) -> None:
    key = keys(runs)[0]
    runs.result_path(key).unlink()
    path = runs.path / "failures" / f"{key}.json"
    for text in ("", "{", "[]", "{}", '{"key": 1, "label": "", "failure": 3}'):
        path.write_text(text)
        words = rf"{key}\.json is damaged .*; remove it, and the run is tried again"
        with pytest.raises(UserError, match=words):
            run_sweep(SWEEP, runs.path)
    assert list(run_sweep(SWEEP, runs.path, jobs=1, retry_failed=True).table["state"]) == 2 * [
        "done"
    ]
    assert not path.exists()


# -- tables --------------------------------------------------------------------------------------


def test_a_damaged_table_is_told_and_made_anew(
    runs: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = runs.table("pair")
    path = runs.table_path("pair")
    for data in (b"", b"PAR1", path.read_bytes()[:-100], path.read_bytes()[:300] + bytes(5000)):
        path.write_bytes(data)
        with pytest.raises(UserError, match=r"pair\.parquet is damaged; run the sweep again"):
            _ = open_sweep(runs.path).table
        assert runs.known_facts() == {}
    pd.testing.assert_frame_equal(run_sweep(SWEEP, runs.path).table, before)
    assert journal(runs).count("done") == 2


def test_a_foreign_table_is_told(runs: RunFolder) -> None:
    pd.DataFrame({"key": ["a"], "cycles": [1]}).to_parquet(runs.table_path("pair"))
    with pytest.raises(UserError, match=r"pair\.parquet is no table of a sweep"):
        _ = open_sweep(runs.path).table
    with pytest.raises(UserError, match="no table of a sweep 'peer'"):
        runs.table("peer")


def test_what_a_table_knows_is_what_the_results_say(runs: RunFolder) -> None:
    table = runs.table("pair")
    for point, key, facts in runs_in(table):
        assert facts == folder_module.facts_of(runs.result_path(key))
        assert (point.model, point.workload, point.scale) == ("tiny", "nw", "smoke")
    assert [point.variant for point, _, _ in runs_in(table)] == ["baseline", "ideal-tlb"]
    names = list(table.columns)
    assert names[names.index("key") :][: len(RUN_COLUMNS)] == list(RUN_COLUMNS)
    assert set(table[headline_columns(table)].dtypes) == {pd.Series([0.5]).dtype}


# -- sweeps --------------------------------------------------------------------------------------


def test_a_sweep_is_kept_as_it_was_last_run(runs: RunFolder) -> None:
    assert read_sweep(runs.sweep_path("pair")) == SWEEP
    text = "# why these two\n" + runs.sweep_path("pair").read_text()
    runs.sweep_path("pair").write_text(text)
    runs.keep_sweep(SWEEP)
    assert runs.sweep_path("pair").read_text() == text  # it says the same
    fewer = read_sweep(runs.sweep_path("pair"), scale="quick")
    runs.keep_sweep(fewer)
    assert read_sweep(runs.sweep_path("pair")) == fewer
    runs.sweep_path("pair").write_text("no sweep")
    runs.keep_sweep(SWEEP)
    assert read_sweep(runs.sweep_path("pair")) == SWEEP


def test_files_that_were_put_into_the_folder_are_no_sweeps(runs: RunFolder) -> None:
    (runs.path / "next.toml").write_text("models = ['tiny']\n")
    pd.DataFrame({"mine": [1]}).to_parquet(runs.path / "mine.parquet")
    assert runs.sweeps() == ["pair"]
    assert open_sweep(runs.path).name == "pair"


def test_a_disk_that_is_full(runs: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    before = runs.table_path("pair").read_bytes()
    with pytest.raises(WriteError, match=r"cannot write .*pair\.parquet: No space left on device"):
        runs.keep_table("pair", runs.table("pair"))
    with pytest.raises(WriteError, match=r"cannot write .*ab\.json: No space left on device"):
        runs.record_failure(FailedRun("ab", "", Failure("X", ""), 1))
    assert runs.table_path("pair").read_bytes() == before
    assert not list(runs.path.rglob("*.partial"))
