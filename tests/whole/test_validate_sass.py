"""The comparison with Accel-Sim, on traces whose counts can be worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.validate_sass import COUNTS, main, read_counts
from gpusim.machine.load import load_model
from tests.traces.writing import EXIT, block, header, write

LOAD = "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f1000000000 4 0"
AGAIN = "0020 ffffffff 1 R6 LDG.E 1 R4 4 1 0x7f1000000000 4 0"
STORE = "0030 ffffffff 0 STG.E 2 R2 R6 4 1 0x7f1000100000 4 0"

TOLD = """
[one]
l1_accesses = 12
l2_accesses = 8
l2_miss_rate = 1.0
dram_reads = 4
[bad]
l1_accesses = 1
l2_accesses = 1
l2_miss_rate = 0.5
dram_reads = 1
"""
"""A line of 4 sectors is loaded twice, once from the L1 cache, and another one is stored."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one").mkdir()
    write(tmp_path / "one" / "kernel-1.traceg", header() + block([[LOAD, AGAIN, STORE, EXIT]]))
    write(tmp_path / "one" / "kernelslist.g", "kernel-1.traceg\n")
    (tmp_path / "counts.toml").write_text(TOLD)
    keys = {"l1.sector": "32B", "l2.sector": "32B", "walk.cost": "fixed"}
    (tmp_path / "sectored.toml").write_text(load_model("tiny", (), keys).to_toml())
    return tmp_path


def run(folder: Path, *more: str) -> int:
    counts, model = str(folder / "counts.toml"), str(folder / "sectored.toml")
    return main(
        ["--reference", str(folder), "--counts", counts, "--model", model, "-j", "1", *more]
    )


def test_counts_worked_out_by_hand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--json") == 0
    (trace,) = json.loads(capsys.readouterr().out)["traces"]
    assert {row["name"]: row["ours"] for row in trace["rows"]} == {
        "L1 accesses": 12,
        "L2 accesses": 8,
        "L2 hits": 0,
        "DRAM reads": 4,
    }
    (folder / "counts.toml").write_text(TOLD.replace("l1_accesses = 12", "l1_accesses = 13"))
    assert run(folder) == 1
    assert capsys.readouterr().out.count("OUT") == 1


def test_a_bad_trace_stops_no_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad").mkdir()
    write(folder / "bad" / "kernel-1.traceg", header() + block([[LOAD, "0020 zz"]]))
    write(folder / "bad" / "kernelslist.g", "kernel-1.traceg\n")
    assert run(folder, "--json") == 2
    told = json.loads(capsys.readouterr().out)
    assert [one["trace"] for one in told["traces"]] == ["one"]
    ((name, message),) = [(one["trace"], one["message"]) for one in told["failed"]]
    assert name == "bad"
    assert "kernel-1.traceg:" in message


def test_what_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--reference", str(folder / "one" / "none")]) == 2
    assert "there is no folder bfs-rodinia" in capsys.readouterr().err
    counts = ["--reference", str(folder), "--counts", str(folder / "counts.toml"), "-j", "1"]
    assert main([*counts, "--model", "tiny"]) == 2
    assert "l2.sector must be smaller than a line" in capsys.readouterr().err


def test_the_counts_of_accel_sim_are_whole() -> None:
    for told in read_counts(COUNTS).values():
        assert set(told) == {"l1_accesses", "l2_accesses", "l2_miss_rate", "dram_reads"}
