"""The table of pictures of the mechanism library, and how an entry is measured."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

import gpusim
from experiments.library import Effect, draw, effects, measure
from tests import ROOT

DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", effects())
def test_an_entry_can_be_run_and_is_shown(name: str) -> None:
    effect = effects()[name]
    for workload in effect.workloads:
        gpusim.load_workload(workload, effect.scale)
    for design in effect.designs:
        variants = [] if design == "baseline" else [design]
        gpusim.load_model(effect.model, variants, overrides=effect.set)
    picture = f"library_{name}.png"
    assert (DOCS / "pictures" / picture).is_file()
    pages = (DOCS / "mechanisms").glob("*.md")
    assert any(f"(../pictures/{picture})" in page.read_text(encoding="utf-8") for page in pages)


@pytest.mark.long
def test_designs_are_compared_with_the_first(tmp_path: Path) -> None:
    designs = ["baseline", "ideal-tlb"]
    effect = Effect(model="tiny", workloads=["triad"], designs=designs, metric="speedup")
    found = measure(effect)
    baseline, ideal = measure(attrs.evolve(effect, metric="cycles")).loc["triad"]
    assert list(found.loc["triad"]) == [1, baseline / ideal]
    assert baseline > ideal
    assert draw("ideal", effect, found, tmp_path) == tmp_path / "library_ideal.png"
    assert (tmp_path / "library_ideal.png").stat().st_size > 1000
