"""Two runs side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from gpusim.core.states import State, state_names
from gpusim.machine.load import load_model
from gpusim.results import Comparison, Result, RunData, compare
from gpusim.results.quantity import format_change
from gpusim.runs.headline import StateSums, headline
from gpusim.runs.simulate import simulate
from gpusim.runs.writer import ResultWriter
from gpusim.workloads.workload import load_workload
from tests.results.conftest import COUNTERS, FAMILY_OF, make_sums
from tests.results.placed import metrics_of_rows

Make = Callable[..., RunData]


def read_back(run: RunData) -> Result:
    with ResultWriter() as writer:
        return writer.finish(run)


def faster(make: Make, **changes: Any) -> RunData:
    """The small run in half of its cycles, with fewer and with more counted."""
    counters = [
        row._replace(value={"hits": 35, "misses": 0, "activations": 0}.get(row.name, row.value))
        for row in COUNTERS
    ]
    sums = make_sums()
    sums[1, 0, State.WALK] = 3
    sums[1, 0, State.DRAM] = 5
    apps = [evolve(app, end=500) for app in make().applications]
    numbers = headline(
        metrics_of_rows(counters), counters, StateSums(FAMILY_OF, sums), apps, 500, 10**9
    )
    return make(summary=numbers, counters=counters, state_sums=sums, **changes)


@pytest.fixture
def comparison(make: Make) -> Comparison:
    config = make().config_toml.replace("entries = 64", "entries = 128")
    with (
        read_back(make()) as a,
        read_back(faster(make, config_toml=config + "ports = 2\n")) as b,
    ):
        return compare(a, b)


def test_summary(comparison: Comparison) -> None:
    cycles = comparison.summary.loc["cycles"]
    assert (cycles.a, cycles.b, cycles.change, cycles.ratio) == (1000, 500, -500, 0.5)
    assert (cycles.unit, cycles.description) == ("cycles", "length of the run")
    assert comparison.speedup == 2
    assert comparison.summary.ratio["tlb_L1_hit_rate"] == pytest.approx((70 / 50) / (31 / 50))
    assert math.isnan(comparison.summary.ratio["share_dram"])  # 0 in A
    assert comparison.summary.change["share_dram"] == pytest.approx(5 / 78)


def test_stalls_by_the_size_of_their_change(comparison: Comparison) -> None:
    rows = comparison.stalls.set_index("state")
    assert rows.index[:2].tolist() == ["walk", "dram"]
    walk = rows.loc["walk"]
    assert (walk.a, walk.b, walk.change) == (30, 3, -27)
    assert walk.share_a == pytest.approx(0.3)
    assert walk.share_b == pytest.approx(3 / 78)
    assert walk.share_change == pytest.approx(3 / 78 - 0.3)
    assert (rows.a.sum(), rows.b.sum()) == (100, 78)
    assert rows.change.abs().is_monotonic_decreasing
    assert set(rows.index) == set(FAMILY_OF)


def test_counters_by_how_much_they_moved(comparison: Comparison) -> None:
    rows = comparison.counters.set_index(["component", "counter"])
    assert rows.index[:3].tolist() == [
        ("tlb/L1", "misses"),
        ("tlb/L1", "hits"),
        ("dram", "activations"),
    ]
    hits = rows.loc["tlb/L1", "hits"]
    assert (hits.a, hits.b, hits.change) == (31, 70, 39)  # both instances together
    assert hits.ratio == pytest.approx(70 / 31)
    assert rows.ratio["dram", "activations"] == 0
    assert rows.change["sm", "instructions"] == 0


def test_config_and_sentence(comparison: Comparison) -> None:
    assert comparison.config.to_numpy().tolist() == [
        ["tlb.L1.entries", 64, 128],
        ["tlb.L1.ports", None, 2],
    ]
    assert comparison.warning == ""
    assert comparison.sentence == (
        "B is 2.00× as fast as A (cycles 1,000 → 500); "
        "what shrank most: warp-cycles in walk (30 → 3, -90.0 %)"
    )


def test_the_other_way_round(make: Make) -> None:
    with read_back(faster(make)) as a, read_back(make()) as b:
        comparison = compare(a, b)
    assert comparison.speedup == 0.5
    assert comparison.sentence == (
        "B takes 2.00× as long as A (cycles 500 → 1,000); "
        "what grew most: warp-cycles in walk (3 → 30, 10.0×)"
    )
    activations = comparison.counters.set_index("counter").loc["activations"]
    assert (activations.a, activations.b) == (0, 7)
    assert math.isnan(activations.ratio)


def test_a_result_and_itself(make: Make) -> None:
    with read_back(make()) as result:
        comparison = compare(result, result)
    assert comparison.same
    assert comparison.sentence == "A and B have the same machine, work and result"
    assert comparison.config.empty
    assert (comparison.stalls.change == 0).all()
    assert (comparison.counters.change == 0).all()
    assert json.loads(json.dumps(comparison.to_json()))["speedup"] == 1


@pytest.mark.parametrize("pinned", [True, False])
def test_different_work_is_warned_of(make: Make, pinned: bool) -> None:
    """With the workload in the file, all of its parameters; without, name, scale and seed."""
    run = make()
    other = evolve(run.provenance, scale="quick", seed=8)
    toml = 'name = "atax"\nscale = "{}"\nseed = {}\napplications = [{{ name = "atax", n = {} }}]\n'
    texts = [toml.format("smoke", 7, 32), toml.format("quick", 8, 64)] if pinned else ["", ""]
    with (
        read_back(make(workload_toml=texts[0])) as a,
        read_back(make(provenance=other, workload_toml=texts[1])) as b,
    ):
        comparison = compare(a, b)
    parameters = ", applications.atax.n 32 / 64" if pinned else ""
    assert comparison.warning == (
        f"A and B did not do the same work: scale smoke / quick, seed 7 / 8{parameters}"
    )
    assert comparison.config.key.str.startswith("workload.").all()


def test_other_states_clocks_and_applications(make: Make) -> None:
    """A machine with one TLB level and another clock; a state that is not there counts as 0."""
    run = make()
    states = state_names(("L1",))
    sums = np.zeros((2, 1, len(states)), np.int64)
    sums[0, 0, State.TLB] = 40
    apps = [evolve(run.applications[0], name="bfs")]
    counters = [row._replace(app="bfs") for row in COUNTERS if row.component == "sm"]
    with (
        read_back(run) as a,
        read_back(
            make(
                states=states,
                state_sums=sums,
                applications=apps,
                counters=counters,
                summary=headline(
                    metrics_of_rows(counters),
                    counters,
                    StateSums(dict.fromkeys(states, "sm"), sums),
                    apps,
                    1000,
                    2 * 10**9,
                ),
            )
        ) as b,
    ):
        comparison = compare(a, b)
    assert comparison.speedup == 2
    assert comparison.sentence.startswith("B is 2.00× as fast as A (time 1 µs → 0.5 µs); ")
    assert "warp-cycles in issuing of atax (60 → 0, -100.0 %)" in comparison.sentence
    stalls = comparison.stalls.set_index(["app", "state"])
    assert stalls.a["atax", "tlb_L2"] == stalls.b["atax", "tlb_L2"] == 0
    assert (stalls.a["bfs", "tlb_L1"], stalls.b["bfs", "tlb_L1"]) == (0, 40)
    counts = comparison.counters.set_index(["component", "counter"])
    assert math.isnan(counts.b["tlb/L1", "hits"])
    assert math.isnan(counts.change["tlb/L1", "hits"])
    assert math.isnan(comparison.summary.b["tlb_L1_hit_rate"])
    shown = json.loads(json.dumps(comparison.to_json()))
    assert {row["name"]: row["b"] for row in shown["summary"]}["tlb_L1_hit_rate"] is None


def test_whole_runs() -> None:
    work = load_workload("atax", "smoke", overrides={"n": "32"})
    with (
        simulate(load_model("tiny"), work) as a,
        simulate(load_model("tiny", ["ideal-tlb"]), work) as b,
    ):
        comparison = compare(a, b)
        cycles = a.summary["cycles"] / b.summary["cycles"]
        walks = a.summary["walks"]
    assert comparison.speedup == pytest.approx(cycles)
    assert comparison.speedup > 1
    assert comparison.warning == ""
    assert ["tlb.L1.ideal", False, True] in comparison.config.to_numpy().tolist()
    counters = comparison.counters.set_index(["component", "counter"])
    assert (counters.a["walk", "walks"], counters.b["walk", "walks"]) == (walks, 0)


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (100, 55, "-45.0 %"),
        (100, 999, "+899.0 %"),
        (2, 20, "10.0×"),
        (1, 123456, "123,456×"),
        (0, 3, "from 0"),
        (0, 0, "0"),
        (7, 7, "0"),
        (3, 0, "-100.0 %"),
        (math.nan, 3, "–"),
        (3, math.nan, "–"),
    ],
)
def test_changes_for_the_eye(a: float, b: float, text: str) -> None:
    assert format_change(a, b) == text
