"""`--seeds N`: repeated runs, their means and intervals."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from gpusim.core.intervals import bootstrap_interval
from gpusim.results import bands, open_result
from tests.whole.running import command

ATAX = ("run", "tiny", "atax", "--scale", "smoke", "--set", "workload.n=64")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_shifted_run_has_intervals_and_files() -> None:
    options = ("--seeds", "3", "--shift", "l2.latency", "--seed", "4", "-o", "a.h5")
    said = json.loads(command(*ATAX, *options, "--json").stdout)
    results = [open_result(f"a.seed-{seed}.h5") for seed in (4, 5, 6)]
    cycles = pd.Series([result.summary["cycles"] for result in results], dtype=float)
    overrides = [result.provenance.overrides for result in results]
    assert overrides[0] == ("workload.n=64",)
    assert [one[0] for one in overrides[1:]] == ["l2.latency=11 cycles", "l2.latency=9 cycles"]
    assert said["seeds"] == [4, 5, 6]
    assert said["numbers"]["cycles"]["values"] == cycles.tolist()
    expected = bootstrap_interval(cycles.to_numpy())
    assert expected.low < expected.mean < expected.high
    table = pd.read_csv("a.seeds.csv", index_col="number")
    for of_cycles in (table.loc["cycles"], bands(results).loc["cycles"]):
        assert (of_cycles["mean"], of_cycles.low, of_cycles.high) == pytest.approx(
            (expected.mean, expected.low, expected.high)
        )
        assert (of_cycles.runs, of_cycles.unit) == (3, "cycles")


def test_that_a_seed_changes_nothing_is_told() -> None:
    text = command(*ATAX, "--seeds", "2", "--until", "900cycles").stdout
    assert " 900 │ " in text
    assert "atax · smoke · 2 runs" in text
    assert "warning: all runs took the same number of cycles: --shift l2.latency" in text
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--shift", "l2.latency"), "--shift l2.latency: needs several runs, --seeds N"),
        (("--seeds", "2", "--shift", "l2.latncy"), "no such key; did you mean 'l2.latency'"),
        (("--seeds", "2", "--shift", "l2.replacement"), "replacement: lru is no whole number"),
        (("--seeds", "3", "--shift", "l2.ports"), "l2.ports: 1 is too small for run 2, 0"),
        (("--seeds", "2", "--log-every", "9"), "--log-every 9: needs a file to write to"),
        (("--seeds", "2", "--from", "x"), "--from: a checkpoint is of one seed"),
    ],
)
def test_errors(options: tuple[str, ...], message: str) -> None:
    outcome = command(*ATAX, *options, code=2)
    assert message in outcome.output


@pytest.mark.long
@pytest.mark.usefixtures("forked_workers")
def test_a_sweep_has_bands() -> None:
    Path("few.toml").write_text(
        'models = ["tiny"]\nworkloads = ["atax"]\nscale = "smoke"\n'
        '[set]\n"workload.n" = [32, 64]\n'
        '[plot]\nvalue = "cycles"\nx = "workload.n"\n'
    )
    options = ("few.toml", "-o", "runs", "-j", "1", "--seeds", "2", "--shift", "l2.latency")
    text = command("sweep", *options).stdout
    assert "few: 4 runs, means over 2 seeds" in text
    assert Path("runs/few.png").exists()
    rows = pd.read_parquet("runs/few.parquet")
    assert len(rows) == 4
    assert "l2.latency" not in rows
    found = pd.read_parquet("runs/few.bands.parquet").set_index(["workload.n", "number"])
    for n, of_one in rows.groupby("workload.n"):
        expected = bootstrap_interval(of_one.cycles.to_numpy(float))
        assert expected.runs == 2
        assert expected.low < expected.high
        band = found.loc[(n, "cycles")]
        assert (band["mean"], band.low, band.high) == (expected.mean, expected.low, expected.high)
        assert f"{expected.mean:,.0f}" in text or f"{expected.mean:,.4g}" in text
