"""Runs of sweeps as the material of a figure."""

from __future__ import annotations

import math

import pytest

from gpusim.studies.reproduce.overlay import Overlay
from gpusim.studies.reproduce.run import _rows
from gpusim.studies.reproduce.tables import Material
from gpusim.studies.sweep.spec import SAME, Sweep
from tests.studies.sweep.made_up import make_up


@pytest.mark.parametrize("wanted", ["true", True])
def test_designs_are_told_apart_by_true_and_false(tmp_path, wanted):
    sweep = Sweep(models="tiny", workloads="nw", scale="smoke", set={"tlb.L1.ideal": [True, False]})
    results = make_up(
        tmp_path / "runs", sweep, lambda p: {"cycles": 1.0 + bool(p.values["tlb.L1.ideal"])}
    )
    runs = _rows([results], Overlay())
    assert sorted(runs["tlb.L1.ideal"]) == ["false", "true"]
    designs = {"ideal": {"tlb.L1.ideal": wanted}, "none": {"tlb.L1.ideal": "maybe"}}
    row = Material("smoke", runs).numbers("cycles", {"nw": "nw"}, designs).loc["nw"]
    assert row["ideal"] == 2.0
    assert math.isnan(row["none"])


def test_designs_lie_on_the_machine_of_the_scale(tmp_path):
    designs = ["baseline", "ideal-tlb", "fixed-walk+ideal-dram"]
    sweep = Sweep(models="tiny", workloads="nw", scale="smoke", variants=designs)
    assert Overlay().over(sweep) == (sweep,)
    (laid,) = Overlay(machine="ideal-crossbar").over(sweep)
    assert laid.variants == (
        "ideal-crossbar",
        "ideal-crossbar+ideal-tlb",
        "ideal-crossbar+fixed-walk+ideal-dram",
    )
    results = make_up(tmp_path / "runs", laid, lambda p: {"cycles": float(len(p.variant))})
    runs = _rows([results], Overlay(machine="ideal-crossbar"))
    assert list(runs["variant"]) == designs
    assert list(runs["cycles"]) == [float(len(name)) for name in laid.variants]


def test_runs_alone_lie_there_too():
    sweep = Sweep(models="tiny", workloads="nw", alone=[SAME, "baseline", "ideal-tlb"])
    (laid,) = Overlay(machine="fixed-walk").over(sweep)
    assert laid.alone == (SAME, "fixed-walk", "fixed-walk+ideal-tlb")
