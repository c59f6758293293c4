"""STAR's figures on made-up results: harmonic means, evictions, reuses, by hand."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from gpusim.machine.load import load_model
from gpusim.studies.reproduce.catalog import figures_of
from gpusim.studies.reproduce.claims import papers
from tests.quick import quick
from tests.studies.reproduce.made import material

(STAR,) = (paper for paper in papers() if paper.paper == "star")
FIGURES = {figure.id: figure for figure in figures_of(STAR)}


def ipcs(place, number):
    """Alone 2; together 1, but MT with STAR 2, and all 0.5 on half of the sub-entries."""
    if place["role"] == "alone":
        return 2.0
    if place["variant"].startswith("half-sub"):
        return 0.5
    return 2.0 if place["variant"] == "star" and place["application"].startswith("MT") else 1.0


def measured(name, value=ipcs):
    figure = FIGURES[name]
    found = figure.measure(figure.table(material(figure, value)))
    return {claim.rpartition(".")[2]: one for claim, one in found.items()}


def values(name, value=ipcs):
    return {claim: one.values for claim, one in measured(name, value).items() if one.values}


@pytest.mark.parametrize("name", quick(FIGURES, *[*FIGURES][::6]))
def test_the_designs_lie_on_the_machine(name):
    for sweep in FIGURES[name].sweeps:
        for variant in sweep.variants:
            for machine, held in (((), 16384), ((STAR.machines["smoke"],), 2048)):
                design = [*machine, *([] if variant == "baseline" else [variant])]
                config = load_model(STAR.model, design).config
                assert config.tlb["L3"].entries * config.tlb["L3"].sub_entries == held, design
                assert config.memory.page == (1 << 21 if "huge-pages" in variant else 4096), design


@pytest.mark.long
def test_harmonic_means():
    """Speedups of 2, 1 and 1 make 3 / 2.5; W1 to W6 have an MT, W7 to W11 none."""
    found = values("star.fig10")
    assert found["max"] == pytest.approx((20, 0))
    assert found["avg"] == pytest.approx((6 * 20 / 11,))
    assert found["mt_s"] == pytest.approx((100, 100))
    assert measured("star.fig10")["no_harm"].holds


@pytest.mark.long
def test_losses_against_running_alone():
    assert values("star.fig3")["avg_loss"] == pytest.approx((50,))
    with_mt = 1 - 3 / (1 + 2 + 2)
    found = values("star.fig14")["loss_vs_alone"]
    assert found == pytest.approx((100 * (6 * with_mt + 5 * 0.5) / 11, 50))


def test_gains_over_another_design():
    """STAR is twice as fast as a half, MT four times: 3 / (1/4 + 1/2 + 1/2)."""
    over = 100 * (6 * 3 / 1.25 + 5 * 2) / 11 - 100
    found = values("star.fig18")
    assert found["alternatives"] == pytest.approx((over, over, over))
    assert found["w8_para"] == pytest.approx((-50,))


def test_evictions():
    """n entries with n in use: 1496 of 136 entries, 36 of them with at most 8, 28 with less."""
    found = values("star.fig5")
    assert found["stream_full"] == pytest.approx((11, 11))
    assert found["mt_four"] == (16,)
    assert found["st_half"] == pytest.approx((100 * 36 / 136,))
    assert found["no_evictions"] == (136,) * 4
    together = values("star.fig6")
    assert together["over_half_underused"] == pytest.approx((100 * 28 / 136,))
    assert together["st_w2"] == pytest.approx((100 / 136, 1600 / 136))


def test_reuses():
    """Twelve translations in turn, or four alone: far less than 16,384."""
    assert values("star.fig4") == {"nw_reuse": (100, 100), "mt_misses": (0,)}


def test_the_papers_bits():
    found = values("star.sec5.cost")
    assert found == {"entry_bits": (864, 50, 914), "lookup_latency": (40, 50)}


def test_events_of_shared_entries_a_tenth_of_the_run():
    cycle = [5, 95, 199, 199]
    events = pd.DataFrame({"level": np.array([2, 2, 2, 1], np.uint8), "cycle": cycle})
    for name in ("shares", "reverts", "conflicts", "evictions"):
        events[name] = np.array([300, 20, 7, 1000], np.uint16)

    class Recorded:
        applications = pd.DataFrame({"end": [150, 200]})

        def table(self, name):
            return {"sharing": events}[name]

    found = import_module("experiments.star.l3_tlb").over_time(Recorded())
    # tenths of 20 cycles; the other level does not count
    assert found["shares"].tolist() == [15000, 0, 0, 0, 1000, 0, 0, 0, 0, 350]
    assert found.index.tolist() == [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
