"""Runs that are stopped before their programs end: their messages, results and refusals."""

from pathlib import Path

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.results.result import Result
from gpusim.runs.stopping import StopRule, parse_rules
from tests.whole.running import command, run
from tests.whole.test_relaunch import pair

SMALL = {"n": 64, "iterations": 4}


def mvt(*until: str) -> Result:
    return run("tiny", "mvt", parameters=SMALL, until=until)


def counted(result: Result, app: str, counter: str) -> int:
    table = result.counters
    rows = table[(table.component == "sm") & (table.app == app) & (table.counter == counter)]
    return int(rows.value.sum())


def met(rule: StopRule, most: int, issued: list[int], step: int = 1) -> int:
    """The cycle in which a rule is met; `issued` are instructions so far, each `step` cycles."""
    watch = rule.watch(most)
    cycle = 0
    while pause := watch.look(cycle, issued[min(cycle // step, len(issued) - 1)]):
        cycle += pause
    return cycle


def rule(text: str) -> StopRule:
    return parse_rules([text], ["a"])["a"]


def test_when_rules_are_met() -> None:
    assert met(rule("1.5kcycles"), 4, [0]) == 1500
    assert met(rule("60instructions"), 4, list(range(0, 200, 3))) == 20, "to the very cycle"
    steady = [*range(0, 500, 50), *range(500, 600, 5)]
    assert met(rule("ipc-stable(1 %, 4 windows, 10cycles)"), 9, steady, 5) == 40
    assert (
        met(rule("ipc-stable(1 %, 3 windows, 25cycles)"), 9, [0, 9, 99, 104, 109, 114], 25) == 125
    )


def test_a_stopped_run_is_a_part_and_says_so() -> None:
    whole, part = mvt(), mvt("600cycles")
    (stop,) = part.stops.itertuples(index=False)
    assert (stop.app, stop.met, stop.cycle) == ("mvt", 1, 600)
    assert stop.instructions == counted(part, "mvt", "instructions")
    assert 0 < stop.instructions < counted(whole, "mvt", "instructions")
    assert stop.warps == 2
    assert part.summary["cycles"] == 600
    assert part.launches.end.max() == 600
    assert "a part of the program: stopped by 600cycles" in part.warnings[0]
    assert "until=mvt=600cycles" in part.provenance.title
    assert part.digest == mvt("mvt=600cycles").digest != whole.digest


def test_a_rule_that_is_not_met_changes_nothing() -> None:
    result = mvt("1Gcycles")
    without = mvt()
    assert result.digest == without.digest
    assert not result.stops.met.any()
    assert "its numbers are of the whole" in result.warnings[0]
    assert without.stops.empty


@pytest.mark.long
def test_each_application_has_its_own_rule_and_goes_on_beside_the_others(tmp_path: Path) -> None:
    model = gpusim.load_model("tiny")
    workload = pair(tmp_path, "never", 4, 10)
    result = gpusim.simulate(model, workload, until=["long=900instructions", "2kcycles"])
    ends = dict(zip(result.stops.app, result.stops.cycle, strict=True))
    assert ends["short"] == result.summary["short/cycles"] == 2000
    assert ends["long"] == result.summary["long/cycles"]
    assert counted(result, "long", "instructions") >= 900
    alone = gpusim.simulate(model, pair(tmp_path, "never", 4, 10), until=["short=2kcycles"])
    assert counted(alone, "short", "instructions") == counted(result, "short", "instructions")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("soon", "no such rule"),
        ("2 cycle", "no such rule"),
        ("0cycles", "above 0"),
        ("1.5cycles", "whole number"),
        ("ipc-stable(0 %, 5 windows)", "above 0 %"),
        ("ipc-stable(2 %, 1 windows)", "at least 2 windows"),
        ("mtv=2kcycles", "no application 'mtv'; did you mean 'mvt'?"),
    ],
)
def test_what_is_no_rule(text: str, message: str) -> None:
    with pytest.raises(UserError, match="until") as caught:
        mvt(text)
    assert message in str(caught.value)


def test_two_rules_for_one_application() -> None:
    with pytest.raises(UserError, match="another rule"):
        mvt("2kcycles", "3kcycles")


def test_on_the_command_line() -> None:
    small = ("--scale", "smoke", "--set", "workload.n=64")
    outcome = command("run", "tiny", "mvt", *small, "--until", "1kcycles")
    assert "stopped by 1kcycles in cycle 1,000" in " ".join(outcome.output.split())
