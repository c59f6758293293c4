"""The style: sizes, colours that all eyes tell apart, and nothing that leaks."""

import subprocess
import sys
from itertools import combinations, pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from gpusim.core.states import state_names
from gpusim.views.plots import (
    PALETTE,
    STATE_COLOURS,
    PlotError,
    bar_groups,
    new_figure,
    state_colours,
    style,
)

# Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
# Deficiency" (2009): linear RGB as seen without one of the three kinds of cones.
EYES = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def lab(colour, eyes):
    """CIELAB of an sRGB colour, as these eyes see it."""
    srgb = np.array(to_rgb(colour))
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(EYES[eyes] @ linear, 0, 1) / np.array([0.95047, 1, 1.08883])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


STATES = [*state_names(("L1", "L2", "L3")), "other"]


@pytest.mark.parametrize("eyes", EYES)
def test_all_eyes_tell_all_states_apart(eyes):
    seen = {name: lab(STATE_COLOURS[name], eyes) for name in STATES}
    for one, other in combinations(STATES, 2):
        assert np.linalg.norm(seen[one] - seen[other]) >= 12, (one, other)
    for below, above in pairwise(STATES[:-1]):  # neighbours in a stack
        assert np.linalg.norm(seen[below] - seen[above]) >= 17, (below, above)


@pytest.mark.parametrize("eyes", EYES)
def test_all_eyes_tell_all_designs_apart(eyes):
    assert len(set(PALETTE)) == len(PALETTE) >= 16
    for one, other in combinations(PALETTE, 2):
        assert np.linalg.norm(lab(one, eyes) - lab(other, eyes)) >= 16, (one, other)


def test_colours_depend_on_nothing_but_the_name():
    known = state_colours(STATES)
    assert known == {name: STATE_COLOURS[name] for name in STATES}
    assert state_colours(["walk"]) == {"walk": known["walk"]}
    alone = state_colours(["tlb_GMMU"])["tlb_GMMU"]
    assert state_colours(["tlb_L1", "tlb_IOMMU", "tlb_GMMU"])["tlb_GMMU"] == alone
    assert alone not in known.values()
    red, green, blue = to_rgb(alone)
    assert red > max(green, blue)  # a warm colour, like all of translation


def test_the_families():
    def family(names):
        return [to_rgb(STATE_COLOURS[name]) for name in names]

    assert all(g == max(r, g, b) > r for r, g, b in family(["issuing", "computing", "ready"]))
    grey = family(["lsu", "barrier", "shared", "credit", "mshr"])
    assert all(r == g == b for r, g, b in grey)
    memory = family(["cache", "interconnect", "l2", "dram_queue", "dram"])
    assert all(b > r for r, _, b in memory)
    warm = family(["walker", "walk", "tlb_L1", "tlb_L2", "tlb_L3"])
    assert all(r > g > b for r, g, b in warm)


def test_unknown_state():
    with pytest.raises(PlotError, match="no colour for 'comput'; did you mean 'computing'"):
        state_colours(["comput"])


@pytest.mark.parametrize(("width", "inches"), [("column", 3.3), ("page", 7.0)])
def test_widths(width, inches):
    assert new_figure(width, height=2).get_size_inches().tolist() == [inches, 2]


def test_unknown_width():
    with pytest.raises(PlotError, match="as wide as 'colum'; did you mean 'column'"):
        new_figure("colum")


def test_the_style_stays_with_the_figure():
    before = dict(mpl.rcParams)
    figure = new_figure()
    above, below = figure.subplots(2)
    above.plot([0, 1000], [0, 1])  # ticks are made when the figure is drawn
    figure.draw_without_rendering()
    assert dict(mpl.rcParams) == before
    assert not above.spines["top"].get_visible()
    assert {label.get_fontsize() for label in below.get_xticklabels()} == {7}
    assert {label.get_fontsize() for label in above.get_xticklabels()} == {7}
    with style():
        assert mpl.rcParams["font.size"] == 8
    assert dict(mpl.rcParams) == before


def test_an_error_leaves_no_style_behind():
    before = dict(mpl.rcParams)
    with pytest.raises(PlotError):
        bar_groups(pd.DataFrame({"a": [0.0]}, index=["bfs"]))
    assert dict(mpl.rcParams) == before


def test_an_unknown_keyword_is_refused_with_the_nearest():
    with pytest.raises(TypeError, match=r"no option 'xlable'; did you mean 'xlabel'"):
        bar_groups(pd.DataFrame({"a": [1.0]}, index=["bfs"]), xlable="program")
    with pytest.raises(TypeError, match="no option 'frame'"):
        bar_groups(pd.DataFrame({"a": [1.0]}, index=["bfs"]), frame={})


def test_bars_have_labels_on_both_axes():
    axes = bar_groups(pd.DataFrame({"a": [1.0]}, index=["bfs"]), xlabel="program", ylabel="cycles")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("program", "cycles")


def test_a_figure_shows_itself():
    axes = bar_groups(pd.DataFrame({"a": [1.0]}, index=["bfs"]))
    picture, shown = axes.figure._repr_png_()
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20]) == 3.3 * 300
    assert shown == {"width": 3.3 * 150, "height": 2.3 * 150}


def test_no_pyplot():
    code = "import sys, gpusim.views.plots; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
