"""Checkpoint files whose structure is wrong, or that reach for other files."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.runs.checkpoint.file import read_checkpoint
from tests.hardening.test_results_of_strangers import (
    changed,
    huge,
    linked,
    outside,
    removed,
    shorten,
    texts,
    virtual,
)

WORKLOAD = gpusim.load_workload("mvt", "smoke", overrides={"n": 64, "iterations": 2})

COLUMNS = [
    "applications/name",
    "launches/pieces",
    "requires/key",
    "0/pieces/transactions",
    "0/values/value",
    "0/whole/line",
    "0/last/home",
]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "state.h5"
    model = gpusim.load_model("tiny")
    gpusim.checkpoint(model, WORKLOAD, path, skip="1launches", keep="50")
    start(path)
    return path.read_bytes()


def start(path: Path) -> None:
    gpusim.simulate(gpusim.load_model("tiny"), WORKLOAD, start=path).close()


@pytest.mark.parametrize("change", [shorten, outside, virtual, linked, texts, huge, removed])
@pytest.mark.parametrize("name", COLUMNS)
def test_wrong_structure_is_an_error_of_the_user(
    good: bytes, tmp_path: Path, change: Callable[[h5py.File, str], None], name: str
) -> None:
    path = changed(good, tmp_path / "bad.h5", change, name)
    with pytest.raises(UserError, match=r"bad\.h5|was made with another program"):
        start(path)


@pytest.mark.parametrize("name", ["0/pieces", "0/changes", "facts", "requires", "launches"])
def test_a_column_where_a_table_should_be(good: bytes, tmp_path: Path, name: str) -> None:
    def replaced(file: h5py.File, group: str) -> None:
        del file[group]  # to look for a name in rows like these takes minutes
        file.create_dataset(group, (10_000_000,), "u1", chunks=True, compression=1)

    path = changed(good, tmp_path / "bad.h5", replaced, name)
    with pytest.raises(UserError, match=rf"bad\.h5 is damaged: '/{name}' is no table"):
        start(path)


WRONG = [
    ("launches/app", 0, 7),
    ("launches/blocks", 0, 9),
    ("launches/begun", 0, 0),
    ("launches/begun", 0, 1 << 40),
    ("launches/pieces", 0, 1 << 61),
    ("0/pieces/transactions", 0, -1),
    ("0/pieces/transactions", 0, -2),
    ("0/pieces/transactions", 0, -3),
    ("0/pieces/transactions", -1, -2),
    ("0/pieces/transactions", 0, 1 << 61),
    ("0/pieces/transactions", -1, 5),
    ("0/pages/page", 0, 1 << 60),
    ("0/changes/array", 0, 99),
    ("0/changes/start", 0, 1 << 60),
    ("0/changes/count", 0, 0),
    ("0/whole/line", 0, 1 << 60),
    ("0/whole/line", 0, -(1 << 40)),
    ("0/whole/kind", 0, 4),
    ("0/last/line", 0, 1 << 60),
    ("0/last/home", 0, 2),
    ("0/last/slot", 0, 4),
    ("0/last/kind", 0, 9),
    ("requires/value", 0, b"none"),
    ("applications/arrays", 0, b"00"),
    ("applications/sms", 0, 3),
    ("facts/parameters", 0, b"x = = 1"),
    ("facts/parameters", 0, b"applications = 3"),
]


@pytest.mark.parametrize(("name", "row", "value"), WRONG)
def test_wrong_values_are_refused(
    good: bytes, tmp_path: Path, name: str, row: int, value: int | bytes
) -> None:
    def change(file: h5py.File, name: str) -> None:
        values = file[name][:].astype("S64" if isinstance(value, bytes) else "i8")
        values[row] = value
        del file[name]
        file[name] = values

    path = changed(good, tmp_path / "bad.h5", change, name)
    with pytest.raises(UserError, match=r"bad\.h5"):
        start(path)


def test_what_is_no_checkpoint(good: bytes, tmp_path: Path) -> None:
    result = tmp_path / "result.h5"
    gpusim.simulate(gpusim.load_model("tiny"), WORKLOAD, output=result).close()
    with pytest.raises(UserError, match="is not a checkpoint of gpusim"):
        start(result)
    with pytest.raises(UserError, match="there is no such file"):
        start(tmp_path / "nothing.h5")

    def newer(file: h5py.File, name: str) -> None:
        file.attrs["schema"] = np.int64(99)

    with pytest.raises(UserError, match="a newer gpusim wrote it"):
        start(changed(good, tmp_path / "newer.h5", newer, ""))


def test_more_memory_than_allowed(
    good: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large.h5"
    path.write_bytes(good)
    monkeypatch.setenv("GPUSIM_MEMORY", "1KiB")
    with pytest.raises(UserError, match=r"large\.h5 holds would take about"):
        read_checkpoint(path)
