"""What translation costs a run: the difference to the same work on a machine without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import gpusim
from gpusim import UserError
from gpusim.cli.main import app
from gpusim.config.ideal_twins import ideal_twins
from gpusim.files.shipped import data_names
from gpusim.machine.load import load_model
from gpusim.results import Result
from gpusim.results.answer import answer
from gpusim.runs.run import Observers, Run
from tests.quick import quick
from tests.whole.running import SMALLER


def cost_of(model: str, *variants: str) -> Result:
    machine = gpusim.load_model(model, variants)
    return gpusim.simulate(machine, workload_of("bfs"), cost=True)


def cycles_of(model: str, *variants: str) -> int:
    machine = gpusim.load_model(model, variants)
    with gpusim.simulate(machine, workload_of("bfs")) as result:
        return int(result.summary["cycles"])


@pytest.mark.parametrize("model", quick(["tiny", "kepler-uvm"], "kepler-uvm"))
def test_the_cost_is_the_difference_of_two_runs(model: str) -> None:
    real, ideal = cycles_of(model), cycles_of(model, "ideal-tlb")
    with cost_of(model) as result:
        summary = result.summary
    assert summary["cycles"] == real > ideal
    assert summary["cycles_without_translation"] == ideal
    assert summary["cost_translation"] == (real - ideal) / real
    assert summary["cost_walks"] + summary["cost_tlbs"] == pytest.approx(
        summary["cost_translation"]
    )


@pytest.mark.long
def test_the_result_is_the_same_with_and_without_it() -> None:
    with cost_of("tiny") as measured, gpusim.simulate("tiny", workload_of("bfs")) as plain:
        assert measured.digest == plain.digest
        assert "cost_translation" not in plain.summary


def workload_of(name: str) -> gpusim.Workload:
    return gpusim.load_workload(name, "smoke", overrides=SMALLER.get(name, {}))


def test_page_faults_are_a_part_of_their_own() -> None:
    with cost_of("tiny", "demand-paging") as result:
        summary = result.summary
        assert "page faults" in answer(result)
    assert summary["cost_faults"] > summary["cost_walks"] >= 0
    assert (1 - summary["cost_faults"]) * summary["cycles"] == pytest.approx(cycles_of("tiny"))


PAIR = """
[[applications]]
name = "matrix"
program = "atax"
smoke.n = 32

[[applications]]
name = "words"
program = "gups"
smoke.log2_words = 14
smoke.threads = 256
smoke.updates = 2
"""


def test_each_application_has_a_cost(tmp_path: Path) -> None:
    (tmp_path / "pair.toml").write_text(PAIR)
    pair = gpusim.load_workload(str(tmp_path / "pair.toml"), "smoke")
    with gpusim.simulate("tiny", pair, cost=True) as result:
        for name in ("matrix", "words"):
            ideal = result.summary[f"{name}/cycles_without_translation"]
            cost = 1 - ideal / result.summary[f"{name}/cycles"]
            assert result.summary[f"{name}/cost_translation"] == pytest.approx(cost)
            assert f"of {name}'s" in answer(result)


def test_runs_that_are_stopped_by_their_length_have_none() -> None:
    with pytest.raises(UserError, match="the same work: not with until 3kcycles"):
        gpusim.simulate("tiny", "atax", cost=True, until="3kcycles")
    with pytest.raises(UserError, match="cost 1: must be true or false"):
        gpusim.simulate("tiny", "atax", cost=1)


SMALL = ("tiny", "a100-mig", "kepler-uvm")
"""Models on which recipes are tried."""


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "wrong",
    [
        {"skip": "nope"},
        {"sample": "nope=3"},
        {"events": "none.jsonl"},
        {"output": "no-folder/run.h5"},
        {"cores": 2},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_wrong_option_is_found_before_twins_are_run(wrong: dict[str, object]) -> None:
    def never(progress: object) -> None:
        pytest.fail("a machine runs")

    with pytest.raises(UserError, match=r"^(?!.*the run without)"):
        gpusim.simulate("tiny", workload_of("bfs"), cost=True, progress=never, **wrong)


@pytest.mark.parametrize("model", quick(data_names("models"), "tiny"))
def test_each_machine_has_twins_that_can_be_built(model: str) -> None:
    """What a recipe adds does not forbid to take translation out."""
    workload = gpusim.load_workload("atax", "smoke", overrides={"n": 32})
    recipes = ("demand-paging", "vc", "mask") if model in SMALL else ()
    for variant in (None, *recipes):
        try:
            loaded = load_model(model, [variant] if variant else [])
        except UserError:
            continue
        with Run(loaded, workload, gpusim.RunOptions(cost=True), Observers()).execute() as result:
            parts = [name for name in result.summary if name.startswith("cost_")]
            assert ("cost_remote" in parts) == (loaded.config.node is not None)
            assert len(parts) == 1 + len(list(ideal_twins(loaded.config)))


@pytest.mark.long
def test_the_sentence_names_no_cost_that_was_not_measured() -> None:
    with gpusim.simulate("tiny", workload_of("bfs")) as result:
        text = answer(result)
        share = f"{result.summary['share_translation']:.1%}".replace("%", " %")
    assert text.startswith(f"Warps wait for translation in {share} of their cycles, ")
    assert text.endswith("What that costs the run is measured with --cost.")
    with cost_of("tiny") as result:
        text = answer(result)
        cost = f"{result.summary['cost_translation']:.1%}".replace("%", " %")
    assert text.startswith(f"Translation costs this run {cost} of its cycles: ")
    assert share in text
    assert "measures" not in text


def test_the_command_line_has_it(tmp_path: Path) -> None:
    output = tmp_path / "run.h5"
    few = ["--scale", "smoke", "--set", "workload.graph.vertices=128"]
    arguments = ["run", "tiny", "bfs", *few, "--cost", "-o", str(output)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert done.output.startswith("Translation costs this run ")
    again = CliRunner().invoke(app, ["show", str(output), "--all"])
    assert again.exit_code == 0, again.output
    assert "cycles that page walks cost" in again.output
