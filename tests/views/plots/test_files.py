"""Pictures are whole or absent."""

import pytest
from matplotlib.figure import Figure

from gpusim.core.errors import UserError
from gpusim.views.plots import check_picture, new_figure, save


@pytest.fixture
def axes():
    axes = new_figure().subplots()
    axes.plot([1, 2], [3, 4])
    return axes


@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")]
)
def test_formats_by_name(axes, tmp_path, name, start):
    path = tmp_path / name
    save(axes, path)
    first = path.read_bytes()
    assert first.startswith(start)
    save(axes.figure, str(path))
    assert path.read_bytes() == first
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_a_part_of_a_figure_is_written_as_the_whole(tmp_path):
    figure = new_figure("page", height=2)
    left, _ = figure.subfigures(1, 2)
    save(left.subplots(), tmp_path / "a.png")
    assert int.from_bytes((tmp_path / "a.png").read_bytes()[16:20]) == 7 * 300


def test_unknown_format(axes, tmp_path):
    with pytest.raises(UserError, match=r"its name tells the format; did you mean 'png'.*\.png"):
        save(axes, tmp_path / "a.pngs")
    with pytest.raises(UserError, match="its name tells the format"):
        check_picture(tmp_path / "picture")
    assert not list(tmp_path.iterdir())


def test_no_folder(axes, tmp_path):
    with pytest.raises(UserError, match="there is no folder"):
        save(axes, tmp_path / "no" / "a.png")


def test_a_failing_disk_leaves_the_old_picture(axes, tmp_path):
    (tmp_path / "a.png").mkdir()  # nothing can be put in its place
    with pytest.raises(UserError, match=r"cannot write .*a\.png"):
        save(axes, tmp_path / "a.png")
    assert [one.name for one in tmp_path.iterdir()] == ["a.png"]


def test_a_failing_drawing_leaves_the_old_picture(tmp_path):
    class Broken(Figure):
        def draw(self, renderer):
            raise RuntimeError("no")

    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="no"):
        save(Broken(), path)
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.png"]
