"""A user's mistake ends with a message and exit code 2, and leaves nothing behind."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tests.whole.running import command

RUN = ("run", "tiny", "bfs", "--scale", "smoke")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*arguments: str) -> str:
    """What `gpusim` says; checks that it is said well, and that no file is new."""
    before = sorted(Path.cwd().rglob("*"))
    outcome = command(*arguments, code=2)
    assert outcome.stdout == ""
    assert "Traceback" not in outcome.stderr
    assert sorted(Path.cwd().rglob("*")) == before
    return outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("run", "kepler-uwm", "bfs"),
            ["kepler-uwm", "did you mean 'kepler-uvm'", "more, or the path"],
        ),
        (("run", "./gone.toml", "bfs"), ["no model file './gone.toml'"]),
        (("run", "tiny", "bsf"), ["bsf", "did you mean 'bfs'", "gpusim list workloads"]),
        ((*RUN, "--variant", "ideal-tbl"), ["did you mean 'ideal-tlb'", "gpusim list recipes"]),
        (("run", "tiny", "bfs", "--scale", "smok"), ["did you mean 'smoke'", "quick, paper"]),
        ((*RUN, "--seed", "-1"), ["seed", "0 or more"]),
        ((*RUN, "--set", "tlb.L2.entris=64"), ["entris", "did you mean 'entries'"]),
        ((*RUN, "--set", "tlb.L2.array=set-asociative"), ["did you mean 'set-associative'"]),
        ((*RUN, "--set", "dram.scheduler=frfcfs"), ["did you mean 'fr-fcfs'", "fcfs"]),
        ((*RUN, "--record", "interval", "-o", "x.h5"), ["did you mean 'intervals'", "walks"]),
        ((*RUN, "--record", "walks"), ["-o FILE.h5"]),
        ((*RUN, "--set", "l1.size=4kB"), ["did you mean '4KiB'", "B, KiB, MiB, GiB"]),
        ((*RUN, "--set", "l1.size=4096"), ["l1.size = 4096", "with its unit"]),
        ((*RUN, "--set", "l1.latency=1.5 cycles"), ["l1.latency", "whole number of cycles"]),
        ((*RUN, "--set", "clock=3 parsec"), ["clock", "MHz"]),
        ((*RUN, "--set", "tlb.L2.entries"), ["--set tlb.L2.entries=1024"]),
        ((*RUN, "--set", "=3"), ["--set"]),
        ((*RUN, "--set", "tlb..entries=3"), ["--set: 'tlb..entries': not a key"]),
        ((*RUN, "--set", "tlb.L2.entries=many"), ["tlb.L2.entries", "whole number"]),
        (
            (*RUN, "--set", "workload.sourc=0"),
            ["--set workload.sourc: unknown", "mean 'source'"],
        ),
        ((*RUN, "--set", "workload.source=256"), ["256"]),
        ((*RUN, "--set", "memory.size=256KiB"), ["no room for page tables", "raise memory.size"]),
        ((*RUN, "--set", "sm.max_threads=128"), ["does not fit on an SM", "sm.max_threads = 128"]),
        ((*RUN, "--set", "sm.registers=1000"), ["does not fit on an SM", "sm.registers = 1000"]),
        ((*RUN, "-o", "missing/run.h5"), ["missing/run.h5: there is no folder"]),
        ((*RUN, "-o", "."), ["cannot write", "it is not a file"]),
    ],
)
def test_messages(arguments: tuple[str, ...], words: list[str]) -> None:
    message = refused(*arguments)
    assert [word for word in words if word not in message] == []


def test_physical_memory_that_is_too_small() -> None:
    arguments = ("run", "tiny", "atax", "--scale", "smoke", "--set", "memory.size=2MiB")
    message = refused(*arguments, "-o", "run.h5")
    assert "physical memory is full" in message
    assert "memory.size" in message


def test_a_read_only_folder(folder: Path) -> None:
    locked = folder / "locked"
    locked.mkdir(mode=0o500)
    if os.access(locked, os.W_OK):
        pytest.skip("root may write anywhere")
    assert "Permission denied" in refused(*RUN, "-o", "locked/run.h5")


def test_a_file_where_a_folder_should_be(folder: Path) -> None:
    (folder / "plain").write_text("")
    assert "plain/run.h5: there is no folder" in refused(*RUN, "-o", "plain/run.h5")


def test_a_failed_run_leaves_the_old_file_alone(folder: Path) -> None:
    old = folder / "run.h5"
    old.write_bytes(b"precious")
    refused(*RUN, "--set", "sm.registers=1000", "-o", "run.h5")
    assert old.read_bytes() == b"precious"


GRAPHS = {
    "empty.txt": ("", ["empty"]),
    "blank.graph": ("\n\n", ["empty"]),
    "negative.txt": ("0 1\n1 -2\n", ["line 2", "-2"]),
    "negative.graph": ("2 1\n2\n-1\n", ["line 3", "-1"]),
    "range.graph": ("2 1\n2\n3\n", ["line 3", "3"]),
    "range.mtx": (
        "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 9\n",
        ["line 3", "9"],
    ),
    "words.txt": ("0 1\n1 two\n", ["line 2", "two"]),
    "words.gr": ("p sp 2 1\na 1 x 1\n", ["line 2", "x"]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_bad_graphs(name: str, folder: Path) -> None:
    text, words = GRAPHS[name]
    (folder / name).write_text(text)
    message = refused(*RUN, "--set", f"workload.graph={folder / name}")
    assert [word for word in (name, *words) if word not in message] == []


def test_a_missing_graph() -> None:
    assert "nowhere.graph" in refused(*RUN, "--set", "workload.graph=./nowhere.graph")


def test_a_truncated_gzip_file(folder: Path) -> None:
    packed = gzip.compress(b"".join(b"%d %d\n" % (i, i + 1) for i in range(5000)))
    (folder / "cut.txt.gz").write_bytes(packed[: len(packed) // 2])
    assert "cut.txt.gz" in refused(*RUN, "--set", f"workload.graph={folder / 'cut.txt.gz'}")


def test_isolated_vertices_run(folder: Path) -> None:
    (folder / "sparse.graph").write_text("5 1\n\n4\n\n2\n\n")
    command(*RUN, "--set", f"workload.graph={folder / 'sparse.graph'}", "-o", "run.h5")
    assert (folder / "run.h5").is_file()
