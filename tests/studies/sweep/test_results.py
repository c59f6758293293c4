"""What a sweep left behind, as tables and arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.studies.sweep.folder import RUN_COLUMNS, RunFolder, table_of
from gpusim.studies.sweep.point import Point, as_text
from gpusim.studies.sweep.results import SweepResults, open_sweep
from gpusim.studies.sweep.spec import Sweep
from tests.studies.sweep.made_up import make_up

pytestmark = pytest.mark.usefixtures("forked_workers")

SWEEP = Sweep(
    name="grid",
    models="tiny",
    workloads=["nw", "mask/NW"],
    scale="smoke",
    seeds=[3, 1],
    set={"tlb.L1.entries": [16, 8], "memory.page": ["4KiB", "2MiB"]},
    exclude=[{"memory.page": "2MiB", "tlb.L1.entries": 8}],
)


def cycles(point: Point) -> float:
    values = point.values
    page = {"4KiB": 1, "2MiB": 2}[str(values["memory.page"])]
    return float(100 * point.seed + 10 * page) + int(str(values["tlb.L1.entries"])) / 100


@pytest.fixture
def results(tmp_path: Path) -> SweepResults:
    """Of one seed of one workload, one run failed and one is missing."""

    def numbers(point: Point) -> Any:
        if point.workload == "mask/NW" and point.seed == 1:
            return {"16": "Hang", "8": None}[str(point.values["tlb.L1.entries"])]
        return {"cycles": cycles(point), "ipc": 0.5, "tlb_L1_hit_rate": 1}

    return make_up(tmp_path / "runs", SWEEP, numbers)


# -- the table -----------------------------------------------------------------------------------


def test_the_table_opens_without_gpusim(results: SweepResults) -> None:
    table = pd.read_parquet(results.folder / "grid.parquet")
    pd.testing.assert_frame_equal(table, results.table)
    settings = ["tlb.L1.entries", "memory.page"]
    about = ["model", "variant", "workload", "scale", "seed", *settings]
    numbers = ["cycles", "ipc", "tlb_L1_hit_rate"]
    about += ["role", "application", "sms"]
    assert list(table.columns) == [*about, *RUN_COLUMNS, *numbers]
    assert table.attrs["units"] == {
        "seconds": "s",
        "size": "B",
        "modified_ns": "ns",
        "cycles": "cycles",
        "ipc": "1/cycle",
        "tlb_L1_hit_rate": "fraction",
    }
    assert len(table) == 2 * 2 * 3
    assert table["state"].value_counts().to_dict() == {"done": 9, "failed": 2, "missing": 1}
    assert set(table["cause"]) == {"", "Hang"}
    assert table["tlb.L1.entries"].dtype == table["seed"].dtype == np.int64
    assert {table[name].dtype for name in ["seconds", *numbers]} == {np.dtype(float)}
    done = table[table["state"] == "done"]
    assert set(done["modified_ns"]) == {10**18 + 1}  # exactly
    assert table.loc[table["state"] != "done", numbers].isna().all(axis=None)
    dataset = table.to_xarray()
    assert dataset["cycles"].sizes == {"index": 12}
    assert dataset["modified_ns"].dtype == np.int64


def test_what_tells_combinations_from_each_other(results: SweepResults) -> None:
    assert results.coordinates == ["workload", "seed", "tlb.L1.entries", "memory.page"]
    assert repr(results) == "<sweep grid: 9 done, 2 failed, 1 missing>"
    assert results.sweep == SWEEP


def test_failures(results: SweepResults) -> None:
    assert [failed.failure.cause for failed in results.failures] == ["Hang", "Hang"]
    assert "seed 1" in results.failures[0].label
    row = results.table[results.table["state"] == "failed"].iloc[0]
    (results.folder / "failures" / f"{row['key']}.json").unlink()  # tried again since
    assert len(results.failures) == 1


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([64, 128], [64, 128]),
        ([0.5, 2], [0.5, 2.0]),
        ([True, False], [True, False]),
        ([64, "full"], ["64", "full"]),
        ([True, 3, "x"], ["true", "3", "x"]),
        (["4KiB", "2MiB"], ["4KiB", "2MiB"]),
    ],
)
def test_values_of_an_axis_in_the_table(tmp_path: Path, values: list[Any], kept: list[Any]) -> None:
    runs = RunFolder(tmp_path, create=True)
    points = [
        Point("tiny", "baseline", "nw", "smoke", 0, (("k", as_text(value)),)) for value in values
    ]
    runs.keep_table("x", table_of((point.values, "key", None) for point in points))
    assert runs.table("x")["k"].tolist() == kept
    assert set(map(type, runs.table("x")["k"].tolist())) == set(map(type, kept))


# -- arrays --------------------------------------------------------------------------------------


def test_an_array_over_the_axes(results: SweepResults) -> None:
    array = results.array("cycles")
    assert array.dims == ("workload", "seed", "tlb.L1.entries", "memory.page")
    assert array.shape == (2, 2, 2, 2)
    assert array["workload"].values.tolist() == ["nw", "mask/NW"]  # the order of the sweep
    assert array["seed"].values.tolist() == [3, 1]
    assert array["tlb.L1.entries"].values.tolist() == [16, 8]
    assert array["memory.page"].values.tolist() == ["4KiB", "2MiB"]
    assert array.attrs == {"units": "cycles", "long_name": "cycles"}
    assert array.name == "cycles"
    rows = results.table[results.table["state"] == "done"]
    for _, row in rows.iterrows():
        place = {name: row[name] for name in results.coordinates}
        assert array.sel(place).item() == row["cycles"]
    assert int(array.notnull().sum()) == len(rows) == 9
    assert array.sel({"memory.page": "2MiB", "tlb.L1.entries": 8}).isnull().all()  # excluded
    assert array.sel({"workload": "mask/NW", "seed": 1}).isnull().all()
    assert results.array("seconds").attrs["units"] == "s"


def test_an_array_of_some_rows(results: SweepResults) -> None:
    rows = results.table[(results.table["seed"] == 3) & (results.table["memory.page"] == "4KiB")]
    array = results.array("cycles", rows)
    assert array.dims == ("workload", "tlb.L1.entries")
    assert array.values.tolist() == [[310.16, 310.08]] * 2
    one = results.array("cycles", rows.iloc[:1])
    assert one.shape == ()
    assert one.item() == 310.16
    assert one.attrs["units"] == "cycles"
    assert one.name == "cycles"


def test_what_is_no_array(results: SweepResults) -> None:
    with pytest.raises(
        UserError, match=r"has no number 'cycle'; did you mean 'cycles'.* there is: "
    ):
        results.array("cycle")
    with pytest.raises(UserError, match="has no number 'seed'"):
        results.array("seed")
    doubled = pd.concat([results.table.iloc[:2]] * 2)
    with pytest.raises(
        UserError, match=r"several rows have the same (tlb.L1.entries|memory.page)$"
    ):
        results.array("cycles", doubled)
    with pytest.raises(UserError, match="sweep 'grid': 0 rows make no array"):
        results.array("cycles", results.table.iloc[:0])


def test_a_sweep_of_one_run(tmp_path: Path) -> None:
    sweep = Sweep(models="tiny", workloads="nw", scale="smoke")
    results = make_up(tmp_path, sweep, lambda _: {"cycles": 12})
    assert results.coordinates == []
    assert results.array("cycles").item() == 12


def test_keys_that_change_together_are_one_dimension(tmp_path: Path) -> None:
    sweep = Sweep(
        models="tiny",
        workloads="nw",
        scale="smoke",
        seeds=[0, 1],
        set={"tlb.L1.ways, tlb.L1.entries": [[2, 8], [4, 16], [2, 4]]},
    )
    results = make_up(
        tmp_path, sweep, lambda point: {"cycles": int(str(point.values["tlb.L1.entries"]))}
    )
    array = results.array("cycles")
    assert array.dims == ("seed", "tlb.L1.entries")  # the ways do not tell the entries
    assert array["tlb.L1.entries"].values.tolist() == [8, 16, 4]
    assert array["tlb.L1.ways"].dims == ("tlb.L1.entries",)
    assert array["tlb.L1.ways"].values.tolist() == [2, 4, 2]
    assert array.values.tolist() == [[8, 16, 4]] * 2


def test_splits_are_an_axis(tmp_path: Path) -> None:
    sweep = Sweep(
        models="tiny", workloads="mask/NW_LPS", scale="smoke", set={"sm.count": 4}, split_step=1
    )
    results = make_up(tmp_path, sweep, lambda point: {"ipc": point.sms[0]})
    assert results.coordinates == ["sms"]
    array = results.array("ipc")
    assert array["sms"].values.tolist() == ["1+3", "2+2", "3+1"]
    assert array.values.tolist() == [1, 2, 3]


# -- opening -------------------------------------------------------------------------------------


def test_which_sweep(results: SweepResults) -> None:
    assert open_sweep(results.folder).name == "grid"
    other = Sweep(name="line", models="tiny", workloads="nw", scale="smoke")
    make_up(results.folder, other, lambda _: None)
    assert len(gpusim.open_sweep(results.folder, "line").table) == 1
    with pytest.raises(UserError, match=r"which sweep[?] There is: grid, line"):
        open_sweep(results.folder)
    with pytest.raises(UserError, match=r"no sweep 'lime'; did you mean 'line'[?]; there is: grid"):
        open_sweep(results.folder, "lime")
    with pytest.raises(UserError, match="is no folder of runs"):
        open_sweep(results.folder / "runs")


def test_runs_themselves(tmp_path: Path) -> None:
    sweep = Sweep(
        name="real",
        models="tiny",
        workloads="nw",
        scale="smoke",
        variants=["baseline", "ideal-dram"],
        set={"dram.ideal": [False, True], "workload.n": 32},
    )
    results = gpusim.run_sweep(sweep, tmp_path / "runs", jobs=1)
    assert results.failures == []
    assert len(results.table) == 4
    assert results.table["key"].nunique() == len(results.runs) == 2  # each once
    row = results.table.iloc[0]
    with results.open(row["key"]) as result:
        assert result.digest == row["digest"]
        assert result.wall.seconds == row["seconds"]
        for name, value in result.summary.items():
            assert row[name] == value
            assert results.table.attrs["units"][name] == result.summary_units[name]
        assert result.provenance.command_line == (
            "gpusim",
            "run",
            "tiny",
            "nw",
            "--scale",
            "smoke",
            "--seed",
            "0",
            "--set",
            "dram.ideal=false",
            "--set",
            "workload.n=32",
        )
    direct = gpusim.simulate(
        gpusim.load_model("tiny"), gpusim.load_workload("nw", "smoke", overrides={"n": 32})
    )
    assert direct.digest == row["digest"]
    with pytest.raises(UserError, match=r"0123\.h5"):
        results.open("0123")


def test_no_results_yet(tmp_path: Path) -> None:
    sweep = Sweep(models="tiny", workloads="nw", scale="smoke")
    results = make_up(tmp_path, sweep, lambda _: None)
    with pytest.raises(UserError, match="sweep 'sweep' has no result yet"):
        _ = results.runs
    assert results.array("seconds").isnull().all()
