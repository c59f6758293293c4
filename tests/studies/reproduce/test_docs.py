"""The page on reproductions: its example is a figure, its keys are those of claims."""

import re

import attrs

from gpusim.studies.reproduce import Figure
from gpusim.studies.reproduce.claims import DIRECTIONS, Claim, Role
from gpusim.studies.reproduce.verdict import Verdict
from gpusim.views.plots import save
from tests import ROOT
from tests.studies.reproduce.made import material

PAGE = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")


def test_the_example(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    (figure,) = (value for value in names.values() if isinstance(value, Figure))
    table = figure.table(material(figure))
    assert list(table.columns) == ["baseline", "l1-tlb-256"]
    save(figure.draw(table), tmp_path / "picture.png")
    assert len(figure.measure(table)["orch.mine.saved"].values) == 1


def test_the_keys():
    for field in attrs.fields(Claim):
        assert f"`{field.name}`" in PAGE, field.name
    for word in (*DIRECTIONS, *Role):
        assert f"`{word}`" in PAGE, word
    for verdict in Verdict:
        assert f"\n| {verdict} |" in PAGE, verdict
