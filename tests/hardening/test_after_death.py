"""What is left when a process dies, or cannot print any more."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from experiments.interrupted import KINDS, interrupt
from experiments.interrupted import undisturbed as left_alone
from experiments.kill_storm import storm
from experiments.live_clients import SETTINGS, crowd, undisturbed
from gpusim.files import whole_files as files
from gpusim.files.whole_files import whole_file
from gpusim.studies.sweep.folder import RunFolder
from gpusim.studies.sweep.journal import Journal
from gpusim.studies.sweep.run_claims import Claims, held
from tests import ROOT
from tests.quick import quick

RUN = ["run", "tiny", "atax", "--scale", "smoke", "--set", "workload.n=32"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("written", quick([True, False], False))
def test_a_run_whose_printing_fails_leaves_its_result_or_an_error(tmp_path: Path, written: bool):
    output = tmp_path / "r.h5"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gpusim", *RUN, *(["-o", str(output)] if written else [])],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert output.exists() is written
    if written:
        assert done.returncode == 0
        assert "the result is whole in" in done.stderr
    else:
        assert done.returncode == 2
        assert "cannot print" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("words", [["--version"], ["--help"], ["run", "--help"]])
def test_help_that_cannot_be_printed_is_one_line(words: list[str]):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gpusim", *words],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        2,
        "gpusim: cannot print: No space left on device\n",
    )


def test_partial_tables_of_a_killed_sweep_are_removed(tmp_path: Path):
    folder = RunFolder(tmp_path / "runs", create=True)
    remains = [
        folder.path / ".s.parquet.0a1b2c3d.partial",
        folder.path / ".s.toml.0a1b2c3d.partial",
        folder.path / "failures" / ".k.json.0a1b2c3d.partial",
    ]
    for path in remains:
        path.touch()
    with Claims(folder.claims) as own, Claims(folder.claims) as other:
        folder.remove_partial_tables(own.id)
        assert all(path.exists() for path in remains), "another sweep may be writing them"
        os.utime(remains[0], (0, 0))
        folder.remove_partial_tables(own.id)
        assert [path.exists() for path in remains] == [False, True, True]
        assert other.id != own.id
    with Claims(folder.claims) as own:
        folder.remove_partial_tables(own.id)
    assert not any(path.exists() for path in remains)


def test_files_and_their_names_are_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    done: list[str] = []
    sync, replace = os.fsync, Path.replace

    def synced(place: int) -> None:
        done.append("folder" if Path(f"/proc/self/fd/{place}").is_dir() else "file")
        sync(place)

    def replaced(path: Path, target: Path) -> Path:
        done.append("name")
        return replace(path, target)

    monkeypatch.setattr(files.os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    with whole_file(tmp_path / "a") as stream:
        stream.write(b"x")
    if Path("/proc/self/fd").exists():
        assert done == ["file", "name", "folder"]
    done.clear()
    with Journal(tmp_path / "j.jsonl", "s") as journal:
        journal.tell("done", run="k")
        assert done[-1] == "file", "a record is durable before the sweep goes on"


@pytest.mark.parametrize("owner", [b"\0" * 50, b"x" * 5000, b"../../etc", b"\xff\xfe", b"{}", b""])
def test_claims_of_nobody_go_by_their_age(tmp_path: Path, owner: bytes):
    claim = tmp_path / "k.claim"
    claim.write_bytes(owner)
    (tmp_path / "z.sweep").write_bytes(b'{"host": 1, "process": "x"}')
    (tmp_path / "y.stale").write_bytes(owner)
    assert held(tmp_path) == {"k"}, "it may be about to be written"
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    with Claims(tmp_path) as claims:
        assert claims.take("k")
        claims.remove_stale()
    assert list(tmp_path.iterdir()) == []


def test_a_mark_of_a_killed_sweep_holds_nobody_up(tmp_path: Path):
    for name, owner in (("k.claim", b"gone-1-a"), ("k.stale", b"gone-1-b")):
        (tmp_path / name).write_bytes(owner)
    with Claims(tmp_path) as claims:
        claims.remove_stale()
        assert claims.take("k")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_a_storm_of_kills(tmp_path: Path):
    found = storm(runs=8, kills=2, folder=tmp_path, seed=1)
    assert found.problems == ()


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_what_a_command_leaves_that_is_ended_is_whole_or_not_there(kind, tmp_path: Path):
    expected, seconds = left_alone(kind)
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        _, problems = interrupt(kind, Random(seed), folder, expected, seconds)
        assert not problems


@pytest.mark.long
def test_a_run_is_whole_however_many_look_on():
    settings = {**SETTINGS, "updates": 4}
    seen, problem = crowd(100, undisturbed(settings), settings)
    assert not problem
    assert any("200" in what for what in seen), "some had an answer"
