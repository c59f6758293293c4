"""MASK's TLB-fill tokens in whole runs: where they change nothing, and what they leave behind."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.machine.load import load_model
from gpusim.results.result import Result
from tests.quick import quick
from tests.whole.running import command, run
from tests.whole.test_mechanisms import assert_same, counters
from tests.whole.test_relaunch import pair

Fill = dict[str, object]
SMALL = {"tlb.L1.entries": 2, "tlb.L1.ways": 2}
"""So that the short application misses it all the time."""
ALWAYS_80: Fill = {"policy": "mask-tokens", "initial": 0.8, "step": 0.0}


def pair_on_tiny(
    folder: Path, rule: str = "never", fill: Fill | None = None, **keys: object
) -> Result:
    overrides = {} if fill is None else {"tlb.L2.fill": {"policy": "mask-tokens", **fill}}
    model = load_model("tiny", (), overrides | keys)
    return gpusim.simulate(model, pair(folder, rule), record=["epochs"])


def of_app(result: Result, app: str) -> dict[str, int]:
    return {key[3]: value for key, value in counters(result).items() if key[::2] == ("tlb/L2", app)}


@pytest.mark.parametrize("token_policy", quick(["paper", "hillclimb"], "paper"))
def test_tokens_for_all_warps_are_the_shared_tlb(token_policy: str, tmp_path: Path) -> None:
    fill: Fill = {"initial": 1.0, "step": 0.0, "bypass_entries": 0, "token_policy": token_policy}
    base = pair_on_tiny(tmp_path)
    own = assert_same(base, pair_on_tiny(tmp_path, fill={**fill, "epoch": 100, "accesses": 25}))
    totals = {name: sum(v for key, v in own.items() if key[3] == name) for *_, name in own}
    assert totals["epochs"] > 50
    assert totals["epoch_tokens"] == totals["epoch_warps"]
    assert totals["bypass_fills"] == totals["bypass_hits"] == 0


@pytest.mark.long
def test_the_first_epoch_is_the_shared_tlb() -> None:
    assert_same(
        run("maxwell-mask", "mask/RAY", "shared-tlb"),
        run("maxwell-mask", "mask/RAY", "mask-tlb", overrides={"tlb.L2.fill.bypass_entries": 0}),
    )


@pytest.mark.long
def test_some_fifth_of_the_fills_is_denied() -> None:
    """80 % of all warps hold tokens; gups misses with all of its warps alike."""
    result = gpusim.simulate(
        load_model("maxwell-mask", ["mask-tlb"], {"tlb.L2.fill": {**ALWAYS_80, "epoch": 4000}}),
        gpusim.load_workload("mask/SCP_GUP", "smoke"),
        record=["epochs"],
    )
    epochs = result.table("epochs")
    assert (epochs.tokens / epochs.warps).mean() == pytest.approx(0.8, abs=0.1)
    gups = of_app(result, "GUP")
    assert gups["epochs"] >= 8
    assert 0.15 < gups["bypass_fills"] / gups["fills"] < 0.25


@pytest.mark.parametrize(
    "fill",
    [{"epoch": 1000, "initial": 0.3}, {"token_policy": "hillclimb", "accesses": 50, "step": 0.3}],
)
def test_two_applications(fill: Fill, tmp_path: Path) -> None:
    result = pair_on_tiny(tmp_path, fill=fill, **SMALL)
    epochs = result.table("epochs")
    assert epochs.level.eq(1).all()
    assert epochs.tokens.between(1, epochs.warps).all()
    assert (epochs.tokens < epochs.warps).any()
    hits = probes = 0
    for number, app in enumerate(("short", "long")):
        told, own = epochs[epochs.app == number], of_app(result, app)
        assert own["array_fills"] + own["bypass_fills"] == own["fills"]
        assert own["bypass_probes"] == own["misses"] + own["bypass_hits"]
        assert own["bypass_hits"] <= own["hits"]
        if "token_policy" not in fill:  # hill climbing counts lookups of the first TLBs, too
            assert told.hits.sum() <= own["hits"]
            assert told.misses.sum() <= own["misses"]
        assert (len(told), told.warps.sum(), told.tokens.sum()) == (
            own["epochs"],
            own["epoch_warps"],
            own["epoch_tokens"],
        )
        assert told.end.is_monotonic_increasing
        hits, probes = hits + own["bypass_hits"], probes + own["bypass_probes"]
    assert hits > 0
    assert result.summary["tlb_L2_bypass_hit_rate"] == hits / probes
    assert of_app(result, "long")["bypass_fills"] > 0


@pytest.mark.long
def test_an_application_that_runs_again_keeps_its_tokens(tmp_path: Path) -> None:
    result = pair_on_tiny(tmp_path, "until-all-have-run", {"epoch": 500}, **SMALL)
    epochs = result.table("epochs")
    short = epochs[epochs.app == 0]
    assert short.end.max() > result.summary["short/cycles"] + 500, "its later runs are told, too"
    assert len(short) > of_app(result, "short")["epochs"], "but its counters are of the first"
    again = pair_on_tiny(tmp_path, "until-all-have-run", {"epoch": 500}, **SMALL)
    assert again.digest == result.digest
    assert again.table("epochs").equals(epochs)


def test_both_levels_and_other_arrays(tmp_path: Path) -> None:
    fill: Fill = {"policy": "mask-tokens", "epoch": 200, "initial": 0.0, "step": 0.0}
    for array in ("set-associative", "cluster"):
        overrides = {"tlb.L1.fill": fill, "tlb.L2.fill": fill, "tlb.L2.array": array}
        result = gpusim.simulate(load_model("tiny", (), overrides), pair(tmp_path, "never"))
        for level in ("L1", "L2"):
            assert result.summary[f"tlb_{level}_bypass_hit_rate"] > 0


def test_the_variant() -> None:
    model = load_model("maxwell-mask", ["mask-tlb"])
    assert [level.fill.policy for level in model.config.tlb.values()] == ["always", "mask-tokens"]
    assert "maxwell-mask" in command("show", "maxwell-mask", "--variant", "mask-tlb").output
    assert "mask-tokens" in command("list", "policies").output
    assert "epochs" in command("list", "records").output


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tlb.L2.fill": "mask-token"}, ["tlb.L2.fill", "did you mean 'mask-tokens'", "always"]),
        ({"tlb.L2.fill": 3}, ["tlb.L2.fill", "name of a policy"]),
        (
            {"tlb.L2.fill.policy": "mask-tokens", "tlb.L2.fill.initial": 1.5},
            ["tlb.L2.fill.initial = 1.5", "1 or less"],
        ),
        (
            {"tlb.L1.fill.policy": "mask-tokens", "tlb.L1.fill.token_policy": "papers"},
            ["tlb.L1.fill.token_policy = 'papers'", "did you mean 'paper'"],
        ),
        (
            {"tlb.L2.fill": {"policy": "mask-tokens", "epochs": 9}},
            ["no option 'epochs'", "did you mean 'epoch'"],
        ),
        (
            {"tlb.L2.fill": {"policy": "mask-tokens", "epoch": 1e5}},
            ["tlb.L2.fill.epoch", "of type int"],
        ),
        ({"tlb.L2.fill": {"policy": "always", "epoch": 1}}, ["no option 'epoch'", "it has none"]),
        (
            {"tlb.L2.fill": "gpusim.hardware.tlb:IdealArray"},
            ["IdealArray lacks", "admits", "FillPolicy"],
        ),
    ],
)
def test_refused_when_loaded(settings: dict[str, object], words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        load_model("tiny", (), settings)
    assert [word for word in words if word not in str(caught.value)] == []
