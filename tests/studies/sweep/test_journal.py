"""The journal: lines that are only added."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpusim.core.errors import UserError
from gpusim.studies.sweep.journal import Journal


def test_sweeps_add_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with Journal(path, "one") as one, Journal(path, "other") as other:
        one.tell("begin", runs=3)
        other.tell("done", run="0123", seconds=1.5)
        one.tell("end")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(r["sweep"], r["event"]) for r in records] == [
        ("one", "begin"),
        ("other", "done"),
        ("one", "end"),
    ]
    assert records[1]["seconds"] == 1.5
    assert all(record["timestamp"].endswith("Z") for record in records)


def test_a_line_that_was_cut_short_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    path.write_text('{"event": "done"}\n{"event": "do')
    with Journal(path, "one") as one:
        one.tell("begin")
    lines = path.read_text().splitlines()
    assert lines[:2] == ['{"event": "done"}', '{"event": "do']
    assert json.loads(lines[2])["event"] == "begin"


def test_a_journal_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot write .*: Is a directory"):
        Journal(tmp_path, "one")
    full = Path("/dev/full")
    if full.exists():
        with Journal(full, "one") as one, pytest.raises(UserError, match="No space left"):
            one.tell("begin")
