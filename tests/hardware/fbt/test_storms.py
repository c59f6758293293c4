"""Storms of shootdowns and of synonyms in the middle of a real program (`experiments.storms`)."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

import gpusim
from experiments.storms import EVERY, Weather, storms

DESIGNS = ("vc-opt", "vc-opt-remapping")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("storms")


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[tuple[str, str], Weather]:
    """Every run has checked its conservation laws, and that it did what the calm one does."""
    small = gpusim.load_workload("pagerank", "smoke", overrides={"graph.vertices": 128})
    return storms(small, folder, DESIGNS)


@pytest.mark.parametrize("design", DESIGNS)
def test_nothing_is_lost(found: dict[tuple[str, str], Weather], design: str) -> None:
    calm = found[design, "calm"]
    for storm in ("shootdowns", "synonyms"):
        here = found[design, storm]
        assert here.instructions == calm.instructions > 0
        assert here.transactions == calm.transactions
        assert here.cycles > calm.cycles


def test_the_stalls_are_in_the_storm(found: dict[tuple[str, str], Weather]) -> None:
    calm = found["vc-opt", "calm"].translation
    for storm in ("shootdowns", "synonyms"):
        waits = found["vc-opt", storm].translation
        assert waits["before"] == calm["before"]
        assert waits["storm"] > calm["storm"] + 0.2
        assert waits["after"] < waits["storm"] / 2


def test_events_are_those_of_the_file(found: dict[tuple[str, str], Weather], folder: Path) -> None:
    lines = (folder / "shootdowns.jsonl").read_text().splitlines()
    times = [json.loads(line)["at"] for line in lines[:-1]]
    assert {later - at for at, later in pairwise(times)} == {EVERY}
    for design in DESIGNS:
        assert found[design, "shootdowns"].counters["shootdowns"] == len(lines)


@pytest.mark.long
def test_remapping_takes_the_synonyms_out_of_the_storm(
    found: dict[tuple[str, str], Weather],
) -> None:
    without, remapped = (found[design, "synonyms"] for design in DESIGNS)
    assert without.counters["renamed"] == 0 < remapped.counters["renamed"]
    assert remapped.translation["storm"] < without.translation["storm"] / 2
    assert remapped.cycles < without.cycles
