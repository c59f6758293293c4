"""Options of a run: one field each, from Python, from the command line, repeated, and in sweeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import gpusim
from gpusim import Blocks, Cycles, Instructions, IpcStable, Launches, RunOptions, UserError, Windows
from gpusim.cli.main import app
from gpusim.runs.options import flag_of, option_fields, run_options
from gpusim.runs.skipping import parse_skip
from gpusim.runs.stopping import parse_rules
from gpusim.runs.windows.plan import parse_sample
from gpusim.studies.sweep.plan import make_plan
from gpusim.studies.sweep.spec import Sweep

ATAX = ["tiny", "atax", "--scale", "smoke"]


def gpusim_run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["run", *ATAX, *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def refused(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["run", *ATAX, *arguments])
    assert done.exit_code == 2
    return done.output


# -- values of Python are texts of the command line ----------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Launches(3), "3launches"),
        (Blocks(1000), "1kblocks"),
        (Instructions(5_000_000), "5Minstructions"),
        (Instructions(1_500), "1500instructions"),
    ],
)
def test_what_is_skipped(value: Launches, text: str) -> None:
    assert RunOptions(skip=value) == RunOptions(skip=text)
    skipped = parse_skip(RunOptions(skip=value).skip)
    assert (skipped.count, skipped.unit) == (value.count, value.unit)


def test_rules() -> None:
    stable = IpcStable(0.02, 20, Cycles(10_000))
    options = RunOptions(until={"a": Cycles(2_000_000), "b": stable})
    assert options.until == ("a=2Mcycles", "b=ipc-stable(2 %, 20 windows, 10kcycles)")
    assert set(parse_rules(options.until, ["a", "b"])) == {"a", "b"}
    assert RunOptions(until=Cycles(7)).until == ("7cycles",)


def test_windows() -> None:
    plan = parse_sample(
        RunOptions(sample=Windows(30, Instructions(100_000), Instructions(50_000), seed=1)).sample
    )
    assert (plan.windows, plan.length.count, plan.warm.count, plan.seed) == (30, 10**5, 50_000, 1)
    assert parse_sample(str(Windows(10))).length.unit == "launch"


@pytest.mark.parametrize("count", [0, -1, 10**18 + 1])
def test_an_amount_is_a_whole_number_above_0(count: int) -> None:
    with pytest.raises(ValueError, match=r"count|at most"):
        Cycles(count)


def test_what_python_gives_is_checked() -> None:
    with pytest.raises(UserError, match="no option 'skipp'; did you mean 'skip'"):
        gpusim.simulate("tiny", "atax", skipp="3launches")
    with pytest.raises(UserError, match=r"skip: .*must be a text or one of Launches"):
        gpusim.simulate("tiny", "atax", skip=3)
    with pytest.raises(UserError, match="log_every True: must be a whole number"):
        run_options({"log_every": True})
    with pytest.raises(UserError, match="log_every 5: needs a file"):
        run_options({"log_every": 5})


def test_python_and_the_command_line_are_one(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    gpusim_run("--until", "3kcycles", "-o", str(path))
    with (
        gpusim.open_result(path) as told,
        gpusim.simulate(
            "tiny", gpusim.load_workload("atax", "smoke"), until=Cycles(3_000)
        ) as result,
    ):
        assert told.digest == result.digest
        assert told.stops.iloc[0]["rule"] == result.stops.iloc[0]["rule"] == "3kcycles"


# -- every option, wherever runs are asked for ---------------------------------------------------


def test_every_option_has_a_flag_and_a_sentence() -> None:
    shown = CliRunner().invoke(app, ["run", "--help"], terminal_width=200).output
    for one in option_fields():
        assert flag_of(one.name) in shown
        assert one.metadata["facts"].help.endswith((".", "…"))
        assert f"        {one.name}: " in (RunOptions.__doc__ or "")


def test_options_of_repeated_runs(tmp_path: Path) -> None:
    output, log = tmp_path / "x.h5", tmp_path / "x.jsonl"
    arguments = ("-o", str(output), "--log", str(log), "--log-every", "500", "--record", "walks")
    gpusim_run(*arguments, "--until", "3kcycles", "--seeds", "2")
    for seed in (0, 1):
        with gpusim.open_result(tmp_path / f"x.seed-{seed}.h5") as result:
            assert result.stops.iloc[0]["met"]
            assert len(result.table("walks")) > 0
        lines = (tmp_path / f"x.seed-{seed}.jsonl").read_text().splitlines()
        assert json.loads(lines[-1])["event"] == "end"
        assert len(lines) > 2
    assert not output.exists()
    assert not log.exists()


@pytest.mark.long
def test_a_sampled_run_is_repeated() -> None:
    sample = "windows=2,length=500instructions,warm=100instructions"
    told = json.loads(gpusim_run("--sample", sample, "--seeds", "2", "--json"))
    assert len(told["digests"]) == 2


def test_a_checkpoint_is_of_one_seed() -> None:
    assert "--from: a checkpoint is of one seed" in refused("--from", "x", "--seeds", "2")


def test_options_of_sweeps(tmp_path: Path) -> None:
    run = {"until": "3kcycles", "events": "e.jsonl"}
    (planned,) = make_plan(
        Sweep(models="tiny", workloads="atax", scale="smoke", run={"until": ["3kcycles"]})
    ).runs.values()
    assert planned.options.until == ("3kcycles",)
    sweep = Sweep(models="tiny", workloads="atax", record="walks", run=run)
    options = sweep.options(tmp_path)
    assert options.events == tmp_path / "e.jsonl"
    assert options.arguments() == (
        *("--record", "walks", "--events", str(tmp_path / "e.jsonl"), "--until", "3kcycles"),
    )


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"untill": "3kcycles"}, "run.untill: a run has no option 'untill'; did you mean 'until'"),
        ({"log": "x"}, "run.log: a sweep names the files of its runs itself"),
        ({"record": "walks"}, "run.record: write it as record"),
        ({"skip": 3}, "run.skip: skip: 3: must be a text"),
    ],
)
def test_wrong_options_of_sweeps(run: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Sweep(models="tiny", workloads="atax", run=run)
