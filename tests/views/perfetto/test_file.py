"""The file is whole or absent, and always the same."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpusim.core.errors import UserError
from gpusim.results import Result, open_result
from gpusim.views.perfetto import export
from tests.views.perfetto.scripted import LOAD, simulate


@pytest.fixture
def small() -> Result:
    return simulate([LOAD])


@pytest.mark.long
def test_equal_runs_give_equal_files(small: Result, tmp_path: Path) -> None:
    simulate([LOAD], output=tmp_path / "run.h5").close()
    with open_result(tmp_path / "run.h5") as again:
        export(again, str(tmp_path / "again.pftrace"))
    export(small, tmp_path / "once.pftrace")
    assert (tmp_path / "once.pftrace").read_bytes() == (tmp_path / "again.pftrace").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "again.pftrace",
        "once.pftrace",
        "run.h5",
    ]


def test_a_run_without_intervals(tmp_path: Path) -> None:
    with (
        simulate([LOAD], record=["walks"]) as result,
        pytest.raises(UserError, match="no 'intervals': run it with record = intervals"),
    ):
        export(result, tmp_path / "run.pftrace")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sms": [0, 2]}, "has no SM 2; allowed: 0 to 1"),
        ({"sms": [-1]}, "has no SM -1; allowed: 0 to 1"),
        ({"begin": 5, "end": 5}, "window from cycle 5 to cycle 5"),
        ({"begin": -1}, "window from cycle -1"),
        ({"begin": 10**9}, "is a run of"),
        ({"end": 10**9}, "is a run of"),
    ],
)
def test_no_such_part(small: Result, tmp_path: Path, options: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=message):
        export(small, tmp_path / "run.pftrace", **options)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_no_such_folder(small: Result, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no folder"):
        export(small, tmp_path / "none" / "run.pftrace")
    with pytest.raises(UserError, match="it is not a file"):
        export(small, tmp_path)


def _full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _defect(*_: object) -> None:
    raise RuntimeError("a defect")


@pytest.mark.parametrize(
    ("place", "failure", "error"),
    [
        ("os.fsync", _full, UserError),
        ("gpusim.views.perfetto.packets.TraceWriter.open", _defect, RuntimeError),
    ],
)
def test_a_failure_leaves_the_old_file(
    small: Result,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    failure: Callable[..., None],
    error: type[Exception],
) -> None:
    path = tmp_path / "run.pftrace"
    path.write_bytes(b"old")
    monkeypatch.setattr(place, failure)
    with pytest.raises(error):
        export(small, path)
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["run.pftrace"]
