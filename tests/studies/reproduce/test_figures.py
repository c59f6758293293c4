"""The shipped figures on made-up results: tables, pictures, and what is set beside the claims."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from gpusim.studies.characterize.blocks import BlockAccesses
from gpusim.studies.reproduce import mixes
from gpusim.studies.reproduce.catalog import figures_of
from gpusim.studies.reproduce.claims import papers
from gpusim.studies.reproduce.pictures import draw_compared
from gpusim.studies.reproduce.run import outcome
from gpusim.views.plots import save
from tests.quick import quick
from tests.studies.reproduce.made import application, applications, by_variant, material

FIGURES = {figure.id: (paper, figure) for paper in papers() for figure in figures_of(paper)}
QUICK = [name for name in FIGURES if name != "orch.secIV.adjacent"]  # which runs programs


@pytest.fixture(autouse=True)
def known_applications(monkeypatch):
    """A figure asks for those of a mix once a row."""
    monkeypatch.setattr(mixes, "applications", applications)


def verdicts(name, *arguments):
    paper, figure = FIGURES[name]
    found = outcome(paper, figure, material(figure, *arguments))
    return {one.claim.id.rpartition(".")[2]: str(one.verdict) for one in found.claims}


def numbers(name, *arguments):
    _, figure = FIGURES[name]
    found = figure.measure(figure.table(material(figure, *arguments)))
    return {claim.rpartition(".")[2]: one.values for claim, one in found.items()}


@pytest.mark.parametrize("name", quick(QUICK, *QUICK[::8]))
def test_a_table_a_picture_and_all_claims(name):
    paper, figure = FIGURES[name]
    found = outcome(paper, figure, material(figure))
    assert found.table is not None
    assert found.table.index.is_unique
    assert found.table.columns.is_unique
    assert not found.table.isna().any(axis=None)
    assert set(figure.measure(found.table)) == {one.claim.id for one in found.claims}
    drawn = draw_compared(found)
    stated = [label.get_text() for axes in drawn.axes for label in axes.texts if "|" in str(label)]
    assert len(stated) == sum(len(one.claim.values) for one in found.claims)


@pytest.mark.parametrize("name", quick(QUICK, *QUICK[::30]))
def test_a_picture_is_saved(name, tmp_path):
    _, figure = FIGURES[name]
    save(figure.draw(figure.table(material(figure))), tmp_path / "picture.png")


def test_adjacent_sharing(tmp_path):
    """Blocks 0 and 1 share page 1, 0 and 2 share page 3: four of six accesses, two adjacent."""
    _, figure = FIGURES["orch.secIV.adjacent"]
    module = SimpleNamespace(**figure.table.__globals__)

    def block(*pages):
        step = np.zeros(len(pages), dtype=np.int32)
        return BlockAccesses(np.array(pages), step, 1, 1, 1, np.array([1]))

    assert module.shared([block(1, 3, 2), block(1), block(3, 5)]) == (6, 4, 2)
    assert module.shared([block(7), block(9), block(7)]) == (3, 2, 0)
    index = pd.Index(["atax", "bicg", "gemm", "mvt"], name="program")
    columns = [module.SHARED, module.ADJACENT, module.PART]
    table = pd.DataFrame(0.5, index, columns)
    save(figure.draw(table), tmp_path / "picture.png")
    (measured,) = figure.measure(table).values()
    assert measured.values == (50, 50, 50, 50)


def test_execution_times_like_the_paper():
    like = by_variant(
        baseline=1000.0, scheduling=977.0, partitioning=1143.0, partitioning_sharing=875.0
    )
    assert numbers("orch.fig11", like)["full"] == pytest.approx((12.5,))
    assert numbers("orch.fig11", like)["partition_only"] == pytest.approx((14.3,))
    assert verdicts("orch.fig11", like) == {
        "sched_only": "agrees",
        "partition_only": "agrees",
        "full": "agrees",
        "partition_helps_perf": "differs",
        "nw_no_speedup": "differs",
    }


def test_execution_times_unlike_the_paper():
    unlike = by_variant(
        baseline=1000.0, scheduling=1010.0, partitioning=990.0, partitioning_sharing=999.0
    )
    assert verdicts("orch.fig11", unlike) == {
        "sched_only": "differs",
        "partition_only": "differs",
        "full": "same direction",
        "partition_helps_perf": "agrees",
        "nw_no_speedup": "agrees",
    }


def rates(baseline, partitioning, sharing, time=900.0):
    return by_variant(
        baseline={"tlb_L1_hit_rate_mean": baseline, "cycles": 1000.0},
        scheduling={"tlb_L1_hit_rate_mean": baseline, "cycles": 1000.0},
        partitioning={"tlb_L1_hit_rate_mean": partitioning, "cycles": 1000.0},
        partitioning_sharing={"tlb_L1_hit_rate_mean": sharing, "cycles": time},
    )


def test_hit_rates_of_the_designs():
    assert verdicts("orch.fig10", rates(0.5, 0.4, 0.6)) == {
        "partition_degrades": "agrees",
        "partition_helps_four": "differs",
        "full_hit_up": "agrees",
        "share_beats_partition": "agrees",
        "gemm_no_harm": "agrees",
    }
    assert verdicts("orch.fig10", rates(0.5, 0.6, 0.4)) == {
        "partition_degrades": "differs",
        "partition_helps_four": "agrees",
        "full_hit_up": "differs",
        "share_beats_partition": "differs",
        "gemm_no_harm": "differs",
    }
    slower = verdicts("orch.fig10", rates(0.5, 0.4, 0.6, time=1100.0))
    assert slower["share_beats_partition"] == "differs"


def test_entries():
    def entries(small, large):
        return by_variant(
            baseline={"tlb_L1_hit_rate_mean": small}, l1_tlb_256={"tlb_L1_hit_rate_mean": large}
        )

    assert verdicts("orch.fig2", entries(0.6, 0.7)) == {
        "low_hit": "agrees",
        "larger_tlb_helps": "agrees",
        "nw_stays_low": "agrees",
        "gemm_high": "differs",
    }
    assert verdicts("orch.fig2", entries(0.9, 0.905)) == {
        "low_hit": "differs",
        "larger_tlb_helps": "differs",
        "nw_stays_low": "differs",
        "gemm_high": "agrees",
    }


def test_large_pages():
    def value(place, number):
        huge = "huge-pages" in place["variant"]
        if number == "cycles":
            times = {"partitioning-sharing": 870.0, "huge-pages": 500.0}
            times["partitioning-sharing+huge-pages"] = 490.0
            return times.get(place["variant"], 1000.0)
        return 0.9 if huge else 0.5

    assert numbers("orch.secV.huge_pages", value)["huge_less_than_small"] == pytest.approx((13, 2))
    assert set(verdicts("orch.secV.huge_pages", value).values()) == {"agrees"}


def test_on_top_of_compression():
    def value(place, number):
        both = place["variant"] == "compression-l1+partitioning-sharing"
        return 1000.0 / 1.104 if both else 1000.0

    assert numbers("orch.fig12", value)["plus_compression"] == pytest.approx((10.4,))


def test_resident_warps():
    def value(place, number):
        half = place["variant"] == "scheduling" and number == "warp_cycles"
        return 500.0 if half else 1000.0

    assert numbers("orch.secIV.residency", value)["no_throttle"] == pytest.approx((0.5,))
    assert verdicts("orch.secIV.residency", value)["no_throttle"] == "differs"


def test_readings_stand_side_by_side():
    _, figure = FIGURES["orch.secIV.readings"]

    def value(place, number):
        rules = (place.get("tlb.L1.array.empty_rule"), place.get("tlb.L1.array.shared_alloc"))
        return {("stale", "union"): 900.0, ("invalid", "spill"): 1100.0}.get(rules, 1000.0)

    row = figure.table(material(figure, value)).loc["mis"]
    assert (row["stale, union"], row["invalid, spill"], row["stale, spill"]) == (0.9, 1.1, 1.0)


LIKE_ORCH = application(
    [0, 51, 48, 18, 82],
    [87, 13, 0, 0, 0],
    distance_alone=[3, 64, 64, 64],
    distance_interleaved=[3, 65, 65, 65],
)
UNLIKE_ORCH = application(
    [10, 0, 0, 0, 0],
    [0, 0, 0, 0, 9],
    distance_alone=[3, 65, 65, 3],
    distance_interleaved=[3, 3, 3, 65],
)
LONE = application([0, 0, 0, 0, 1], [0, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("orch.fig3", "bfs_inter_b1"),
        ("orch.fig3", "matrix_inter"),
        ("orch.fig4", "intra_gt_inter"),
        ("orch.fig4", "irregular_varied"),
        ("orch.fig5", "distance_exceeds_tlb"),
        ("orch.fig6", "isolation_shrinks"),
    ],
)
def test_characterizations_like_and_unlike_the_paper(name, claim):
    assert verdicts(name, by_variant(), lambda _: LIKE_ORCH)[claim] == "agrees"
    assert verdicts(name, by_variant(), lambda _: UNLIKE_ORCH)[claim] == "differs"


def test_shares_of_bins():
    found = numbers("orch.fig4", by_variant(), lambda _: LIKE_ORCH)
    total = sum([51, 48, 18, 82]) / 100
    assert found["nw_intra_bins"] == pytest.approx((51 / total, 48 / total))
    assert found["bfs_intra_bins"] == pytest.approx((18 / total, 82 / total))


def test_launches_of_one_block_have_no_pairs(tmp_path):
    lone = lambda name: LONE if name.endswith("bfs") else LIKE_ORCH  # noqa: E731
    assert verdicts("orch.fig3", by_variant(), lone)["bfs_inter_b1"] == "not measured"
    assert math.isnan(numbers("orch.fig3", by_variant(), lone)["bfs_inter_b1"][0])
    _, figure = FIGURES["orch.fig4"]
    found = figure.measure(figure.table(material(figure, by_variant(), lone)))
    assert found["orch.fig3_4.intra_gt_inter"].text.startswith("9 of 9")


def test_gains_of_compression():
    def value(place, number):
        if number == "cycles":
            faster = place["variant"] == "compression" and place["workload"].endswith("/bfs")
            return 500.0 if faster else 1000.0
        return 0.6 if place["variant"] == "compression" else 0.5

    found = numbers("comp.abs", value)
    assert found["avg_gain"] == pytest.approx((100 / 22,))
    assert found["irregular_gain"] == pytest.approx((100 / 16,))
    assert found["max_gain"] == pytest.approx((100,))
    assert found["regular_gain"] == pytest.approx((0,), abs=1e-9)
    assert verdicts("comp.abs", value)["hit_rate_up"] == "agrees"


def test_ideal_tlbs():
    def ideal(first, second, rate):
        def value(place, number):
            cycles = {"ideal-l1-tlb": first, "ideal-l2-tlb": second}.get(place["variant"], 1000.0)
            return cycles if number == "cycles" else rate

        return verdicts("comp.char.tlbs", value)

    assert set(ideal(995.0, 800.0, 0.5).values()) == {"agrees"}
    assert set(ideal(700.0, 990.0, 0.9).values()) == {"differs"}


def test_design_points():
    def value(place, number):
        best = {"compression": 0.7, "compression-unpartitioned": 0.5}
        return 1000.0 if number == "cycles" else best.get(place["variant"], 0.6)

    assert set(verdicts("comp.design.points", value).values()) == {"agrees"}
    assert verdicts("comp.design.frames", value) == {"partition_needed": "agrees"}


def test_pages_in_clusters():
    clustered = application(
        stride=[0, 1, 2, 300, 5],
        accesses_between=[70, 80, 1],
        shared_page_bits=[20, 20, 2],
        shared_frame_bits=[12],
    )
    apart = application(
        stride=[4096, 4096, 4096, 1],
        accesses_between=[1, 1, 100],
        shared_page_bits=[3],
        shared_frame_bits=[2],
    )
    assert set(verdicts("comp.char.pages", by_variant(), lambda _: clustered).values()) == {
        "agrees"
    }
    assert set(verdicts("comp.char.pages", by_variant(), lambda _: apart).values()) == {"differs"}
