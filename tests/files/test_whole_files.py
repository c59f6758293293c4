"""A file is whole or absent."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gpusim.core.errors import UserError
from gpusim.results import RunData, open_result
from gpusim.runs.writer import ResultWriter
from tests import ROOT


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, UserError])
def test_a_failed_run_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), ResultWriter(tmp_path / "run.h5") as writer:  # noqa: PT012
        writer.event_table("walks").append(0, 1, 2, 0, 3, 4, 5, 4)
        assert len(list(tmp_path.iterdir())) == 1
        raise error
    assert list(tmp_path.iterdir()) == []


def test_a_failed_run_keeps_the_file_before(tmp_path: Path, run: RunData) -> None:
    path = tmp_path / "run.h5"
    with ResultWriter(path) as writer:
        writer.finish(run).close()
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), ResultWriter(path):
        raise ZeroDivisionError
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_run_that_does_not_finish_leaves_nothing(tmp_path: Path) -> None:
    with ResultWriter(tmp_path / "run.h5"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_data_that_cannot_be_stored_leaves_nothing(tmp_path: Path, run: RunData) -> None:
    with pytest.raises(OverflowError), ResultWriter(tmp_path / "run.h5") as writer:  # noqa: PT012
        writer.event_table("intervals").append(0, -1, 0, 0, 0, 0, 0)
        writer.finish(run)
    assert list(tmp_path.iterdir()) == []


def test_a_new_result_replaces_an_open_one(tmp_path: Path, run: RunData) -> None:
    path = tmp_path / "run.h5"
    with ResultWriter(path) as writer:
        old = writer.finish(run)
    with ResultWriter(path) as writer:
        writer.event_table("walks")
        writer.finish(run).close()
    assert old.tables == {}
    assert open_result(path).tables == {"walks": 0}


_ENDLESS = """
import signal, sys
from gpusim.runs.writer import ResultWriter
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run detached
with ResultWriter(sys.argv[1]) as writer:
    table = writer.event_table("walks")
    for i in range(1 << 40):
        table.append(0, i, 0, 0, i, i, i, 4)
        if i == 200_000:
            print("running", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_run_leaves_no_result(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "run.h5"
    with subprocess.Popen(
        [sys.executable, "-c", _ENDLESS, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"running\n"
        process.send_signal(number)
    assert process.returncode != 0
    assert not path.exists()
    if number == signal.SIGINT:
        assert list(tmp_path.iterdir()) == []


_FULL_DISK = """
import resource, sys
from gpusim.core.errors import UserError
from gpusim.runs.writer import ResultWriter
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
try:
    with ResultWriter(sys.argv[1]) as writer:
        table = writer.event_table("walks")
        for i in range(1 << 22):
            table.append(0, i * 7919 % 1000003, 0, 0, i * i, i ** 3 % 65537, i, 4)
except UserError as error:
    sys.exit(f"UserError: {error}")
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs file size limits")
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FULL_DISK, str(tmp_path / "run.h5")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert f"UserError: cannot write {tmp_path / 'run.h5'}: File too large" in done.stderr
    assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, why in (
        (tmp_path / "no" / "run.h5", "there is no folder"),
        (tmp_path / "file" / "run.h5", "there is no folder"),
        (tmp_path, "it is not a file"),
        (Path("/dev/null"), "it is not a file"),
        (tmp_path / ("x" * 300), "File name too long"),
    ):
        with pytest.raises(UserError, match=f"cannot write .*: {why}"), ResultWriter(path):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder closed to everyone")
def test_a_folder_closed_to_everyone() -> None:
    with (
        pytest.raises(UserError, match=r"cannot write /proc/run\.h5"),
        ResultWriter("/proc/run.h5"),
    ):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_protected_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UserError, match="Permission denied"), ResultWriter(tmp_path / "run.h5"):
        pass
    tmp_path.chmod(0o700)


def test_a_link_is_followed(tmp_path: Path, run: RunData) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link.h5").symlink_to(tmp_path / "there" / "run.h5")
    with ResultWriter(tmp_path / "link.h5") as writer:
        writer.finish(run).close()
    assert (tmp_path / "link.h5").is_symlink()
    assert open_result(tmp_path / "there" / "run.h5").summary["cycles"] == 1000
