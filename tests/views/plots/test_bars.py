"""Groups of bars, and stacks."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from gpusim.views.plots import (
    PALETTE,
    STATE_COLOURS,
    PlotError,
    bar_groups,
    new_figure,
    stacked_bars,
)

NAN = float("nan")
CYCLES = pd.DataFrame(
    {"base": [100.0, 200.0, 400.0], "fast": [50.0, 100.0, 400.0], "slow": [200.0, 400.0, 100.0]},
    index=["atax", "bfs", "mis"],
)


def heights(axes):
    """Heights of the bars by design."""
    return {
        bars.get_label(): [bar.get_height() for bar in bars.patches] for bars in axes.containers
    }


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def ticks(axes):
    return [label.get_text() for label in axes.get_xticklabels()]


def test_normalised_to_the_baseline():
    axes = bar_groups(CYCLES, baseline="base")
    assert heights(axes) == {
        "fast": pytest.approx([0.5, 0.5, 1, 0.25 ** (1 / 3)]),
        "slow": pytest.approx([2, 2, 0.25, 1]),
    }
    assert ticks(axes) == ["atax", "bfs", "mis", "geomean"]
    assert axes.get_ylabel() == "normalised to base"
    assert set(legend(axes)) == {"base", "fast", "slow"}
    (reference,) = [line for line in axes.lines if line.get_label() == "base"]
    assert list(reference.get_ydata()) == [1, 1]


def test_speedups():
    axes = bar_groups(CYCLES, baseline="base", speedup=True)
    assert heights(axes)["fast"] == pytest.approx([2, 2, 1, 4 ** (1 / 3)])
    assert axes.get_ylabel() == "speedup over base"


def test_absolute_numbers():
    axes = bar_groups(CYCLES - 100, geomean=False, ylabel="cycles", title="Runs")
    assert heights(axes)["base"] == [0, 100, 300]
    assert ticks(axes) == ["atax", "bfs", "mis"]
    assert axes.get_ylabel() == "cycles"
    assert axes.get_legend().get_title().get_text() == "Runs"


def test_the_geomean_stands_apart():
    axes = bar_groups(CYCLES)
    middles = [bar.get_x() + bar.get_width() / 2 for bar in axes.containers[1].patches]
    assert np.diff(middles).tolist() == pytest.approx([1, 1, 1.4])
    (border,) = axes.lines
    left, right = axes.containers[-1].patches[-2], axes.containers[0].patches[-1]
    assert left.get_x() + left.get_width() < border.get_xdata()[0] < right.get_x()


def test_missing_numbers_have_no_bar_and_mark_the_geomean():
    data = CYCLES.copy()
    data.loc["bfs", "slow"] = NAN
    axes = bar_groups(data, baseline="base")
    assert heights(axes)["slow"] == pytest.approx([2, 0.25, 0.5**0.5])
    (star,) = [text for text in axes.texts if text.get_text() == "*"]
    geomean = axes.containers[1].patches[-1]
    assert star.xy == (geomean.get_x() + geomean.get_width() / 2, geomean.get_height())
    assert len(heights(axes)["fast"]) == 4


def test_a_program_without_its_baseline_has_no_bars():
    data = CYCLES.copy()
    data.loc["bfs", "base"] = NAN
    axes = bar_groups(data, baseline="base")
    assert [len(found) for found in heights(axes).values()] == [3, 3]
    assert [text.get_text() for text in axes.texts] == ["*", "*"]


def test_a_design_without_numbers():
    axes = bar_groups(CYCLES.assign(fast=NAN), baseline="base")
    assert heights(axes)["fast"] == []
    assert not axes.texts


def test_bars_that_are_cut_off_tell_their_values():
    axes = bar_groups(CYCLES, baseline="base", limit=1.5)
    assert [text.get_text() for text in axes.texts] == ["2.00", "2.00"]
    assert axes.get_ylim() == (0, 1.5)


def test_designs_differ_in_grey_print():
    count = 2 * len(PALETTE)
    axes = bar_groups(pd.DataFrame(np.ones((1, count)), index=["x"], columns=range(count)))
    looks = [
        (to_hex(bars.patches[0].get_facecolor()), bars.patches[0].get_hatch())
        for bars in axes.containers
    ]
    assert len({hatch for _, hatch in looks[:7]}) == 7
    colours = [colour for colour, _ in looks]
    assert colours == 2 * [colour.lower() for colour in PALETTE]
    assert len(set(looks)) == count  # though each colour is there twice


@pytest.mark.parametrize("value", [0, -1, float("inf")])
def test_ratios_need_positive_numbers(value):
    data = CYCLES.copy()
    data.loc["bfs", "slow"] = value
    with pytest.raises(ValueError, match=f"bfs, slow: {value:g}; ratios and geomeans need"):
        bar_groups(data, baseline="base")


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (CYCLES, {"baseline": "bass"}, "no design 'bass'.*did you mean 'base'.*base, fast, slow"),
        (CYCLES, {"speedup": True}, "a speedup needs a baseline"),
        (CYCLES, {"limit": 0}, "allowed: a limit above 0"),
        (CYCLES[["base"]], {"baseline": "base"}, "nothing to draw"),
        (CYCLES[:0], {}, "nothing to draw"),
        (CYCLES[["fast", "fast"]], {}, "two designs of one name"),
    ],
)
def test_what_cannot_be_drawn(data, options, message):
    with pytest.raises(PlotError, match=message):
        bar_groups(data, **options)


def test_given_axes_are_used():
    left, right = new_figure("page").subplots(1, 2)
    assert bar_groups(CYCLES, ax=right) is right
    assert not left.containers


def test_long_names_are_slanted():
    short = bar_groups(CYCLES)
    long = bar_groups(CYCLES.rename(lambda name: 10 * name))
    assert {label.get_rotation() for label in short.get_xticklabels()} == {0}
    assert {label.get_rotation() for label in long.get_xticklabels()} == {40}


# -- stacks ------------------------------------------------------------------------------------

STALLS = pd.DataFrame(
    {"computing": [20, 0], "lsu": [0, 0], "walk": [79, 50], "tlb_L1": [1, 0], "l2": [0, NAN]},
    index=["base", "ideal"],
)


def test_shares():
    axes = stacked_bars(STALLS)
    found = heights(axes)
    assert list(found) == ["computing", "walk", "tlb_L1"]
    assert [*found.values()] == [pytest.approx(part) for part in ([0.2, 0], [0.79, 1], [0.01, 0])]
    bottoms = [[bar.get_y() for bar in bars.patches] for bars in axes.containers]
    assert bottoms == [[0, 0], [0.2, 0], pytest.approx([0.99, 1])]
    assert axes.get_ylabel() == "share"
    assert axes.get_ylim() == (0, 1)
    assert axes.yaxis.get_major_formatter()(0.5) == "50%"
    assert ticks(axes) == ["base", "ideal"]


def test_the_legend_is_in_the_order_of_the_stack():
    assert legend(stacked_bars(STALLS)) == ["tlb_L1", "walk", "computing"]


def test_absolute_parts():
    axes = stacked_bars(STALLS, shares=False, ylabel="warp-cycles", title="Stalls")
    assert heights(axes)["walk"] == [79, 50]
    assert axes.get_ylabel() == "warp-cycles"
    assert axes.get_title(loc="left") == "Stalls"


def test_states_have_their_colours_and_translation_is_hatched():
    axes = stacked_bars(STALLS)
    for bars in axes.containers:
        name, bar = bars.get_label(), bars.patches[0]
        assert to_hex(bar.get_facecolor()).upper() == STATE_COLOURS[name]
        assert bool(bar.get_hatch()) == (name in ("walk", "tlb_L1"))


def test_small_parts_are_lumped():
    axes = stacked_bars(STALLS.assign(dram=[0, 0.4]), lump=0.02)
    assert heights(axes) == {
        "computing": [0.2, 0],
        "walk": pytest.approx([0.79, 50 / 50.4]),
        "other": pytest.approx([0.01, 0.4 / 50.4]),
    }
    assert legend(axes)[0] == "other"


def test_a_part_that_is_large_in_one_bar_is_not_lumped():
    axes = stacked_bars(pd.DataFrame({"walk": [1, 999], "l2": [999, 1]}), lump=0.5)
    assert list(heights(axes)) == ["walk", "l2"]


def test_own_colours():
    axes = stacked_bars(
        pd.DataFrame({"few": [1], "many": [2]}), colours={"few": "red", "many": "b"}
    )
    assert to_hex(axes.containers[0].patches[0].get_facecolor()) == "#ff0000"
    with pytest.raises(PlotError, match="has none for 'few'; did you mean 'fewer'"):
        stacked_bars(pd.DataFrame({"few": [1]}), colours={"fewer": "red"})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (STALLS.assign(walk=[1, -2]), "ideal, walk: -2; the parts of a stack are 0 or more"),
        (STALLS * 0, "nothing to draw"),
        (pd.DataFrame({"few": [1]}), "no colour for 'few'; give `colours`"),
    ],
)
def test_what_cannot_be_stacked(data, message):
    with pytest.raises(PlotError, match=message):
        stacked_bars(data)


def test_a_bar_without_parts_stays_empty():
    axes = stacked_bars(pd.DataFrame({"walk": [0, 3], "l2": [0, 1]}, index=["none", "some"]))
    assert heights(axes) == {"walk": [0, 0.75], "l2": [0, 0.25]}


def test_a_long_legend_fits_into_the_figure():
    axes = stacked_bars(pd.DataFrame(1, index=["a"], columns=list(STATE_COLOURS)))
    axes.figure.draw_without_rendering()
    box = axes.get_legend().get_window_extent()
    assert 0 <= box.y0 < box.y1 <= axes.figure.bbox.height
    assert box.x1 <= axes.figure.bbox.width
