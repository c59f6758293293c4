"""From a sweep to points and runs."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import UserError
from gpusim.studies.sweep.plan import Plan, make_plan
from gpusim.studies.sweep.point import ALONE, SHARED, Point
from gpusim.studies.sweep.spec import Sweep
from tests import ROOT
from tests.examples import examples

PAIRS = ["mask/HISTO_LPS", "mask/NW_LPS"]


def plan_of(**fields: Any) -> Plan:
    return make_plan(Sweep(**{"models": "tiny", "workloads": "nw", "scale": "smoke", **fields}))


def point(**fields: Any) -> Point:
    """The one point of a sweep."""
    ((found, _),) = plan_of(**fields).points
    return found


def refusal(**fields: Any) -> str:
    with pytest.raises(UserError) as caught:
        plan_of(**fields)
    return str(caught.value)


# -- points --------------------------------------------------------------------------------------

AXES = {
    "variant": ["baseline", "ideal-tlb", "fixed-walk"],
    "seed": [0, 1, 2],
    "workload": ["nw", "mask/NW"],
    "tlb.L1.entries": [4, 8],
    "workload.n": [32, 48],
    "memory.frames": ["first-touch", "contiguous"],
}


@st.composite
def combinations(draw: st.DrawFn) -> tuple[dict[str, list[Any]], list[dict[str, list[Any]]]]:
    axes = {
        name: draw(st.lists(st.sampled_from(values), min_size=1, unique=True))
        for name, values in AXES.items()
    }
    table = st.fixed_dictionaries(
        {},
        optional={
            name: st.lists(st.sampled_from(values), min_size=1, unique=True)
            for name, values in axes.items()
        },
    ).filter(bool)
    return axes, draw(st.lists(table, max_size=2))


@given(combinations())
@settings(max_examples=examples(50))
def test_every_combination_but_the_excluded_ones_once(
    case: tuple[dict[str, list[Any]], list[dict[str, list[Any]]]],
) -> None:
    axes, exclude = case
    expected = [
        dict(zip(axes, values, strict=True))
        for values in product(*axes.values())
        if not any(
            all(dict(zip(axes, values, strict=True))[name] in table[name] for name in table)
            for table in exclude
        )
    ]
    fields: dict[str, Any] = {
        "variants": axes["variant"],
        "seeds": axes["seed"],
        "workloads": axes["workload"],
        "set": {name: values for name, values in axes.items() if "." in name},
        "exclude": exclude,
    }
    if not expected:
        assert "everything is excluded" in refusal(**fields)
        return
    plan = plan_of(**fields)
    found = [{name: one.values[name] for name in axes} for one, _ in plan.points]
    assert Counter(map(repr, found)) == Counter(map(repr, expected))
    assert len({one for one, _ in plan.points}) == len(expected)
    keys = [key for _, key in plan.points]
    assert set(keys) == set(plan.runs)
    assert len(set(keys)) == len(expected)  # here, no two combinations are the same run
    assert keys == [key for _, key in plan_of(**fields).points]


def test_points_come_in_the_order_of_the_sweep() -> None:
    plan = plan_of(variants=["ideal-tlb", "baseline"], seeds=[3, 1], set={"workload.n": [48, 32]})
    rows = [(one.variant, one.seed, one.values["workload.n"]) for one, _ in plan.points]
    assert rows == list(product(["ideal-tlb", "baseline"], [3, 1], [48, 32]))


def test_keys_that_change_together() -> None:
    plan = plan_of(set={"tlb.L1.entries, tlb.L1.ways": [[16, 4], [8, 2]], "workload.n": [32, 48]})
    assert [one.settings for one, _ in plan.points] == [
        (("tlb.L1.entries", entries), ("tlb.L1.ways", ways), ("workload.n", n))
        for (entries, ways), n in product([("16", "4"), ("8", "2")], ["32", "48"])
    ]


def test_values_are_written_as_for_the_command_line() -> None:
    made = point(set={"tlb.L1.ideal": True, "tlb.L2": "none", "workload.n": 32})
    assert made.settings == (("tlb.L1.ideal", "true"), ("tlb.L2", "none"), ("workload.n", "32"))
    assert made.values["tlb.L1.ideal"] is True
    assert made.values["workload.n"] == 32
    assert made.label == "nw · tiny · baseline · tlb.L1.ideal=true · tlb.L2=none · workload.n=32"


def test_what_is_written_twice_is_one_point() -> None:
    assert (
        len(plan_of(models=["tiny", "tiny"], seeds=[0, 0], set={"clock": ["1GHz"] * 2}).points) == 1
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"models": "tinny"}, ["no model named 'tinny'", "did you mean 'tiny'"]),
        ({"workloads": ["nw", "nww"]}, ["nww · tiny", "no workload named 'nww'", "did you mean"]),
        ({"variants": ["ideal-tbl"]}, ["tiny.toml", "no variant 'ideal-tbl'", "'ideal-tlb'"]),
        ({"variants": ["baseline", "ideal-tlb+x"]}, ["no variant 'x'"]),
        ({"set": {"tlb.L1.entires": [4]}}, ["tlb.L1.entires", "did you mean 'entries'"]),
        ({"set": {"tlb.L1.entries": [8, 9]}}, ["tlb.L1.entries=9", "must divide"]),
        ({"set": {"workload.m": [8]}}, ["workload.m", "unknown parameter", "allowed: diagonals"]),
        ({"set": {"workload.n": [33]}}, ["workload.n=33", "33"]),
        ({"seeds": [-1]}, ["seed -1", "must be 0 or more"]),
        ({"exclude": [{"seed": 0}]}, ["everything is excluded"]),
        ({"alone": "same"}, ["alone: no workload has several applications"]),
        ({"split_step": 1}, ["split_step: no workload has several applications"]),
        ({"workloads": PAIRS[0], "split_step": 2}, ["split_step = 2: 2 SMs are too few for 2 app"]),
        ({"workloads": PAIRS[0], "set": {"sm.count": 1}}, ["an application gets no SM"]),
        ({"workloads": PAIRS[0], "alone": "sane"}, ["no variant 'sane'"]),
    ],
)
def test_wrong_combinations_are_refused_by_name(fields: dict[str, Any], words: list[str]) -> None:
    said = refusal(**fields)
    assert said.startswith("sweep 'sweep': ")
    for word in words:
        assert word in said


def test_an_exclusion_that_excludes_nothing() -> None:
    said = refusal(
        variants=["baseline", "ideal-tlb"],
        exclude=[{"variant": "ideal-tlb"}, {"variant": "ideal-tlb", "seed": [0]}, {"seed": 0}],
    )
    assert "everything is excluded" in said
    nothing = {"variant": "baseline", "seed": 1}
    exclude = [{"variant": "baseline"}, {"variant": "ideal-tlb"}, nothing]
    assert "everything" in refusal(
        variants=["baseline", "ideal-tlb"], seeds=[0, 1], exclude=exclude
    )
    said = refusal(
        workloads=["nw", "histo"],
        set={"tlb.L1.entries, tlb.L1.ways": [[16, 4], [8, 2]]},
        exclude=[{"tlb.L1.entries": 16, "tlb.L1.ways": 2}],
    )
    assert said == (
        "sweep 'sweep': exclude {'tlb.L1.entries': [16], 'tlb.L1.ways': [2]}: "
        "no combination is left out by it"
    )


def test_what_is_excluded_need_not_exist() -> None:
    fields: dict[str, Any] = {
        "workloads": ["nw", "histo"],
        "set": {"workload.n": 32},
        "exclude": {"workload": "histo"},
    }
    assert [one.workload for one, _ in plan_of(**fields).points] == ["nw"]


# -- runs that are the same ----------------------------------------------------------------------


def test_combinations_with_the_same_content_share_a_run() -> None:
    plan = plan_of(
        variants=["baseline", "ideal-dram", "ideal-tlb"],
        set={"dram.ideal": [False, True], "tlb.L1.entries": [8]},  # 8 is what tiny has
    )
    keys = {(one.variant, one.values["dram.ideal"]): key for one, key in plan.points}
    assert keys["baseline", True] == keys["ideal-dram", True]
    assert keys["baseline", False] == keys["ideal-dram", False]
    assert len(plan.points) == 6
    assert len(plan.runs) == 4
    ((_, plain),) = plan_of().points
    assert plain == keys["baseline", False]
    first = next(one for one, key in plan.points if key == plain)
    assert plan.runs[plain].point == first


def test_own_model_and_workload_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = ROOT
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for kind, name in (("models", "tiny"), ("workloads", "nw")):
            text = (root / kind / f"{name}.toml").read_text()
            (tmp_path / folder / f"{name}.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    ((_, shipped),) = plan_of().points
    plan = plan_of(models=["a/tiny.toml", "b/tiny.toml"], workloads=["a/nw.toml", "b/nw.toml"])
    assert {key for _, key in plan.points} == {shipped}  # where a file lies does not count
    (run,) = plan.runs.values()
    assert run.workload.name == str(tmp_path / "a/nw.toml")  # for workers that are elsewhere
    changed = (tmp_path / "b/nw.toml").read_text().replace("n = 64", "n = 48")
    (tmp_path / "b/nw.toml").write_text(changed)
    again = plan_of(models="a/tiny.toml", workloads=["a/nw.toml", "b/nw.toml"])
    assert len(again.runs) == 2  # a file that has changed since is read again


def test_files_that_change_while_a_sweep_goes(tmp_path: Path) -> None:
    graph = tmp_path / "ring.el"
    graph.write_text("0 1\n1 2\n2 3\n3 0\n")
    (run,) = plan_of(workloads="bfs", set={"workload.graph": str(graph)}).runs.values()
    assert run.workload.load().applications[0].inputs == (graph,)
    graph.write_text("0 1\n1 2\n2 3\n3 0\n0 2\n")
    with pytest.raises(UserError, match="'bfs': its files are not those that the sweep began with"):
        run.workload.load()


# -- mixes ---------------------------------------------------------------------------------------


def test_each_application_runs_alone_once_for_all_mixes() -> None:
    plan = plan_of(workloads=PAIRS, variants=["baseline", "ideal-tlb"], alone=["same", "baseline"])
    roles = Counter((one.role, one.application, one.variant) for one, _ in plan.points)
    assert roles[ALONE, "LPS", "baseline"] == roles[ALONE, "LPS", "ideal-tlb"] == 2
    assert roles[ALONE, "HISTO", "baseline"] == roles[ALONE, "NW", "ideal-tlb"] == 1
    assert roles[SHARED, "", "baseline"] == 2
    assert len(plan.points) == 2 * 2 * (1 + 2)
    # 2 pairs and 3 applications, each with 2 variants
    assert len(plan.runs) == 2 * (2 + 3)
    lps = {(one.workload, one.variant): key for one, key in plan.points if one.application == "LPS"}
    assert lps[PAIRS[0], "baseline"] == lps[PAIRS[1], "baseline"]
    assert lps[PAIRS[0], "baseline"] != lps[PAIRS[0], "ideal-tlb"]
    assert {one.sms for one, _ in plan.points if one.role == ALONE} == {(1, 1)}
    for run in plan.runs.values():
        names = [spec.name for spec in run.workload.load().applications]
        assert names == ([run.point.application] if run.point.application else names)


def test_runs_alone_of_one_variant_only() -> None:
    plan = plan_of(workloads=PAIRS[0], variants=["baseline", "ideal-tlb"], alone=["baseline"])
    alone = [one.variant for one, _ in plan.points if one.role == ALONE]
    assert alone == ["baseline", "baseline"]


@pytest.mark.parametrize(("count", "step"), [(2, 1), (6, 1), (6, 2), (7, 2), (7, 3)])
def test_splits_are_all_ways_to_give_out_the_sms(count: int, step: int) -> None:
    plan = plan_of(workloads=PAIRS[0], split_step=step, set={"sm.count": count})
    splits = [one.sms for one, _ in plan.points]
    expected = [(first, count - first) for first in range(step, count - step + 1, step)]
    assert splits == expected
    assert len(plan.runs) == len(expected)


def test_splits_of_three(tmp_path: Path) -> None:
    path = tmp_path / "three.toml"
    path.write_text(
        "[[applications]]\nworkload = 'nw'\nname = 'a'\n[[applications]]\nworkload = 'nw'\n"
        "name = 'b'\n[[applications]]\nworkload = 'lps'\n"
    )
    plan = plan_of(workloads=path, split_step=1, set={"sm.count": 7}, alone="same")
    splits = [one.sms for one, _ in plan.points if one.role == SHARED]
    assert len(splits) == len(set(splits)) == comb(6, 2)
    assert {sum(split) for split in splits} == {7}
    alone = {(one.application, one.sms): key for one, key in plan.points if one.role == ALONE}
    assert len(alone) == 3 * len(splits)
    # An application alone: what the others would have had does not matter.
    assert alone["a", (2, 1, 4)] == alone["a", (2, 4, 1)] != alone["a", (3, 3, 1)]


def test_a_split_in_halves_is_what_the_workload_says() -> None:
    ((_, plain),) = plan_of(workloads=PAIRS[0], set={"sm.count": 4}).points
    plan = plan_of(workloads=PAIRS[0], set={"sm.count": 4}, split_step=1)
    assert {one.sms for one, key in plan.points if key == plain} == {(2, 2)}


def test_mig_instances_run_alone_but_cannot_be_split() -> None:
    fields: dict[str, Any] = {"models": "a100-mig", "workloads": "star/W1"}
    plan = plan_of(**fields, alone="same")
    assert [(one.role, one.application, one.sms) for one, _ in plan.points] == [
        (SHARED, "", ()),
        *((ALONE, name, ()) for name in ("MT", "ATAX", "BICG")),
    ]
    assert "MIG instances or GPUs, which cannot be split otherwise" in refusal(
        **fields, split_step=1
    )
    assert "has MIG instances of 3g+2g+2g" in refusal(workloads="star/W1")
