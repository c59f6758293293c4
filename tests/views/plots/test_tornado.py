"""What a result rests on."""

from __future__ import annotations

import pytest

from gpusim.views.plots import PlotError, tornado


def test_bars_go_from_the_result_to_what_it_would_be() -> None:
    axes = tornado({"more": 3.0, "less": 0.5, "none": float("nan")}, 1.0)
    bars = [(bar.get_x(), bar.get_width()) for bar in axes.containers[0].patches]
    assert bars == [(1.0, 2.0), (1.0, -0.5), (1.0, 0.0)]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["more", "less", "none"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1], "the first row is at the top"


def test_a_bar_ends_at_its_number() -> None:
    axes = tornado({"more": 3456.7, "less": -0.5, "as many": 1.0001, "none": float("nan")}, 1.0)
    told = {text.get_text(): (text.xy, text.get_horizontalalignment()) for text in axes.texts}
    assert told == {"3,457": ((3456.7, 0), "left"), "-0.5": ((-0.5, 1), "right")}
    assert axes.get_xlim()[0] < -500, "there is room for a number"
    assert axes.get_xlim()[1] > 4000


def test_what_others_state_and_the_interval() -> None:
    axes = tornado({"a": 2.0}, 1.0, stated=5.0, interval=(0.5, 1.5))
    assert [line.get_xdata()[0] for line in axes.lines] == [1.0, 5.0]
    (band,) = [patch for patch in axes.patches if patch not in axes.containers[0].patches]
    assert (band.get_x(), band.get_x() + band.get_width()) == (0.5, 1.5)
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sorted(legend) == ["as it is", "interval", "the paper"]


@pytest.mark.parametrize(("readings", "taken"), [({}, 1.0), ({"a": 1.0}, float("nan"))])
def test_nothing_to_draw(readings: dict[str, float], taken: float) -> None:
    with pytest.raises(PlotError, match="nothing to draw"):
        tornado(readings, taken)
