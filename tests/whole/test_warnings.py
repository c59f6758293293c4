"""A policy that could not do anything in a run is told of: on screen, in files, on pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

import gpusim
from gpusim.core.policy import Ending
from gpusim.hardware.tlb import SetAssociativeArray
from gpusim.results import digest, open_result
from gpusim.runs.writer import ResultWriter
from gpusim.views.report import html_report
from tests.results.conftest import make_run
from tests.whole.running import command, run

TOKENS = {"tlb.L2.fill": {"policy": "mask-tokens", "epoch": 1_000_000}}
LONG = (
    "tlb.L2.fill: 'mask-tokens' never dealt out tokens: its epoch of 1000000 cycles is longer than "
    "the run of "
)


class Worried(SetAssociativeArray):
    """A user's array, one a TLB, which is told of all others."""

    @classmethod
    def warnings(cls, made: Sequence[Worried], ending: Ending) -> Iterable[str]:
        return [f"{len(made)} of us for {', '.join(ending.apps)}"] * 2


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("warned") / "run.h5"
    run("tiny", "atax", overrides=TOKENS, parameters={"n": "128"}, output=path).close()
    return path


def test_a_result_keeps_them(file: Path) -> None:
    with open_result(file) as result:
        (warning,) = result.warnings
        cycles = result.summary["cycles"]
        assert warning == f"{LONG}{cycles} cycles; set tlb.L2.fill.epoch"
        page = html_report(result)
    assert "<b>Warning:</b> tlb.L2.fill: &#39;mask-tokens&#39; never dealt out tokens" in page
    with open_result(file) as result:
        assert result.to_json()["warnings"] == [warning]


def test_what_acts_does_not_warn() -> None:
    overrides = {"tlb.L2.fill": {"policy": "mask-tokens", "epoch": 100}}
    result = run("tiny", "atax", overrides=overrides, parameters={"n": "128"})
    assert result.warnings == ()
    assert "Warning" not in html_report(result)


def test_on_screen_and_in_json() -> None:
    arguments = (
        "run",
        "tiny",
        "atax",
        "--scale",
        "smoke",
        "--set",
        "workload.n=128",
        "--set",
        "tlb.L2.fill.policy=mask-tokens",
        "--set",
        "tlb.L2.fill.epoch=1000000",
    )
    assert f"warning: {LONG}" in " ".join(command(*arguments).stdout.split())
    assert json.loads(command(*arguments, "--json").stdout)["warnings"][0].startswith(LONG)


def test_they_are_stored_but_are_no_part_of_the_digest() -> None:
    told = ("more than 1 µs", "twice")
    with ResultWriter() as writer, writer.finish(make_run(warnings=told)) as result:
        assert result.warnings == told
        assert result.digest == digest(make_run())


def test_a_policy_of_ones_own_is_asked_once_for_all_that_were_made() -> None:
    model = gpusim.load_model("tiny", overrides={"tlb.L1.array": f"{__name__}:Worried"})
    workload = gpusim.load_workload("atax", "smoke", overrides={"n": "128"})
    result = gpusim.simulate(model, workload)
    assert result.warnings == (f"tlb.L1.array: {model.config.sm.count} of us for atax",)


@pytest.mark.long
def test_a_mechanism_of_a_mix_that_never_acts_is_no_secret() -> None:
    """Its run is exactly the one without it, and says so."""
    star = run("a100-mig", "W1", "star")
    tokens = run("a100-mig", "W1", "star", "mask-tokens", overrides={"tlb.L3.fill.epoch": 10**9})
    assert tokens.summary["cycles"] == star.summary["cycles"]
    assert [text.partition(":")[0] for text in tokens.warnings] == ["tlb.L3.fill"]
    assert star.warnings == ()
