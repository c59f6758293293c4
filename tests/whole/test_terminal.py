"""What a run prints is whole on a narrow terminal, and made for the eye."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

import gpusim
from gpusim.cli.summary import print_summary
from gpusim.files.shipped import data_names
from gpusim.results import Result
from tests import ROOT
from tests.quick import quick
from tests.views.report.runs import run_pair
from tests.whole.running import run


@pytest.mark.parametrize("width", quick([80, 120], 80))
@pytest.mark.parametrize("model", quick(data_names("models"), "tiny", "a100-mig", "apu-hsa"))
def test_nothing_is_cut_off(model: str, width: int) -> None:
    result = run(model, "bfs", parameters={"graph.vertices": 128})
    words = " ".join(printed(result, width, everything=True).split())
    for name, description in result.summary_descriptions.items():
        nothing = name.endswith("_waits") and not result.summary[name]
        assert name.startswith("share_") or nothing or description in words
    assert f"length of the run {result.summary['cycles']:,} cycles" in words
    rate = result.summary["tlb_L1_hit_rate"]
    assert f"L1 TLB hit rate, all TLBs together {rate * 100:.1f} %" in words
    assert f"DRAM reads, those of page walks included {result.summary['dram_reads']:,}" in words


@pytest.mark.parametrize("model", quick(data_names("models"), "tiny", "a100-mig"))
def test_the_end_of_a_run_fits_on_a_screen(model: str) -> None:
    result = run(model, "bfs", parameters={"graph.vertices": 128})
    lines = printed(result, 80).splitlines()
    assert len(lines) - len(result.warnings) <= 24 + 5  # parts of states that a cause is known of
    assert lines[0].startswith("Warps wait for translation in ")
    headline = [line.strip() for line in lines].index("where the warps' cycles went")
    assert headline <= 3 + 14


def test_the_first_screen_of_the_readme_is_what_is_printed() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = text.partition("```text\n$ gpusim run kepler-uvm bfs --scale smoke --cost\n")[2]
    told = block.partition("digest ")[0].splitlines()
    workload = gpusim.load_workload("bfs", "smoke")
    with gpusim.simulate("kepler-uvm", workload, cost=True) as result:
        shown = printed(result, 80).partition("digest ")[0].splitlines()
    assert [line.rstrip() for line in shown] == told


def printed(result: Result, width: int, *, everything: bool = False) -> str:
    """What is printed of a result, none of it cut off."""
    shown = io.StringIO()
    print_summary(result, console=Console(file=shown, width=width), everything=everything)
    text = shown.getvalue()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    return text


def test_applications_are_columns(tmp_path: Path) -> None:
    """In one table where there is room, else in several: a row a number, whosever it is."""
    with run_pair(tmp_path, "one", "another application, which has a long name") as result:
        wide = printed(result, 160, everything=True)
        narrow = printed(result, 48)
        ends = result.applications.end
        cycles = [result.summary["cycles"], *ends]
        dram = result.stalls[result.stalls.state == "dram"].warp_cycles
    assert wide.count("length of the run") == 1
    assert [int(word.replace(",", "")) for word in row(wide, "length of the run")] == cycles
    assert narrow.count("length of the run") == 3
    stalls = wide.partition("warps' cycles")[2]
    states = [line.split()[0] for line in stalls.splitlines()[2:] if line.startswith(" ")]
    assert len(set(states)) == len(states) > 5
    assert row(wide, "\n dram ")[::3] == [f"{cycles:,}" for cycles in dram]


def test_two_applications_fit_into_an_ordinary_terminal(tmp_path: Path) -> None:
    with run_pair(tmp_path, "SCAN_3DS", "LUH_BFS2") as result:
        assert printed(result, 80).count("warp instructions a cycle") == 1


def row(text: str, label: str) -> list[str]:
    """Words behind the label of a row, without its unit."""
    (line,) = (line for line in text.splitlines() if label.strip("\n") in line)
    return [word for word in line.partition(label.strip("\n"))[2].split() if word != "cycles"]
