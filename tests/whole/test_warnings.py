"""A policy that could not do anything in a run is named: on screen, in files, on pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from attrs import define

import gpusim
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.metrics import Formula, Metric, Number, Scope, declare_metrics
from gpusim.core.policy import Ending
from gpusim.core.tally import Sum, sum_of
from gpusim.hardware.tlb import SetAssociativeArray
from gpusim.machine import Machine
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
    """A user's array, one a TLB, whose class is given all others."""

    @classmethod
    def warnings(cls, made: Sequence[Worried], ending: Ending) -> Iterable[str]:
        return [f"{len(made)} of us for {', '.join(ending.apps)}"] * 2


class Failing(SetAssociativeArray):
    """A user's array with a mistake in what it says at the end."""

    @classmethod
    def warnings(cls, made: Sequence[Failing], ending: Ending) -> Iterable[str]:
        yield "all is well"
        raise LookupError(len(made))


@define
class OnlookerCounters:
    seen: int = count("what it saw")


class Reciprocal(Formula):
    """A user's formula that does not expect 0."""

    @property
    def sums(self) -> Sequence[Sum]:
        return (sum_of("seen"),)

    def value(self, paths: Sequence[str], scope: Scope) -> Number:
        return 1 / (scope.tally.total(paths[0], self.sums[0]) or 0)


declare_metrics(OnlookerCounters, Metric("unseen", "1", "of what it saw", Reciprocal()))


class FailingOnlooker(Component):
    """A user's component with mistakes in its warnings and in its headline number."""

    path = name = "onlooker"

    def __init__(self) -> None:
        self.counters = OnlookerCounters()

    def shared_counters(self) -> Iterable[object]:
        return (self.counters,)

    def warnings(self) -> Iterable[str]:
        raise ZeroDivisionError("of nothing")


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


def test_a_mistake_in_what_is_told_at_the_end_does_not_cost_the_result() -> None:
    def attach(machine: Machine) -> None:
        machine.add(FailingOnlooker())

    good = run("tiny", "atax", parameters={"n": "128"})
    arrays = {f"tlb.{level}.array": f"{__name__}:Failing" for level in ("L1", "L2")}
    result = run("tiny", "atax", overrides=arrays, parameters={"n": "128"}, attach=attach)
    assert result.summary["cycles"] == good.summary["cycles"]
    sms = gpusim.load_model("tiny").config.sm.count
    said = "Failing failed to say what it warns of: LookupError:"
    assert result.warnings == (
        "onlooker failed to say what it warns of: ZeroDivisionError: of nothing",
        f"tlb.L1.array: {said} {sms}",
        f"tlb.L2.array: {said} 1",
        "the headline number 'unseen' is left out: ZeroDivisionError: division by zero",
    )
    assert "unseen" not in result.summary
