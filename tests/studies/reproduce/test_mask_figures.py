"""MASK's figures on made-up results: metrics of pairs, averages, verdicts, by hand."""

import pytest

from gpusim.machine.load import load_model
from gpusim.studies.reproduce.catalog import figures_of
from gpusim.studies.reproduce.claims import papers
from gpusim.studies.reproduce.run import outcome
from tests.quick import quick
from tests.studies.reproduce.made import material

(MASK,) = (paper for paper in papers() if paper.paper == "mask")
FIGURES = {figure.id: figure for figure in figures_of(MASK)}

ALONE = {"shared-tlb": 2.0, "pwcache-late": 1.5, "mask-quick": 4.0, "ideal": 8.0}
TOGETHER = {"shared-tlb": 1.0, "pwcache-late": 0.8, "static": 0.5, "mask-quick": 1.6, "ideal": 2.0}
TOGETHER |= {"mask-tlb-quick": 1.2, "mask-cache-quick": 1.4, "mask-dram-quick": 1.1}


def ipcs(place, number):
    """IPCs by design: of each application, and, alone, by the design of the run."""
    table = ALONE if place["role"] == "alone" else TOGETHER
    return table.get(place["variant"], 2.0) if number == "ipc" else 0.5


def measured(name, value):
    figure = FIGURES[name]
    found = figure.measure(figure.table(material(figure, value)))
    return {claim.rpartition(".")[2]: one for claim, one in found.items()}


def values(name, value):
    return {claim: one.values for claim, one in measured(name, value).items() if one.values}


def verdicts(name, value):
    figure = FIGURES[name]
    found = outcome(MASK, figure, material(figure, value))
    return {one.claim.id.rpartition(".")[2]: str(one.verdict) for one in found.claims}


@pytest.mark.parametrize("name", quick(FIGURES, *[*FIGURES][::6]))
def test_the_designs_are_machines(name):
    for sweep in FIGURES[name].sweeps:
        for design in {*sweep.variants, *sweep.alone} - {"same", "baseline"}:
            for model in sweep.models:
                assert load_model(model, [design]).variants


def test_weighted_speedups():
    found = values("mask.fig11", ipcs)
    assert found["mask_vs_sharedtlb"] == pytest.approx((60,))  # 2 · 1.6/2 over 2 · 1/2
    assert found["by_hmr"] == pytest.approx((60, 60, 60))
    assert found["gap_to_ideal"] == pytest.approx((20,))
    assert (found["mask_cache"], found["mask_dram"]) == (
        pytest.approx((40,)),
        pytest.approx((10,)),
    )
    told = verdicts("mask.fig11", ipcs)
    assert (told["components_order"], told["best_baseline"]) == ("agrees", "agrees")
    table = FIGURES["mask.fig11"].table(material(FIGURES["mask.fig11"], ipcs))
    assert table.loc["Average", "MASK"] == pytest.approx(1.6)
    assert table.loc["Average", "MASK (own alone)"] == pytest.approx(2 * 1.6 / 4)
    assert list(table.index) == ["0-HMR", "1-HMR", "2-HMR", "Average"]


def test_averages_are_of_the_pairs_own_numbers():
    def value(place, number):
        better = place["workload"] == "mask/TRD_RED" and place["variant"] == "mask-quick"
        return ipcs(place, number) * (2 if better and place["role"] == "run" else 1)

    gained = values("mask.fig11", value)
    assert gained["mask_vs_sharedtlb"] == pytest.approx(((34 * 60 + 220) / 35,))
    assert gained["by_hmr"] == pytest.approx((60, 60, (10 * 60 + 220) / 11))


def test_baselines_beside_ideal():
    assert values("mask.fig3", ipcs)["baseline_gap"] == pytest.approx((60, 50))


def test_unfairness():
    def value(place, number):
        first = place["application"] == place["workload"].rpartition("/")[2].partition("_")[0]
        return ipcs(place, number) * (0.5 if first and place["role"] == "run" else 1)

    found = values("mask.fig15", value)  # the first one is slowed down by 2 / 0.5, and 2 / 0.8
    assert found["unfairness"] == pytest.approx((100 * (1 - 2.5 / 4),))
    assert verdicts("mask.fig15", value)["baseline_fairness"] == "agrees"


def test_applications():
    def value(place, number):
        if number == "tlb_L2_hit_rate":
            return {"shared-tlb": 0.2, "mask-quick": 0.8}.get(place["variant"], 0.5)
        return ipcs(place, number)

    found = measured("mask.sec71", value)
    assert found["ipc_throughput"].values == pytest.approx((60,))
    assert found["per_app"].values == pytest.approx((75,))
    assert found["per_app"].text == "70 of 70 gain throughput"
    assert not found["better_than_alone"].holds  # 4 alone, 1.6 together


def test_miss_rates_alone_and_together():
    def value(place, number):
        return 0.8 if place["role"] == "alone" else 0.6

    assert verdicts("mask.fig7", value) == {"interference": "agrees"}
    assert verdicts("mask.fig7", lambda place, number: 0.7) == {"interference": "differs"}


def test_walks_and_stalled_warps():
    def value(place, number):
        most = place["workload"] == "mask/MUM"
        return {"concurrent_walks": 25.0 if most else 3.0, "tlb_L1_stalled_by_miss_max": 40.0}.get(
            number, 60.0
        )

    assert values("mask.fig5", value)["concurrent_walks"] == (25,)
    assert values("mask.fig6", value)["stalled_warps"] == (40,)


def test_bandwidth():
    def value(place, number):
        return {"dram_data_bandwidth": 42.8544, "dram_translation_bandwidth": 4.28544}.get(
            number, 0.5
        )

    # 8 channels of 64 bytes in 2 clocks of 1674 MHz: 428.544 GB/s; two applications
    assert values("mask.fig8", value)["bandwidth_share"] == pytest.approx((100 / 11, 2))


def test_bandwidth_is_the_mean_of_the_pairs_that_were_run():
    def value(place, number):
        if place["workload"] not in {"mask/SCP_GUP", "mask/RED_RAY"}:
            return float("nan")
        return 42.8544 if place["workload"] == "mask/SCP_GUP" else 85.7088

    # two applications with 10 and with 20 % each of 428.544 GB/s, for data and for page tables
    assert values("mask.fig8", value)["bandwidth_share"] == pytest.approx((50, 30))


def test_scaling():
    found = values("mask.table3", ipcs)
    assert found["shared_scaling"] == pytest.approx((50,) * 5)
    assert found["mask_scaling"] == pytest.approx((80,) * 5)
    assert values("mask.table4", ipcs)["fermi"] == pytest.approx((40, 50, 80))


def test_sizes_of_the_l2_tlb():
    def value(place, number):
        entries = int(place["tlb.L2.entries"])
        faster = 1.1 if place["variant"] == "mask-quick" and entries < 8192 else 1.0
        return faster if place["role"] == "run" and number == "ipc" else 1.0

    assert verdicts("mask.sec73.l2_tlb", value) == {"l2tlb_sweep": "agrees"}
    assert verdicts("mask.sec73.l2_tlb", lambda place, number: 1.0) == {"l2tlb_sweep": "differs"}


def test_settings_that_only_some_designs_have():
    def value(place, number):
        entries = place.get("tlb.L2.fill.bypass_entries")
        return {"16": 0.75}.get(entries, 1.0)

    table = FIGURES["mask.sec72.bypass_size"].table(
        material(FIGURES["mask.sec72.bypass_size"], value)
    )
    assert table.loc["RED_RAY"].tolist() == [1.5, 2.0, 2.0, 2.0]
    assert verdicts("mask.sec72.bypass_size", value) == {"bypass_saturates": "agrees"}


def test_splits():
    def value(place, number):
        first = int(place["sms"].partition("+")[0] or 15)
        return first / 10 if place["role"] == "run" else 1.0

    table = FIGURES["mask.sec6.splits"].table(material(FIGURES["mask.sec6.splits"], value))
    assert table.loc["RED_RAY", ["SharedTLB 5+25", "MASK 25+5"]].tolist() == [1.0, 5.0]
