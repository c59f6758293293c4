"""HDF5 files: what is written is read back; what is wrong is said."""

import attrs
import h5py
import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.studies.characterize import characterize, read_characterization
from gpusim.studies.characterize.datasets import TABLES
from tests.studies.characterize.listed import ListedLaunch, pages, workload_of

MODEL = gpusim.load_model("kepler-uvm", ["huge-pages"], {"sm.count": 4})


@pytest.fixture
def workload():
    spec = gpusim.load_workload("atax", "smoke").applications[0]
    one = workload_of(ListedLaunch([[[pages(1, 1000)]]])).applications[0]
    return gpusim.Workload("both", "smoke", 4, (spec, one))


@pytest.fixture
def file(tmp_path, workload):
    path = tmp_path / "c.h5"
    characterize(workload, MODEL, output=path)
    return path


def test_round_trip(file, workload):
    written, read = characterize(workload, MODEL), read_characterization(file)
    for name in ("page_bytes", "line_bytes", "warp_size", "page_bits", "frame_bits"):
        assert getattr(read, name) == getattr(written, name)
    assert read.provenance == attrs.evolve(written.provenance)
    assert read.provenance.variants == ("huge-pages",)
    assert [app.name for app in read.applications] == ["atax", "listed"]
    assert read.to_json() == written.to_json()
    for one, other in zip(read.applications, written.applications, strict=True):
        for name, distribution in one.distributions.items():
            assert np.array_equal(distribution.value, other.distributions[name].value)
            assert np.array_equal(distribution.count, other.distributions[name].count)


def test_units_and_descriptions_are_attributes(file):
    with h5py.File(file) as data:
        for name, table in TABLES.items():
            assert data[name].attrs["description"].decode() == table.description
            for column in table.columns:
                stored = data[name][column.name].attrs
                assert stored.get("units", b"").decode() == column.unit
                assert stored["long_name"].decode() == column.description
        summary = data["summary"]
        rows = zip(summary["app"], summary["name"].asstr(), summary["value"], strict=True)
        values = {(int(app), name): value for app, name, value in rows}
        assert values[0, "transactions"] == 9536
        assert values[1, "pages"] == 2
        assert np.isnan(values[1, "distance_alone_median"])


def test_a_failure_leaves_the_old_file_and_nothing_else(file):
    before = file.read_bytes()
    launch = ListedLaunch([[[pages(1)]]], registers_per_thread=100_000)
    with pytest.raises(UserError):
        characterize(workload_of(launch), MODEL, output=file)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_the_folder_is_looked_for_before_anything_is_run(tmp_path, workload):
    told = []
    path = tmp_path / "no" / "c.h5"
    with pytest.raises(UserError, match="there is no folder"):
        characterize(workload, MODEL, output=path, progress=lambda *what: told.append(what))
    assert not told


def change(path, edit):
    with h5py.File(path, "r+") as file:
        edit(file)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda file: file.attrs.create("format", b"other"), "is not a characterization"),
        (lambda file: file.attrs.create("schema", 99), "newer gpusim"),
        (lambda file: file.pop("kernels"), "not a readable characterization"),
        (lambda file: file["arrays"].pop("bytes"), "not a readable characterization"),
        (lambda file: file.attrs.pop("schema"), "not a readable characterization"),
    ],
)
def test_wrong_files(file, edit, message):
    change(file, edit)
    with pytest.raises(UserError, match=message) as error:
        read_characterization(file)
    assert str(file) in str(error.value)


def test_no_hdf5_and_no_file(tmp_path):
    (tmp_path / "text.h5").write_text("hello")
    with pytest.raises(UserError, match="not a readable characterization"):
        read_characterization(tmp_path / "text.h5")
    with pytest.raises(UserError, match="there is no such file"):
        read_characterization(tmp_path / "none.h5")
