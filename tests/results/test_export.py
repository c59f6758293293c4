"""Results in other formats hold the same numbers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import gpusim
from gpusim.cli.main import app
from gpusim.core.errors import UserError
from gpusim.results import Result
from gpusim.results.export import default_place, export
from tests.results.test_old_schemas import unpack


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run.h5"
    workload = gpusim.load_workload("atax", "smoke", overrides={"n": "64"})
    record = ["intervals", "walks"]
    gpusim.simulate(gpusim.load_model("tiny"), workload, record=record, output=path).close()
    return path


@pytest.fixture(scope="module")
def result(path: Path) -> Result:
    return gpusim.open_result(path)


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_tables(path: Path, result: Result, tmp_path: Path, to: str) -> None:
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet}[to]
    files = {one.stem: read(one) for one in export(path, to, tmp_path / "out")}
    assert set(files) == {
        "summary",
        "counters",
        "stalls",
        "launches",
        "kernels",
        "applications",
        "intervals",
        "walks",
    }
    numbers = files["summary"].set_index("name")
    assert numbers.value["cycles"] == result.summary["cycles"]
    assert numbers.unit["ipc"] == "1/cycle"
    own = result.table("intervals")
    assert len(files["intervals"]) == len(own)
    assert list(files["intervals"].state) == [result.states[one] for one in own.state]
    assert set(files["intervals"].app) == {"atax"}
    assert files["walks"].finished.tolist() == result.table("walks").finished.tolist()
    assert files["applications"].sms.tolist() == ["0 1"]
    for name, own in (("launches", result.launches), ("kernels", result.kernels)):
        assert list(files[name].columns) == list(own.columns)
        assert files[name].tlb_L1_hit_rate.tolist() == pytest.approx(own.tlb_L1_hit_rate.tolist())


def test_numbers_as_json(path: Path, result: Result, tmp_path: Path) -> None:
    (file,) = export(path, "json", tmp_path / "run.json")
    found = json.loads(file.read_text())
    assert found["summary"]["cycles"] == result.summary["cycles"]
    assert found["digest"] == result.digest


def test_netcdf_is_the_file_itself(path: Path, tmp_path: Path) -> None:
    (file,) = export(path, "netcdf", tmp_path / "run.nc")
    assert file.read_bytes() == path.read_bytes()
    with pytest.raises(UserError, match="has schema 1, which names no axes"):
        export(unpack("schema-1", tmp_path), "netcdf", tmp_path / "old.nc")
    assert not (tmp_path / "old.nc").exists()


def test_what_cannot_be(path: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no format 'xml'.*allowed: csv, parquet, netcdf, json"):
        export(path, "xml", tmp_path / "run.xml")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        export(path, "csv", tmp_path / "file")
    with pytest.raises(UserError, match="there is no folder"):
        export(path, "json", tmp_path / "none" / "run.json")


def test_the_command_writes_beside_the_result(path: Path, tmp_path: Path) -> None:
    here = tmp_path / "run.h5"
    shutil.copy(path, here)
    done = CliRunner().invoke(app, ["export", str(here), "--to", "csv"])
    assert done.exit_code == 0
    assert (default_place(here, "csv") / "walks.csv").is_file()
    assert default_place(here, "netcdf") == tmp_path / "run.nc"
    wrong = CliRunner().invoke(app, ["export", str(here), "--to", "hdf"])
    assert wrong.exit_code == 2
