"""Rows of dots, and pairs of numbers below a picture."""

import numpy as np
import pandas as pd
import pytest

from gpusim.views.plots import (
    PlotError,
    Rows,
    Stated,
    bar_groups,
    height_of_dots,
    new_figure,
    save,
    sorted_dots,
    stated_below,
)

NAN = float("nan")
CYCLES = pd.DataFrame(
    {"base": [100.0, 200.0, 400.0], "fast": [50.0, 100.0, 100.0]}, index=["atax", "bfs", "mis"]
)


def dots(axes):
    return {
        line.get_label(): line.get_xdata().tolist()
        for line in axes.lines
        if line.get_linestyle() == "None"
    }


def names(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_sorted_by_the_last_design():
    axes = sorted_dots(CYCLES, baseline="base", speedup=True)
    assert names(axes) == ["mis", "atax", "bfs", "geomean"]
    assert dots(axes) == {"fast": pytest.approx([4, 2, 2, 16 ** (1 / 3)])}
    first, last = axes.get_ylim()
    assert first > last, "the first row is at the top"
    assert axes.get_xlabel() == "speedup over base"
    (line,) = [one for one in axes.lines if one.get_label() == "base"]
    assert list(line.get_xdata()) == [1, 1]


def test_rows_that_keep_their_order_and_means_below():
    data = pd.concat(
        [CYCLES[:1], pd.DataFrame({"base": 7.0, "fast": 9.0}, ["Average"]), CYCLES[1:]]
    )
    axes = sorted_dots(data, geomean=False, rows=Rows(sort=False, means=["Average"]))
    assert names(axes) == ["atax", "bfs", "mis", "Average"]
    assert dots(axes)["fast"] == [50, 100, 100, 9]
    assert axes.get_xlim()[0] == 0
    assert axes.figure.get_figheight() == pytest.approx(height_of_dots(4))


def test_what_is_missing_has_no_dot_and_is_last():
    data = CYCLES.copy()
    data.loc["mis", "fast"] = NAN
    axes = sorted_dots(data, geomean=False)
    assert names(axes)[-1] == "mis"
    assert np.isnan(dots(axes)["fast"][-1])


def test_dots_beyond_the_axis_tell_their_values():
    axes = sorted_dots(CYCLES, geomean=False, limit=150)
    assert [text.get_text() for text in axes.texts] == ["200", "400"]
    assert dots(axes)["base"] == [150, 150, 100]
    with pytest.raises(PlotError, match="an axis from 0 to -1"):
        sorted_dots(CYCLES, limit=-1)


ROWS = [
    Stated("gain", "%", 57.8, -2.8),
    Stated("bytes", "B", 13.0, 1300.0),
    Stated("most", "%", 3, NAN),
]


def test_pairs_stand_below_the_picture(tmp_path):
    figure = new_figure("page", height=2)
    above = bar_groups(CYCLES, ax=figure.subplots())
    stated_below(figure, ROWS)
    save(figure, tmp_path / "a.png")
    percent, byte = figure.axes[1:]
    assert [axes.get_xlabel() for axes in (percent, byte)] == ["%", "B"]
    assert names(percent) == ["gain", "most"]
    assert [text.get_text() for text in percent.texts] == ["57.8 | -2.8", "3 | –"]
    theirs, ours = (percent.lines[number].get_xdata() for number in (0, 1))
    assert theirs.tolist() == [57.8, 3]
    assert ours[0] == -2.8
    assert byte.get_xscale() == "log"
    assert [text.get_text() for text in byte.texts] == ["13 | 1,300"]
    assert [text.get_text() for text in percent.get_legend().get_texts()] == ["the paper", "here"]
    boxes = [axes.get_tightbbox() for axes in (above, percent, byte)]
    assert boxes[0].y0 > boxes[1].y1 > boxes[1].y0 > boxes[2].y1
    assert boxes[2].y0 > 0
