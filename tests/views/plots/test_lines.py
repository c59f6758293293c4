"""Distributions and sweeps."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from gpusim.views.plots import PlotError, cdf, heat_map, new_figure, sweep_lines
from gpusim.views.plots.powers_of_two import power_name, power_ticks

NAN = float("nan")


def line(axes, name):
    (found,) = [one for one in axes.lines if one.get_label() == name]
    return found


def share(axes, name, value):
    """What a reader sees at a value: the height of the steps there."""
    x, y = line(axes, name).get_data()
    return y[np.searchsorted(x, value, side="right") - 1]


def test_exact_steps():
    axes = cdf({"bfs": [3, 1, 1, 7]}, xlabel="pages")
    x, y = line(axes, "bfs").get_data()
    assert line(axes, "bfs").get_drawstyle() == "steps-post"
    assert x[:-1].tolist() == [0, 1, 3, 7]
    assert y.tolist() == [0, 0.5, 0.75, 1, 1]
    assert axes.get_xlim()[1] == x[-1] > 7
    assert axes.get_xlabel() == "pages"
    assert axes.yaxis.get_major_formatter()(0.5) == "50%"


@given(
    st.lists(st.tuples(st.integers(-5, 300), st.integers(0, 9)), min_size=1, max_size=40),
    st.booleans(),
)
def test_weights_are_repetitions(pairs, log2):
    values, counts = np.array(pairs).T
    repeated = values.repeat(counts)
    if not repeated.size or (log2 and repeated.max() <= 0):
        with pytest.raises(PlotError):
            cdf({"a": values}, counts={"a": counts}, log2=log2)
        return
    axes = cdf({"a": values}, counts={"a": counts}, log2=log2)
    left, right = axes.get_xlim()
    for value in [value for value in {*values.tolist(), 1, 2, 64} if left <= value <= right]:
        assert share(axes, "a", value) == pytest.approx((repeated <= value).mean())


def test_powers_of_two():
    axes = cdf({"a": [0, 0, 5, 100], "b": [6]}, log2=True, mark={"L1 TLB": 64})
    assert axes.get_xscale() == "log"
    assert axes.get_xlim() == (4, 128)
    assert line(axes, "a").get_ydata()[0] == 0.5  # zeros lie to the left
    assert line(axes, "a").get_xdata()[-1] == line(axes, "b").get_xdata()[-1] == 128
    axes.figure.draw_without_rendering()
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["4", "8", "16", "32", "64", "128"]


def test_marks():
    axes = cdf({"a": [1, 2]}, mark=64)
    assert [text.get_text() for text in axes.texts] == ["64"]
    assert axes.lines[-1].get_xdata() == [64, 64]
    assert axes.get_xlim()[1] > 64


def test_columns_of_a_table():
    axes = cdf(pd.DataFrame({"a": [1, 2, NAN], "b": [4, 4, 4]}))
    assert share(axes, "a", 1) == 0.5
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]


def test_many_series_look_different():
    axes = cdf({str(number): [number] for number in range(112)})
    looks = {(one.get_color(), one.get_linestyle(), one.get_marker()) for one in axes.lines}
    assert len(looks) == 112


@pytest.mark.parametrize(
    ("series", "options", "message"),
    [
        ({"bfs": []}, {}, "bfs: no observations"),
        ({"bfs": [NAN]}, {}, "bfs: no observations"),
        ({"bfs": [1, 2]}, {"counts": {"bfs": [1]}}, "bfs: 2 values, but 1 counts"),
        ({"bfs": [1, 2]}, {"counts": {"bfs": [1, -1]}}, "bfs: a count of -1"),
        ({"bfs": [0]}, {"log2": True}, "no value above 0"),
        ({}, {}, "nothing to draw"),
    ],
)
def test_what_has_no_cdf(series, options, message):
    with pytest.raises(PlotError, match=message):
        cdf(series, **options)


# -- sweeps ------------------------------------------------------------------------------------

IPC = pd.DataFrame(
    {"atax": [1.0, 2, 3], "bfs": [1.0, NAN, 2]}, index=pd.Index([64, 16, 32], name="entries")
)


def test_a_line_a_program_over_powers_of_two():
    axes = sweep_lines(IPC, ylabel="IPC")
    assert line(axes, "atax").get_xdata().tolist() == [16, 32, 64]
    assert line(axes, "atax").get_ydata().tolist() == [2, 3, 1]
    np.testing.assert_array_equal(line(axes, "bfs").get_ydata(), [NAN, 2, 1])
    assert axes.get_xscale() == "log"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("entries", "IPC")
    assert not axes.collections
    axes.figure.draw_without_rendering()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["16", "32", "64"]


def test_a_narrow_axis_has_sizes_between_powers_of_two():
    axes = new_figure().subplots()
    power_ticks(axes, 1.4 * 2**20, 2.6 * 2**20, of_bytes=True)
    ticks = axes.xaxis.get_major_locator()()
    assert [power_name(tick, True) for tick in ticks] == ["1.5 MiB", "2 MiB", "2.5 MiB"]


@pytest.mark.parametrize("values", [[1, 2, 3], [0, 1, 2], [64]])
def test_other_numbers_have_a_plain_axis(values):
    data = pd.DataFrame({"atax": np.ones(len(values))}, index=values)
    assert sweep_lines(data).get_xscale() == "linear"


@pytest.mark.parametrize(
    ("first", "name", "of_bytes"),
    [
        (2**16, "64K", "64 KiB"),
        (2**13, "8K", "8 KiB"),
        (64, "64", "64 B"),
        (2**21, "2M", "2 MiB"),
        (2**34, "16G", "16 GiB"),
        (2**-3, "1/8", "1/8"),
        (2**-11, "$2^{-11}$", "$2^{-11}$"),
    ],
)
@pytest.mark.parametrize("label", ["entries", "footprint in bytes", "line [B]"])
def test_powers_are_written_as_sizes(first, name, of_bytes, label):
    axes = sweep_lines(pd.DataFrame({"a": [1, 2]}, index=[first, 2 * first]), xlabel=label)
    axes.figure.draw_without_rendering()
    expected = name if label == "entries" else of_bytes
    assert axes.get_xticklabels()[0].get_text() == expected


def test_steps_of_a_map_are_sizes_too():
    table = pd.DataFrame(np.ones((2, 3)), index=["bfs", "nw"], columns=[512, 1024, 4096])
    axes = heat_map(table, xlabel="entries")
    axes.figure.draw_without_rendering()
    assert [one.get_text() for one in axes.get_xticklabels()] == ["512", "1K", "4K"]


def test_the_legend_of_many_lines_stands_beside():
    few, many = (
        sweep_lines(pd.DataFrame({f"program {n}": [1, 2] for n in range(count)}, index=["a", "b"]))
        for count in (4, 16)
    )
    for axes, beside in ((few, False), (many, True)):
        axes.figure.draw_without_rendering()
        place = axes.get_legend().get_window_extent()
        assert (place.x0 > axes.bbox.x1) == beside
        assert (place.y0 >= axes.bbox.y1) == (not beside)


def test_a_single_line_with_a_name_has_a_legend():
    axes = sweep_lines(pd.DataFrame({"STAR": [1, 2]}, index=["a", "b"]))
    assert [one.get_text() for one in axes.get_legend().get_texts()] == ["STAR"]
    assert sweep_lines(pd.DataFrame({"IPC": [1, 2]}), ylabel="IPC").get_legend() is None


def test_names_keep_their_order():
    axes = sweep_lines(pd.DataFrame({"bfs": [1, 2, 3]}, index=["small", "large", "huge"]))
    assert [text.get_text() for text in axes.get_xticklabels()] == ["small", "large", "huge"]
    assert line(axes, "bfs").get_ydata().tolist() == [1, 2, 3]


SEEDS = pd.DataFrame({"entries": [16, 16, 32, 32], "seed": [0, 1, 0, 1], "bfs": [1.0, 3, 4, 8]})


def band(axes):
    (found,) = axes.collections
    corners = found.get_paths()[0].vertices
    return {x: (min(y), max(y)) for x in (16, 32) for y in [corners[corners[:, 0] == x, 1]]}


@pytest.mark.parametrize(
    "data",
    [
        SEEDS.set_index("entries"),
        SEEDS.set_index(["entries", "seed"]),
        SEEDS.set_index(["entries", "seed"]).to_xarray().bfs,
        SEEDS.set_index(["entries", "seed"]).to_xarray().bfs.transpose(),
        SEEDS.set_index(["entries", "seed"])
        .to_xarray()
        .to_dataarray("program")
        .transpose("entries", "program", "seed"),
    ],
    ids=["column", "level", "one line", "seeds first", "lines"],
)
def test_seeds_make_bands(data):
    axes = sweep_lines(data)
    assert axes.lines[0].get_label() == "bfs"
    assert axes.lines[0].get_ydata().tolist() == [2, 6]
    assert band(axes) == {16: (1, 3), 32: (4, 8)}
    assert axes.get_xlabel() == "entries"


def test_labels_of_an_array():
    data = xr.DataArray(
        [1.0, 2.0],
        {"size": ("size", [1, 3], {"long_name": "L2 size", "units": "MiB"})},
        ("size",),
        name="hits",
        attrs={"units": "fraction"},
    )
    axes = sweep_lines(data)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("L2 size [MiB]", "hits")
    assert axes.get_legend() is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (xr.DataArray(np.ones((2, 2, 2)), dims=("a", "b", "c")), "dimensions a, b, c; needed"),
        (xr.DataArray(np.ones(2), dims="seed"), "dimensions seed; needed"),
        (IPC[:0], "nothing to draw"),
    ],
)
def test_what_cannot_be_swept(data, message):
    with pytest.raises(PlotError, match=message):
        sweep_lines(data)
