"""The worked example of `docs/timelines.md`, on runs of a second."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import gpusim
from experiments.mask.story import misses_of, same_page, tell_story, waiting, worst_miss
from gpusim.results import open_result
from gpusim.views.timelines import Window, walk_waits

RECORDS = ("intervals", "walks", "walk_reads", "requests")
PAIR = """
description = "two small applications"
suite = "own"
pattern = "strided"
relaunch = "never"
[[applications]]
workload = "pagerank"
[[applications]]
workload = "atax"
smoke.n = 64
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "pair.toml").write_text(PAIR)
    for variant in ("shared-tlb", "mask-quick"):
        work = gpusim.load_workload(str(folder / "pair.toml"), "smoke")
        model = gpusim.load_model("maxwell-mask", [variant])
        gpusim.simulate(model, work, record=RECORDS, output=folder / f"{variant}.h5").close()
    return [folder / "shared-tlb.h5", folder / "mask-quick.h5"]


def test_the_worst_miss_is_the_one_that_the_run_counted(runs: list[Path]) -> None:
    with open_result(runs[0]) as result:
        waits = walk_waits(result)
        miss = worst_miss(misses_of(result, waits))
        assert miss.warps == result.summary["tlb_L1_stalled_warps_max"] > 1
        window = Window(miss.since, miss.until, 1)
        found = waiting(waits[waits.sm == miss.sm], window, miss.walk)
        inside = waits[(waits.sm == miss.sm) & (waits.until > window.begin)]
        cycles = inside.until.clip(upper=window.end) - inside.since.clip(lower=window.begin)
        assert found.sum() == cycles[cycles > 0].sum()
        assert found.sel(walk="the walk").max() == miss.warps


def test_the_same_page_or_any() -> None:
    misses = pd.DataFrame(
        [(0, 1, 7, 0, 3, 0, 9), (1, 0, 7, 0, 5, 0, 9), (2, 1, 7, 2, 4, 1, 9)],
        columns=["walk", "asid", "page", "sm", "warps", "since", "until"],
    )
    worst = worst_miss(misses)
    assert worst.walk == 1
    assert same_page(misses.iloc[[0, 2]], worst).walk.tolist() == [0, 2]
    assert same_page(misses, worst).walk.tolist() == [1]


@pytest.mark.long
def test_numbers_and_pictures(runs: list[Path], tmp_path, capsys) -> None:
    tell_story(*runs, tmp_path)
    told = capsys.readouterr().out
    for total, levels in re.findall(r"walk takes (\d+) cycles: (.*)", told):
        assert int(total) == sum(int(level.split()[-1]) for level in levels.split(", "))
    assert "IPC of pagerank" in told
    names = {"sharedtlb", "mask", "waiting", "stalls"}
    assert {path.name for path in tmp_path.iterdir()} == {f"story_{name}.png" for name in names}
