"""Files that are no results are refused with a reason, whatever is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusim.core.errors import UserError
from gpusim.results import RunData, open_result
from gpusim.runs.writer import ResultWriter
from tests.examples import examples


@pytest.fixture
def path(tmp_path: Path, run: RunData) -> Path:
    """A good file with a table."""
    with ResultWriter(tmp_path / "run.h5") as writer:
        table = writer.event_table("walks")
        for i in range(500):
            table.append(0, i * 37 % 101, 2, 0, i, i + 4, i + 9, 4)
        writer.finish(run).close()
    return tmp_path / "run.h5"


def read_all(path: Path) -> list[Any]:
    """Everything that a result tells."""
    with open_result(path) as result:
        return [
            result.to_json(),
            result.provenance,
            result.config_toml,
            result.origins,
            result.wall,
            result.summary_units,
            result.summary_descriptions,
            result.stall_sums.to_dict(),
            result.counters.to_dict(),
            result.launches.fillna(-1).to_dict(),
            result.kernels.fillna(-1).to_dict(),
            result.launch_numbers,
            result.applications.to_dict(),
            {name: result.table(name).to_dict() for name in result.tables},
        ]


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot open .*none\.h5: there is no such file"):
        open_result(tmp_path / "none.h5")
    with pytest.raises(UserError, match="it is a folder"):
        open_result(tmp_path)


@pytest.mark.parametrize("content", [b"", b"text", b"\x89PNG\r\n\x1a\n" + bytes(100)])
def test_no_hdf5(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.h5").write_bytes(content)
    with pytest.raises(UserError, match="is not a result of gpusim: it is no HDF5 file"):
        open_result(tmp_path / "run.h5")


@pytest.mark.parametrize("attributes", [{}, {"format": 3}, {"format": "netCDF"}])
def test_other_hdf5(tmp_path: Path, attributes: dict[str, Any]) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["data"] = [1, 2, 3]
        file.attrs.update(attributes)
    with pytest.raises(UserError, match="not a result of gpusim: it is some other HDF5 file"):
        open_result(tmp_path / "other.h5")


def test_newer_schema(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file.attrs["schema"] = 99
    with pytest.raises(UserError, match="has schema 99, but this gpusim reads schemas up to 2"):
        open_result(path)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.999])
def test_cut_short(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(UserError, match="is damaged or cut short"):
        open_result(path)


@pytest.mark.parametrize(
    "part", ["counters", "summary/value", "stalls/state", "provenance/seed", "applications/name"]
)
def test_missing_parts(path: Path, part: str) -> None:
    with h5py.File(path, "r+") as file:
        del file[part]
    with pytest.raises(UserError, match=r"run\.h5 is damaged: .*"):
        read_all(path)


@pytest.mark.parametrize("part", ["of_launches", "of_kernels"])
def test_numbers_of_other_launches(path: Path, part: str) -> None:
    with h5py.File(path, "r+") as file:
        del file[f"launch_numbers/{part}"]
        file[f"launch_numbers/{part}"] = [[1.0, 2.0]]
    with pytest.raises(UserError, match=rf"{part} is not of 2 by 2 numbers"):
        read_all(path)


def test_missing_schema(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        del file.attrs["schema"]
    with pytest.raises(UserError, match="is damaged"):
        open_result(path)


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_wrong_byte_is_noticed_or_harmless(path: Path, data: st.DataObject) -> None:
    good = path.read_bytes()
    expected = read_all(path)
    damaged = bytearray(good)
    place = data.draw(st.integers(0, len(good) - 1))
    damaged[place] ^= data.draw(st.integers(1, 255))
    path.with_name("damaged.h5").write_bytes(damaged)
    try:
        found = read_all(path.with_name("damaged.h5"))
    except UserError as error:
        found = str(error)
    assert found == expected or "damaged.h5" in found
