"""Runs of sweeps as the material of a figure."""

from __future__ import annotations

import math

import pytest

from gpusim.reproduce.figure import Material
from gpusim.reproduce.run import _rows
from gpusim.sweep.spec import Sweep
from tests.sweep.made_up import make_up


@pytest.mark.parametrize("wanted", ["true", True])
def test_designs_are_told_apart_by_true_and_false(tmp_path, wanted):
    sweep = Sweep(models="tiny", workloads="nw", scale="smoke", set={"tlb.L1.ideal": [True, False]})
    results = make_up(
        tmp_path / "runs", sweep, lambda p: {"cycles": 1.0 + bool(p.values["tlb.L1.ideal"])}
    )
    runs = _rows([results], "baseline")
    assert sorted(runs["tlb.L1.ideal"]) == ["false", "true"]
    designs = {"ideal": {"tlb.L1.ideal": wanted}, "none": {"tlb.L1.ideal": "maybe"}}
    row = Material("smoke", runs).numbers("cycles", {"nw": "nw"}, designs).loc["nw"]
    assert row["ideal"] == 2.0
    assert math.isnan(row["none"])
