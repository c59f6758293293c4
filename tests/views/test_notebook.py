"""What a notebook shows of models, workloads and results."""

from __future__ import annotations

import pickle

import gpusim
from gpusim.views.plots import STATE_COLOURS
from tests.views.report.reading import read


def test_a_model_and_a_workload_show_what_they_are() -> None:
    model = gpusim.load_model("kepler-uvm", ["l1-tlb-256"], {"walk.walkers": 9})
    text = read(model._repr_html_()).text
    assert "kepler-uvm + l1-tlb-256" in text
    assert "L1 256 entries a sm, L2 512 entries a gpu" in text
    assert "walk.walkers = 9" in text
    workload = gpusim.load_workload("atax", "smoke", overrides={"n": 32})
    text = read(workload._repr_html_()).text
    assert "atax (smoke), seed 0" in text
    assert "n = 32" in text


def test_a_result_shows_its_answer_a_bar_and_the_first_numbers() -> None:
    with gpusim.simulate(
        "tiny", gpusim.load_workload("atax", "smoke", overrides={"n": 32})
    ) as result:
        page = result._repr_html_()
        assert page.startswith(
            "<p><b>atax (smoke) on tiny + workload.n=32</b><br>Warps wait for translation in "
        )
        assert "What that costs the run is measured with cost=True." in page
        assert f"{result.summary['cycles']:,} cycles" in page
        assert f"background: {STATE_COLOURS['walk']}" in page
        shares = result.stalls.set_index("state").share
        for state, share in shares.items():
            assert (f"</span>{state} {100 * share:.1f} %</span>" in page) == (share >= 0.02)
        assert pickle.loads(pickle.dumps(result))._repr_html_() == page


def test_names_are_text() -> None:
    model = gpusim.load_model("tiny", [], {"description": "<b>bold</b>"})
    assert "&lt;b&gt;bold" in model._repr_html_()
