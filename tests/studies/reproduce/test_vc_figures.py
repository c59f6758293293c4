"""VC's figures: numbers made of records against naive ones; times on made-up results, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.virtual_caching import recorded
from gpusim.machine.load import load_model
from gpusim.studies.reproduce.catalog import figures_of
from gpusim.studies.reproduce.claims import papers
from gpusim.studies.reproduce.run import outcome
from tests.studies.reproduce.made import material, some_run

(VC,) = (paper for paper in papers() if paper.paper == "vc")
FIGURES = {figure.id: figure for figure in figures_of(VC)}

TIMES = {
    "ideal-mmu": 100,
    "vc-opt": 102,
    "vc": 104,
    "bandwidth-inf": 110,
    "bandwidth-inf+baseline-512": 120,
    "baseline-16k": 190,
    "baseline-512": 200,
    "l1-vc-32": 150,
    "l1-vc-128": 130,
}


def cycles(place, number):
    return float(TIMES.get(place["variant"], 100)) if number == "cycles" else 0.5


def measured(name, value=cycles):
    figure = FIGURES[name]
    found = outcome(VC, figure, material(figure, value))
    return {
        one.claim.id.rpartition(".")[2]: (one.measured.values, str(one.verdict))
        for one in found.claims
        if one.measured is not None
    }


def test_the_designs_are_machines():
    asked = {one for figure in FIGURES.values() for run in figure.sweeps for one in run.variants}
    for design in asked - {"baseline"}:
        assert load_model("apu-hsa", [design]).variants


def test_where_the_time_goes():
    """Of 100 cycles more, 80 are turns; 16K entries save 10."""
    found = measured("vc.fig4")
    assert found["overhead"] == (pytest.approx((100,)), "same direction")
    assert found["serialisation_dominates"][1] == "agrees"
    assert found["large_tlb_little"][1] == "agrees"
    figure = FIGURES["vc.fig4"]
    average = figure.table(material(figure, cycles)).loc["Average"]
    assert average.tolist() == pytest.approx([0.2, 0.8, 0.1, 0.8])


def test_performance_relative_to_ideal():
    found = measured("vc.fig9")
    assert found["base512_high"] == (pytest.approx((50,)), "agrees")
    assert found["vc_near_ideal"] == (pytest.approx((100 / 102,)), "agrees")
    assert found["base16k_no_help"][1] == found["fw_bfs_walks"][1] == "agrees"
    assert found["noopt_most"][1] == "agrees"
    assert found["low_bw"][1] == "differs"  # all programs gain alike


def test_speedups_of_virtual_caches():
    found = measured("vc.fig11")
    assert found["l1only"][0] == pytest.approx((100 * (190 / 150 - 1),))
    assert found["whole_over_l1only"][0] == pytest.approx((100 * (150 / 102 - 1),))
    assert found["whole_total"] == (pytest.approx((100 * (190 / 102 - 1),)), "agrees")
    assert found["l1only_128_between"][1] == "agrees"


def test_nothing_evicted_is_nothing_filtered():
    none = measured("vc.sec4.fbt_small", lambda _, name: float("nan") if "inv" in name else 1.0)
    assert none["filter_effective"][1] == "not measured"


def test_misses_and_lookups_are_those_counted():
    run = some_run()
    found = recorded.misses(run)
    lookups, misses = run.summary["tlb_L1_lookups"], 1 - run.summary["tlb_L1_hit_rate"]
    assert sum(found.values()) == pytest.approx(misses)
    assert found["memory"] * lookups == pytest.approx((run.table("tlb_misses").place == 2).sum())
    rates = recorded.rates(run)
    windows = run.summary["cycles"] // 700
    table = run.table("tlb")
    asked = table[(table.level == 1) & (table.cycle < 700 * windows)]
    assert rates["mean"] * 700 * windows == pytest.approx(len(asked))
    assert rates["most"] * 700 == pytest.approx((asked.cycle // 700).value_counts().max())


def test_conflicts_are_those_of_a_walk_through_all_lookups():
    run = some_run()
    taken: set[tuple[int, int]] = set()
    table = run.table("tlb")
    table = table[table.level == 1]
    late = 0
    for vpn, cycle in zip(table.vpn.tolist(), table.cycle.tolist(), strict=True):
        late += (cycle, vpn % recorded.BANKS) in taken
        taken.add((cycle, vpn % recorded.BANKS))
    assert recorded.conflicts(run)["conflicts"] == pytest.approx(late / len(table))


LIVES = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 20), st.integers(-1, 20)).map(
        lambda one: (one[0], one[1], one[2] if one[2] < 0 else max(one[2], one[1]))
    ),
    max_size=12,
)


@given(LIVES)
def test_pages_are_there_as_long_as_one_of_their_lines(lives):
    """Lines 0 to 7 in pages of 4, a run of 21 cycles."""
    table = pd.DataFrame(lives, columns=["place", "begin", "end"], dtype=np.int64)
    there = np.zeros((2, 21), dtype=bool)
    for line, begin, end in lives:
        there[line // 4, begin : 21 if end < 0 else end] = True
    begins, ends = recorded.covered(table, 4, 21)
    assert (ends - begins).sum() == there.sum()
    assert (begins <= ends).all()
    together = [((begins <= cycle) & (cycle < ends)).sum() for cycle in range(21)]
    assert together == there.sum(axis=0).tolist()


def test_lifetimes_fall_with_time():
    figure = FIGURES["vc.fig12"]
    table = figure.table(material(figure))
    assert list(table.index[:2]) == [0, 1000]
    assert ((table.loc[0] <= 1) & (table.loc[0] >= 0)).all()
