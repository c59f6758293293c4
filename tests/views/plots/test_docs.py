"""`docs/plots.md`: its examples run, its pictures are there and made by the script."""

import importlib.util
import re

import pytest

from gpusim.views import plots
from tests import ROOT

DOCS = ROOT / "docs"
PAGE = (DOCS / "plots.md").read_text()


@pytest.mark.long
def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(example, "plots.md", "exec"), names)
    assert {path.name for path in tmp_path.iterdir()} == {"speedup.png", "two.pdf"}


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("gallery", DOCS / "make_pictures" / "plots.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
def test_the_gallery_is_drawn(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "PROGRAMS", ("bfs", "nw"))
    monkeypatch.setattr(script, "DESIGNS", dict([*script.DESIGNS.items()][:2]))
    quick = [one for one in script.PICTURES if one.__name__ not in ("sweep_lines", "heat_map")]
    monkeypatch.setattr(script, "PICTURES", quick)
    script.main(tmp_path / "new")
    drawn = {path.name for path in (tmp_path / "new").iterdir()}
    assert drawn == {f"plots_{one.__name__}.png" for one in quick}


def test_every_kind_of_picture_is_in_the_gallery():
    pictures = set(re.findall(r"\(pictures/(plots_\w+\.png)\)", PAGE))
    script = (DOCS / "make_pictures" / "plots.py").read_text()
    drawn = re.findall(r"^def (\w+)\(\) -> Axes:", script, re.MULTILINE)
    assert pictures == {f"plots_{name}.png" for name in drawn}
    assert all(hasattr(plots, name) for name in drawn)
    for name in pictures:
        assert 1000 < (DOCS / "pictures" / name).stat().st_size <= 200_000
