"""Slowdowns, weighted speedup and the oracle's split, against numbers worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from gpusim import load_model, load_workload, run_sweep, simulate
from gpusim.core.errors import UserError
from gpusim.studies.sweep.metrics import weighted_speedup
from gpusim.studies.sweep.point import ALONE, Point
from gpusim.studies.sweep.results import open_sweep
from gpusim.studies.sweep.spec import Sweep
from tests.studies.sweep.made_up import make_up

pytestmark = pytest.mark.usefixtures("forked_workers")

PAIR = "mask/NW_LPS"
SPLITS = Sweep(
    name="splits",
    models="tiny",
    workloads=PAIR,
    scale="smoke",
    variants=["baseline", "ideal-tlb"],
    set={"sm.count": 4},
    split_step=1,
    alone=["same", "ideal-tlb"],
)

SHARED_IPC = {  # of NW and LPS, by the SMs of NW
    "baseline": {1: (0.25, 3.0), 2: (0.5, 1.0), 3: (1.0, 0.5)},
    "ideal-tlb": {1: (0.5, 3.0), 2: (1.0, 2.0), 3: (1.5, 1.0)},
}
ALONE_IPC = {
    "baseline": {"NW": {1: 0.5, 2: 1.0, 3: 2.0}, "LPS": {1: 1.0, 2: 2.0, 3: 4.0}},
    "ideal-tlb": {"NW": {1: 1.0, 2: 2.0, 3: 3.0}, "LPS": {1: 2.0, 2: 4.0, 3: 6.0}},
}


def ipcs(point: Point) -> dict[str, float]:
    first = point.sms[0]
    if point.role == ALONE:
        own = first if point.application == "NW" else 4 - first
        return {"ipc": ALONE_IPC[point.variant][point.application][own]}
    nw, lps = SHARED_IPC[point.variant][first]
    return {"ipc": nw + lps, "NW/ipc": nw, "LPS/ipc": lps}


def rows(table: Any, *names: str) -> list[tuple[Any, ...]]:
    return list(table[list(names)].itertuples(index=False, name=None))


def test_each_split_against_runs_alone_with_the_same_sms(tmp_path: Path) -> None:
    found = weighted_speedup(make_up(tmp_path, SPLITS, ipcs))
    assert list(found.columns) == [
        "variant",
        "sms",
        "slowdown/NW",
        "slowdown/LPS",
        "weighted_speedup",
        "unfairness",
        "harmonic_speedup",
        "ipc_throughput",
        "best_split",
    ]
    assert rows(found, *found.columns) == [
        ("baseline", "1+3", 2.0, 4 / 3, 0.5 + 0.75, 2.0, 2 / (2 + 4 / 3), 3.25, True),
        ("baseline", "2+2", 2.0, 2.0, 0.5 + 0.5, 2.0, 0.5, 1.5, False),
        ("baseline", "3+1", 2.0, 2.0, 0.5 + 0.5, 2.0, 0.5, 1.5, False),
        ("ideal-tlb", "1+3", 2.0, 2.0, 0.5 + 0.5, 2.0, 0.5, 3.5, True),
        (
            "ideal-tlb",
            "2+2",
            2.0,
            2.0,
            0.5 + 0.5,
            2.0,
            0.5,
            3.0,
            True,
        ),  # as good: no other is better
        ("ideal-tlb", "3+1", 2.0, 2.0, 0.5 + 0.5, 2.0, 0.5, 2.5, True),
    ]


def test_runs_alone_of_another_variant(tmp_path: Path) -> None:
    found = weighted_speedup(make_up(tmp_path, SPLITS, ipcs), alone_variant="ideal-tlb")
    assert rows(found, "slowdown/NW", "slowdown/LPS")[:3] == [(4.0, 2.0), (4.0, 4.0), (3.0, 4.0)]
    assert rows(found, "variant", "sms", "best_split")[:3] == [
        ("baseline", "1+3", True),
        ("baseline", "2+2", False),
        ("baseline", "3+1", False),
    ]
    with pytest.raises(UserError, match="no run of 'NW' alone with the variant 'fixed-walk'"):
        weighted_speedup(open_sweep(tmp_path), alone_variant="fixed-walk")


def test_a_run_alone_that_failed_leaves_a_hole(tmp_path: Path) -> None:
    def numbers(point: Point) -> Any:
        failed = (point.variant, point.application, point.sms) == ("baseline", "LPS", (1, 3))
        return "Hang" if failed else ipcs(point)

    found = weighted_speedup(make_up(tmp_path, SPLITS, numbers))
    first, second, *_ = found.to_dict("records")
    assert first["slowdown/NW"] == 2.0
    holes = ("slowdown/LPS", "weighted_speedup", "unfairness", "harmonic_speedup")
    assert all(math.isnan(first[name]) for name in holes)
    assert (first["best_split"], second["best_split"]) == (False, True)  # of those that are known


def test_a_shared_run_that_is_not_there_has_no_row(tmp_path: Path) -> None:
    def numbers(point: Point) -> Any:
        shared = point.role != ALONE and point.sms != (2, 2)
        return None if shared else ipcs(point)

    found = weighted_speedup(make_up(tmp_path, SPLITS, numbers))
    assert rows(found, "variant", "best_split") == [("baseline", True), ("ideal-tlb", True)]


def test_mixes_beside_single_programs(tmp_path: Path) -> None:
    sweep = Sweep(
        models="tiny",
        workloads=["nw", PAIR, "mask/HISTO_LPS"],
        scale="smoke",
        alone="same",
        seeds=[0, 1],
    )
    alone = {"NW": 1.0, "LPS": 3.0, "HISTO": 0.25}
    shared = {
        PAIR: {"NW": 0.5, "LPS": 1.0},
        "mask/HISTO_LPS": {"HISTO": 0.25, "LPS": 2.0},
        "nw": {},
    }

    def numbers(point: Point) -> dict[str, float]:
        if point.role == ALONE:
            return {"ipc": alone[point.application] * (point.seed + 1)}
        each = {f"{name}/ipc": ipc for name, ipc in shared[point.workload].items()}
        return {"ipc": sum(each.values()), **each}

    found = weighted_speedup(make_up(tmp_path, sweep, numbers))
    assert rows(found, "workload", "seed", "weighted_speedup", "unfairness", "best_split") == [
        (PAIR, 0, 0.5 + 1 / 3, 3.0, True),
        (PAIR, 1, 0.25 + 1 / 6, 6.0, True),
        ("mask/HISTO_LPS", 0, 1 + 2 / 3, 1.5, True),
        ("mask/HISTO_LPS", 1, 0.5 + 1 / 3, 3.0, True),
    ]
    assert found["slowdown/NW"].isna().tolist() == [False, False, True, True]


def test_sweeps_without_what_it_takes(tmp_path: Path) -> None:
    single = Sweep(name="single", models="tiny", workloads="nw", scale="smoke")
    with pytest.raises(UserError, match="sweep 'single' has no finished run of several applicat"):
        weighted_speedup(make_up(tmp_path / "a", single, lambda _: {"ipc": 1.0}))
    shared = Sweep(name="shared", models="tiny", workloads=PAIR, scale="smoke")
    results = make_up(tmp_path / "b", shared, lambda _: {"ipc": 1.0, "NW/ipc": 0.5})
    with pytest.raises(UserError, match=r"no run of 'NW' alone .* name that in its `alone`"):
        weighted_speedup(results)


@pytest.mark.long
def test_a_real_pair(tmp_path: Path) -> None:
    sweep = Sweep(
        name="pair",
        models="tiny",
        workloads=PAIR,
        scale="smoke",
        alone="same",
        set={"workload.NW.n": 32},
    )
    (row,) = weighted_speedup(run_sweep(sweep, tmp_path, jobs=1)).to_dict("records")

    model = load_model("tiny")
    mix = load_workload(PAIR, "smoke", overrides={"NW.n": 32})
    with simulate(model, mix) as together:
        shared = {name: together.summary[f"{name}/ipc"] for name in ("NW", "LPS")}
    speedups = []
    for name, ipc in shared.items():  # one SM each
        with simulate(model, mix.split((0.5, 0.5)).alone(name)) as alone:
            assert row[f"slowdown/{name}"] == alone.summary["ipc"] / ipc
            speedups.append(ipc / alone.summary["ipc"])
    assert row["weighted_speedup"] == pytest.approx(sum(speedups))
    assert row["unfairness"] == max(row["slowdown/NW"], row["slowdown/LPS"])
    assert row["ipc_throughput"] == pytest.approx(sum(shared.values()))
    assert row["best_split"]
