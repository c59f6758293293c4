"""Results in other programs: xarray by both engines, pandas, h5py alone."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import gpusim
from gpusim.results import Result

xr = pytest.importorskip("xarray")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run.h5"
    workload = gpusim.load_workload("atax", "smoke", overrides={"n": "64"})
    record = ["intervals", "walks", "dram", "requests"]
    gpusim.simulate(gpusim.load_model("tiny"), workload, record=record, output=path).close()
    return path


@pytest.fixture(scope="module")
def result(path: Path) -> Result:
    return gpusim.open_result(path)


@pytest.fixture(scope="module", params=["h5netcdf", "netcdf4"])
def engine(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    pytest.importorskip({"netcdf4": "netCDF4"}.get(name, name))
    return name


def text(values: object) -> list[str]:
    return [one.decode() if isinstance(one, bytes) else str(one) for one in np.asarray(values)]


def test_stalls_have_names_on_all_axes(path: Path, result: Result, engine: str) -> None:
    with xr.open_dataset(path, group="stalls", engine=engine) as found:
        assert found.warp_cycles.dims == ("sm", "application", "state")
        assert found.warp_cycles.units == "warp-cycles"
        assert text(found.state) == list(result.states)
        assert text(found.application) == ["atax"]
        assert (found.warp_cycles.values == result.stall_sums.values).all()


def test_every_group_opens(path: Path, result: Result, engine: str) -> None:
    groups = ["provenance", "wall", "config", "workload", "summary", "counters", "applications"]
    groups += [
        "launches",
        "kernels",
        "launch_numbers",
        "warnings",
        *(f"tables/{name}" for name in result.tables),
    ]
    for group in groups:
        with xr.open_dataset(path, group=group, engine=engine) as found:
            assert not any(str(name).startswith("phony") for name in found.sizes), group
            assert all(one.long_name for one in found.data_vars.values()), group


def test_all_of_it_opens_as_a_tree(path: Path, result: Result, engine: str) -> None:
    with xr.open_datatree(path, engine=engine) as tree:
        assert set(tree["tables"].children) == set(result.tables)
        assert tree["tables/walks"].sizes["entry"] == result.tables["walks"]
        assert tree["config/origins"].sizes["origins_entry"] == len(result.origins)


def test_tables_are_frames_with_units(path: Path, result: Result, engine: str) -> None:
    with xr.open_dataset(path, group="tables/dram", engine=engine) as found:
        frame = found.to_dataframe()
        assert found["finished"].units == "cycle"
        assert "walk" in found.kind.flag_meanings.split()
    own = result.table("dram")
    assert sorted(frame.columns) == sorted(own.columns)
    assert (frame[own.columns].to_numpy() == own.to_numpy()).all()


def test_states_of_intervals_tell_what_they_mean(path: Path, result: Result) -> None:
    with h5py.File(path) as file:
        state = file["tables/intervals/state"]
        names = state.attrs["flag_meanings"]
        names = names.decode() if isinstance(names, bytes) else names
        assert names.split() == list(result.states)
        assert state.attrs["flag_values"].tolist() == list(range(len(result.states)))
        assert file["tables/intervals/begin"].dims[0].label == "entry"
        assert file["tables/intervals/entry"].id.get_storage_size() == 0
