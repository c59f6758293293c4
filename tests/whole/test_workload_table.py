"""What papers state of programs, beside what these do here: as docs/workloads.md has it."""

from __future__ import annotations

from pathlib import Path

from experiments.workload_table import HEADER, summary, write_part

LINES = [
    ("a", "1%", "2%", "3", "4%", "low", "low", "yes"),
    ("b", "1%", "2%", "3", "4%", "low", "high", "no"),
    ("c", "1%", "2%", "3", "4%", "class x", "0.5 a cycle", ""),
]


def test_programs_stand_below_what_the_paper_states_and_others_in_bold() -> None:
    text = summary("t", "n.csv", LINES)
    assert "1 of 2 agree" in text
    assert "- low: a; b **high**\n- class x: c 0.5 a cycle\n" in text


def test_a_part_of_the_page_is_replaced_and_all_numbers_are_beside_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# P\n<!-- measured mask: begin -->\nwas there\n<!-- measured mask: end -->\n")
    (tmp_path / "tables").mkdir()
    write_part(page, "mask", "quick", LINES)
    assert "tables/workloads-mask.csv" in page.read_text()
    assert "was there" not in page.read_text()
    rows = (tmp_path / "tables" / "workloads-mask.csv").read_text().splitlines()
    assert rows[0] == ",".join(HEADER)
    assert rows[2] == "b,1%,2%,3,4%,low,high,no"
