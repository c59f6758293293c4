"""Pictures over cycles are exact to the bin."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from gpusim.views.plots import STATE_COLOURS, PlotError, heat_map, stacked_area, step_lines

NAN = float("nan")


def over_cycles(values, cycles, **attrs):
    return xr.DataArray(
        np.array(values),
        {
            "cycle": ("cycle", cycles, {"units": "cycle", "long_name": "cycle"}),
            "state": ["issuing", "lsu", "walk"],
        },
        ("cycle", "state"),
        attrs=attrs,
    )


STALLS = over_cycles(
    [[1, 0, 3], [2, 0, 2], [0, 0, 4]],
    [10, 11, 12],
    units="warp-cycles",
    long_name="stalls",
    bin_cycles=1,
)


def steps(axes):
    """Values and edges of the steps, by name."""
    return {patch.get_label(): patch.get_data() for patch in axes.patches}


def test_the_stack():
    axes = stacked_area(STALLS)
    found = steps(axes)
    assert list(found) == ["issuing", "walk"]
    assert found["issuing"].values.tolist() == [1, 2, 0]
    assert found["walk"].values.tolist() == [4, 4, 4]  # the upper edge
    assert found["walk"].edges.tolist() == [10, 11, 12, 13]
    assert axes.get_xlim() == (10, 13)
    lower, upper = axes.patches
    assert lower.get_zorder() > upper.get_zorder()  # what is below covers what is above
    assert to_hex(upper.get_facecolor()).upper() == STATE_COLOURS["walk"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["walk", "issuing"]
    assert axes.get_ylabel() == "stalls [warp-cycles]"
    assert axes.get_xlabel() == "cycle"


def test_dimensions_in_any_order():
    one, other = steps(stacked_area(STALLS)), steps(stacked_area(STALLS.transpose()))
    assert all((one[name].values == other[name].values).all() for name in one)


@pytest.mark.parametrize(
    ("attrs", "end", "last"), [({"bin_cycles": 100}, None, 300), ({}, None, 300), ({}, 250, 250)]
)
def test_the_end_of_the_last_bin(attrs, end, last):
    data = over_cycles(np.ones((3, 3)), [0, 100, 200], **attrs)
    assert steps(stacked_area(data, end=end))["walk"].edges.tolist() == [0, 100, 200, last]
    assert step_lines(data, end=end).lines[0].get_xdata().tolist() == [0, 100, 200, last]


def test_one_bin():
    assert steps(stacked_area(STALLS[:1]))["walk"].edges.tolist() == [10, 11]


def test_every_pixel_of_a_stack_shows_its_state():
    """One cycle a pixel: the very cycle in which a state changes is seen."""
    rng = np.random.default_rng(1)
    cycles, height = 200, 40
    cut = rng.integers(0, height + 1, cycles)
    data = over_cycles(np.stack([cut, 0 * cut, height - cut], axis=1), np.arange(cycles))
    axes = stacked_area(data)
    figure = axes.figure
    figure.set_layout_engine("none")
    figure.set_size_inches(cycles / figure.dpi, height / figure.dpi)
    axes.set_position([0, 0, 1, 1])
    axes.set_ylim(0, height)
    axes.set_axis_off()
    axes.get_legend().remove()
    for patch in axes.patches:
        patch.set(hatch=None, antialiased=False)
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    seen = np.asarray(canvas.buffer_rgba())[::-1, :, :3]
    colours = {
        name: np.array([int(STATE_COLOURS[name][i : i + 2], 16) for i in (1, 3, 5)])
        for name in ("issuing", "walk")
    }
    below = np.arange(height)[:, None] < cut[None, :]
    expected = np.where(below[..., None], colours["issuing"], colours["walk"])
    assert seen.shape == expected.shape
    assert (seen == expected).all()


def test_thousands_of_bins_are_one_shape_a_state():
    data = over_cycles(np.random.default_rng(0).random((20_000, 3)), np.arange(20_000))
    axes = stacked_area(data)
    assert len(axes.patches) == 3
    axes.figure.draw_without_rendering()


def test_lines_have_gaps():
    data = over_cycles([[1, 2, NAN], [NAN, 3, NAN], [4, 5, NAN]], [0, 5, 10], units="B/cycle")
    axes = step_lines(data, title="Traffic")
    first, _, empty = axes.lines
    np.testing.assert_array_equal(first.get_ydata(), [1, NAN, 4, 4])  # the last holds to the end
    assert first.get_drawstyle() == "steps-post"
    assert np.isnan(empty.get_ydata()).all()
    assert axes.get_legend().get_title().get_text() == "Traffic"
    assert axes.get_ylabel() == "[B/cycle]"
    assert len({line.get_linestyle() for line in axes.lines}) == 3


def test_one_line():
    axes = step_lines(STALLS.sum("state", keep_attrs=True), title="All")
    assert [line.get_ydata().tolist() for line in axes.lines] == [[4, 4, 4, 4]]
    assert axes.get_legend() is None
    assert axes.get_title(loc="left") == "All"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (STALLS.rename(cycle="time"), "dimensions time, state; needed: 'cycle'"),
        (STALLS - 2, "10, issuing: -1; the parts of a stack are 0 or more"),
        (STALLS * 0, "nothing to draw"),
        (STALLS[:0], "nothing to draw"),
        (STALLS.assign_coords(state=["a", "b", "c"]), "no colour for 'a'"),
    ],
)
def test_what_cannot_be_stacked(data, message):
    with pytest.raises(PlotError, match=message):
        stacked_area(data)


# -- maps --------------------------------------------------------------------------------------


def test_a_map_over_cycles():
    data = xr.DataArray(
        [[0.5, NAN], [0.0, 1.0], [1.0, 0.25]],
        {"cycle": [0, 100, 200], "SM": [0, 1]},
        ("cycle", "SM"),
        attrs={"long_name": "hit rate", "units": "%", "bin_cycles": 50},
    )
    axes = heat_map(data, low=0, high=1)
    (mesh,) = axes.collections
    np.testing.assert_array_equal(mesh.get_array().filled(NAN), data.to_numpy().T)
    assert mesh.get_coordinates()[0, :, 0].tolist() == [0, 100, 200, 250]
    assert mesh.get_clim() == (0, 1)
    assert mesh.colorbar.ax.get_ylabel() == "hit rate [%]"
    assert axes.get_xlabel() == "cycle"
    assert axes.get_ylabel() == "SM"
    assert axes.patch.get_hatch()  # what shows through where no number is


def test_a_table_as_a_map():
    import pandas as pd

    data = pd.DataFrame([[1, 2], [3, 4]], ["bfs", "mis"], ["a", "b"])
    axes = heat_map(data, label="walks")
    axes.figure.draw_without_rendering()
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a", "b"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["bfs", "mis"]
    assert axes.collections[0].colorbar.ax.get_ylabel() == "walks"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (STALLS[0], "dimensions state; needed: two"),
        (STALLS[:0], "nothing to draw"),
        (STALLS * NAN, "nothing to draw"),
    ],
)
def test_what_cannot_be_mapped(data, message):
    with pytest.raises(PlotError, match=message):
        heat_map(data)
