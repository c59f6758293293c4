"""`gpusim report`, from outside."""

from __future__ import annotations

import shlex
from pathlib import Path

import h5py
import pytest

from gpusim.results import open_result
from gpusim.views.report import html_report
from tests.views.report.reading import read, section
from tests.whole.running import command


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.h5"
    options = ["--scale", "smoke", "--set", "workload.n=64", "--set", "tlb.L1.entries=8"]
    command("run", "tiny", "atax", *options, "--variant", "ideal-dram", "-o", str(path))
    return path


def test_the_page_lies_beside_the_result(run: Path) -> None:
    page = run.with_suffix(".html")
    assert command("report", str(run)).stdout == f"written to {page}\n"
    with open_result(run) as result:
        assert page.read_text(encoding="utf-8") == html_report(result)
    assert "tiny + ideal-dram" in page.read_text(encoding="utf-8")


@pytest.mark.long
def test_the_command_in_the_page_gives_the_same_run(run: Path) -> None:
    command("report", str(run))
    page = read(run.with_suffix(".html").read_text(encoding="utf-8"))
    facts = {one.one("dt").text: one.one("dd").text for one in section(page, "run").all("div")}
    again = run.with_name("again.h5")
    command(*shlex.split(facts["the same run"])[1:], "-o", str(again))
    with open_result(again) as result:
        assert result.digest == facts["digest of all results"]


@pytest.mark.long
def test_an_older_page_is_replaced(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.htm"
    page.write_text("older")
    command("report", str(run), "-o", str(page))
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["page.htm", "run.h5"]


def test_the_result_is_never_replaced(run: Path) -> None:
    before = run.read_bytes()
    outcome = command("report", str(run), "-o", str(run.parent / "." / "run.h5"), code=2)
    assert "would replace the result" in outcome.stderr
    assert run.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.h5"], "there is no such file"),
        (["run.h5", "-o", "no/folder.html"], "there is no folder no"),
        (["run.h5", "-o", "."], "cannot write .: it is not a file"),
    ],
)
def test_mistakes_are_told(
    run: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(run.parent)
    outcome = command("report", *arguments, code=2)
    assert message in outcome.stderr
    assert [one.name for one in run.parent.iterdir()] == ["run.h5"]


def test_damage_leaves_nothing_behind(run: Path) -> None:
    with h5py.File(run) as file:
        place = file["counters/value"].id.get_chunk_info(0).byte_offset
    data = bytearray(run.read_bytes())
    data[place] ^= 0xFF
    run.write_bytes(data)
    outcome = command("report", str(run), code=2)
    assert "damaged" in outcome.stderr
    assert [one.name for one in run.parent.iterdir()] == ["run.h5"]
