"""Two applications on the same SMs, by the recipes `mps` and `time-slices`."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.results import Result
from tests.quick import quick
from tests.whole.test_every_recipe import SMALLER

PAIR = """
[[applications]]
workload = "mvt"
smoke = {{ n = 64, iterations = 1 }}
{0}

[[applications]]
workload = "gups"
smoke = {{ log2_words = 14, threads = 1024, updates = 2 }}
{1}
"""
MODELS = quick(["tiny", "kepler-uvm", "v100", "h100"], "kepler-uvm")


def workload(folder: Path, *more: str) -> gpusim.Workload:
    path = folder / "pair.toml"
    path.write_text(PAIR.format(*(more or ("", ""))), encoding="utf-8")
    return gpusim.load_workload(str(path), "smoke")


def shared(folder: Path, model: str, recipe: str, **overrides: object) -> Result:
    smaller = {**SMALLER.get(model, {}), **overrides}
    return gpusim.simulate(
        gpusim.load_model(model, [recipe], smaller), workload(folder), record=["intervals"]
    )


def sms_with_both(result: Result) -> int:
    """SMs on which warps of both applications were at once."""
    intervals = result.table("intervals")
    found = 0
    for _, own in intervals.groupby("sm"):
        lives = own.groupby(["app", "warp"]).agg(begin=("begin", "min"), end=("end", "max"))
        spans = [lives.loc[app].to_numpy() for app in set(own.app)]
        if len(spans) == 2:
            (a, b), (c, d) = (one.T for one in spans)
            found += bool(((a[:, None] < d) & (c < b[:, None])).any())
    return found


@pytest.mark.parametrize("model", MODELS)
def test_blocks_of_both_are_on_an_sm_at_once(tmp_path: Path, model: str) -> None:
    with shared(tmp_path, model, "mps") as result:
        assert sms_with_both(result) > 0
        sms = range(gpusim.load_model(model, [], SMALLER.get(model, {})).config.sm.count)
        assert result.applications.sms.tolist() == [tuple(sms)] * 2
        digest = result.digest
    assert shared(tmp_path, model, "mps").digest == digest


@pytest.mark.parametrize("model", MODELS)
def test_never_at_once_in_slices(tmp_path: Path, model: str) -> None:
    changes = {"sharing.length": "2000 cycles", "sharing.switch": "100 cycles"}
    with shared(tmp_path, model, "time-slices", **changes) as result:
        assert sms_with_both(result) == 0
        assert result.summary["mvt/time_slices"] >= 1
        assert result.summary["gups/time_slices"] >= 1
        launches = result.launches
        assert launches.end.max() == result.summary["cycles"]
        held = result.counter_tree()["sharing"]
        assert held
        digest = result.digest
    assert shared(tmp_path, model, "time-slices", **changes).digest == digest


def test_each_has_the_work_that_it_has_alone(tmp_path: Path) -> None:
    names = ("instructions", "transactions", "tlb_L1_lookups")
    plain = gpusim.simulate("tiny", workload(tmp_path)).summary
    for recipe in ("mps", "time-slices"):
        summary = shared(tmp_path, "tiny", recipe).summary
        for app in ("mvt", "gups"):
            for name in names:
                assert summary[f"{app}/{name}"] == plain[f"{app}/{name}"]


def test_a_share_of_threads(tmp_path: Path) -> None:
    model = gpusim.load_model("tiny", ["mps"])
    shares = workload(tmp_path, "share = 0.5", "share = 0.5")
    with gpusim.simulate(model, shares, record=["intervals"]) as result:
        intervals = result.table("intervals")
        lives = intervals.groupby(["sm", "app", "warp"]).agg(b=("begin", "min"), e=("end", "max"))
        threads = model.config.sm.max_threads
        for _, own in lives.groupby(["sm", "app"]):
            b, e = own.b.to_numpy(), own.e.to_numpy()
            most = int(((b[:, None] >= b) & (b[:, None] < e)).sum(axis=1).max())
            assert most * model.config.sm.warp_size <= threads / 2


def test_what_cannot_be_shared_is_refused(tmp_path: Path) -> None:
    model = gpusim.load_model("tiny", ["mps"])
    with pytest.raises(UserError, match="of applications with SMs of their own: not with sharing"):
        gpusim.simulate(model, workload(tmp_path), skip="1launches")
    mig = gpusim.load_model("a100-mig", ["time-slices"], SMALLER["a100-mig"])
    instances = workload(tmp_path, 'instance = "3g"', 'instance = "3g"')
    with pytest.raises(UserError, match="has MIG instances, each with SMs of its own: not with"):
        gpusim.simulate(mig, instances)
    with pytest.raises(UserError, match="length"):
        gpusim.load_model("tiny", ["time-slices"], {"sharing.length": "0 cycles"})


@pytest.mark.long
def test_one_that_ends_early_runs_again(tmp_path: Path) -> None:
    path = tmp_path / "again.toml"
    text = 'relaunch = "until-all-have-run"\n' + PAIR.format("", "")
    path.write_text(text, encoding="utf-8")
    again = gpusim.load_workload(str(path), "smoke")
    for recipe in ("mps", "time-slices"):
        with gpusim.simulate(gpusim.load_model("tiny", [recipe]), again) as result:
            assert len(result.applications) == 2
            assert result.summary["cycles"] == result.applications.end.max()
