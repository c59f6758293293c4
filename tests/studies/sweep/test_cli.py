"""`gpusim sweep`, from outside."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import h5py
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from gpusim.cli import sweep_view
from gpusim.cli.main import app
from gpusim.cli.sweep_view import show, sweep_progress
from gpusim.studies.sweep.progress import SweepProgress

pytestmark = pytest.mark.usefixtures("forked_workers")

SPEC = """
title = "Small squares"
models = ["tiny"]
workloads = ["nw"]
scale = "smoke"
[set]
"workload.n" = [32, 48]
"""
BROKEN = SPEC.replace("[32, 48]", "32") + '"watchdog" = ["1 cycles", "100000 cycles"]\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("squares.toml").write_text(SPEC)
    Path("broken.toml").write_text(BROKEN)


def run(*arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, ["sweep", *arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.stderr
    return result


def events(name: str) -> list[str]:
    lines = Path("runs", f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line)["event"] for line in lines]


def test_a_sweep_from_dry_run_to_status(monkeypatch: pytest.MonkeyPatch) -> None:
    text = run("squares.toml", "-o", "runs", "--dry-run").stdout
    assert "nw · tiny · baseline · workload.n=32\n" in text
    assert "2 combinations need 2 runs: 0 are there, 0 failed before, 2 to run; " in text
    assert "nothing like them has been run here yet" in text
    assert not Path("runs").exists()

    text = run("squares.toml", "-o", "runs", "-j", "1").stdout
    assert "squares: 2 combinations, 2 runs" in text
    assert "workload.n" in text
    table = pd.read_parquet("runs/squares.parquet")
    for cycles in table["cycles"]:
        assert f" {int(cycles):,} " in text
    assert str(Path("runs/squares.parquet").absolute()) in text.replace("\n", "")
    assert events("squares").count("done") == 2

    monkeypatch.setattr(h5py, "File", lambda *_, **__: pytest.fail("a result was opened"))
    again = run("squares.toml", "-o", "runs", "--json")  # runs nothing
    assert events("squares").count("done") == 2
    assert again.stderr == ""
    said = json.loads(again.stdout)
    assert [row["cycles"] for row in said["combinations"]] == table["cycles"].tolist()
    assert [row["state"] for row in said["combinations"]] == ["done", "done"]
    assert said["units"]["cycles"] == "cycles"
    assert (said["name"], said["failures"], said["picture"]) == ("squares", [], None)

    text = run("squares.toml", "-o", "runs", "--dry-run").stdout
    assert "2 combinations need 2 runs: 2 are there, 0 failed before, 0 to run; nothing is" in text
    Path("squares.toml").write_text(SPEC.replace("48]", "48, 64]"))
    text = run("squares.toml", "-o", "runs", "--dry-run", "-j", "3").stdout
    assert "2 are there, 0 failed before, 1 to run; by earlier runs, about " in text
    ahead = json.loads(run("squares.toml", "-o", "runs", "--dry-run", "--json").stdout)
    assert ahead["todo"] == ["nw · tiny · baseline · workload.n=64"]
    assert ahead["seconds"] == pytest.approx(table["seconds"].mean())

    text = run("--status", "runs").stdout
    assert [cell.strip() for cell in text.splitlines()[3].split("│")[1:7]] == [
        "squares",
        "2",
        "2",
        "0",
        "0",
        "0",
    ]
    (status,) = json.loads(run("--status", "runs", "--json").stdout)
    assert (status["name"], status["runs"], status["done"], status["causes"]) == (
        "squares",
        2,
        2,
        {},
    )


@pytest.mark.long
def test_failures_are_told_and_the_exit_code_is_1() -> None:
    text = run("broken.toml", "-o", "runs", "-j", "1", code=1).stdout
    assert text.count("DeadlockError") == 2  # of the combination, and of the failure
    assert "nothing moved in 1" in text
    (failure,) = Path("runs/failures").iterdir()
    assert f"failures/{failure.name}" in text
    assert "the same command with --retry-failed tries them once more" in text
    assert Path("runs/broken.parquet").is_file()

    said = json.loads(run("broken.toml", "-o", "runs", "--json", code=1).stdout)
    assert events("broken").count("started") == 2  # not tried again
    assert said["failures"][0]["failure"]["cause"] == "DeadlockError"
    assert [row["cycles"] is None for row in said["combinations"]] == [True, False]

    text = run("broken.toml", "-o", "runs", "--dry-run").stdout
    assert "1 are there, 1 failed before (--retry-failed tries them once more), 0 to run" in text
    ahead = json.loads(
        run("broken.toml", "-o", "runs", "--dry-run", "--retry-failed", "--json").stdout
    )
    assert (ahead["failed"], len(ahead["todo"])) == (0, 1)
    assert "1 × DeadlockError" in run("--status", "runs").stdout

    run("broken.toml", "-o", "runs", "--retry-failed", "-j", "1", code=1)
    assert events("broken").count("started") == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "gpusim sweep SPEC -o DIR, or --status DIR"),
        (["squares.toml"], "needs a sweep and a folder"),
        (["-o", "runs"], "needs a sweep and a folder"),
        (["nowhere.toml", "-o", "runs"], "no experiment file 'nowhere.toml'"),
        (["l1-tlb-rich", "-o", "runs"], "did you mean 'l1-tlb-reach'"),
        (
            ["squares.toml", "-o", "."],
            "is no folder of runs: it holds broken.toml, squares.toml, wrong.toml; n",
        ),
        (["squares.toml", "-o", ".", "--dry-run"], "is no folder of runs: it has no gpusim-runs"),
        (["squares.toml", "-o", "broken.toml"], "it is, or lies in, a file"),
        (["squares.toml", "-o", "runs", "--scale", "huge"], "no scale 'huge'"),
        (["squares.toml", "-o", "runs", "--time-limit", "0"], "must be above 0"),
        (["squares.toml", "--status", "runs"], "without SPEC and -o"),
        (["--status", "nowhere"], "nowhere is no folder of runs: it does not exist"),
        (["--status", "."], "is no folder of runs: it has no gpusim-runs.json"),
        (["wrong.toml", "-o", "runs"], "wrong.toml:2: modles: unknown key; did you mean 'models'"),
    ],
)
def test_mistakes_are_a_message_and_exit_code_2(arguments: list[str], words: str) -> None:
    Path("wrong.toml").write_text(SPEC.replace("title", "modles").replace('"Small squares"', "3"))
    before = sorted(Path().iterdir())
    result = run(*arguments, code=2)
    assert words in result.stderr
    assert result.stderr.startswith("gpusim: ")
    assert result.stdout == ""
    assert sorted(Path().iterdir()) == before


@pytest.mark.long
def test_a_picture_that_cannot_be_drawn_hides_no_results() -> None:
    Path("squares.toml").write_text(SPEC + '[plot]\nvalue = "cycels"\nx = "workload.n"\n')
    result = run("squares.toml", "-o", "runs", "-j", "1", code=2)
    assert "no number 'cycels'; did you mean 'cycles'" in result.stderr
    assert "squares: 2 combinations" in result.stdout
    Path("squares.toml").write_text(SPEC + '[plot]\nvalue = "cycles"\nx = "workload.n"\n')
    said = json.loads(run("squares.toml", "-o", "runs", "--json").stdout)
    assert said["picture"] == str(Path("runs/squares.png").absolute())
    assert Path("runs/squares.png").read_bytes().startswith(b"\x89PNG")


def test_a_sweep_of_many_is_cut_for_the_eye(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusim.cli.sweep_tables._ROWS", 2)
    Path("squares.toml").write_text(SPEC.replace("48]", "48, 64, 80]"))
    text = run("squares.toml", "-o", "runs", "--dry-run").stdout
    assert text.count("workload.n=") == 2
    assert "and 2 more" in text


# -- the view ------------------------------------------------------------------------------------

RUNNING = tuple((f"a label that is long: {number}" * 4, 4000.0 / number) for number in range(1, 6))
PROGRESS = SweepProgress(
    total=120, reused=20, done=30, failed=2, running=RUNNING, seconds_left=7200.0
)


def lines(progress: SweepProgress, width: int, title: str = "A study") -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(show(progress, title, 75.0, width))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [20, 30, 40, 60, 100])
def test_the_panel_fits_and_tells_most_in_any_terminal(width: int) -> None:
    shown = lines(PROGRESS, width, "A title that is much longer than the panel is wide" * 3)
    assert len(shown) == 2 + 2 + 3  # borders, progress and counts, the three slowest
    assert {len(line) for line in shown} == {width}
    assert "52/120" in shown[1]
    assert "2 failed, 30" in shown[2]
    assert [line[2:10] for line in shown[3:6]] == [" 1:06:40", "   33:20", "   22:13"]
    if width >= 60:
        assert "52/120 runs  1:15, 2:00:00 left" in shown[1]
        assert "2 failed, 30 done, 5 running, 20 there before" in shown[2]
        assert "a label that is long: 1" in shown[3]


def test_the_panel_before_anything_is_known() -> None:
    shown = lines(SweepProgress(3, 0, 0, 0, (), None), 60)
    assert "0/3 runs  1:15, ? left" in shown[1]
    assert "nothing yet" in shown[2]
    assert len(shown) == 4
    assert "0/0 runs" in lines(SweepProgress(0, 0, 0, 0, (), None), 60)[1]


def test_a_line_now_and_then_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(sweep_view.time, "monotonic", lambda: clock[-1])
    with sweep_progress("A study") as report:
        for seconds in (0.0, 10.0, 30.0, 31.0, 59.0, 61.0):
            clock.append(1000.0 + seconds)
            report(PROGRESS)
    said = capsys.readouterr()
    assert said.out == ""
    counts = "2 failed, 30 done, 5 running, 20 there before"
    assert said.err.splitlines() == [
        f"52/120 runs ({counts}), 0:30, 2:00:00 left",
        f"52/120 runs ({counts}), 1:01, 2:00:00 left",
    ]
