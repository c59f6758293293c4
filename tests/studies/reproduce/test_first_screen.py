"""Pages of papers are what their claims files and parts make, and begin with results."""

from __future__ import annotations

import re
from math import inf

import pytest

from gpusim.studies.reproduce.claims import Claim, Role, papers
from gpusim.studies.reproduce.figure_table import write_rows
from gpusim.studies.reproduce.page import (
    claims_id,
    claims_rows,
    page_text,
    parts_of,
    readings_id,
    remarks,
    verdicts_on,
)
from gpusim.studies.reproduce.sensitivity_page import readings
from tests import ROOT

FOLDER = ROOT / "docs" / "reproduction"


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.paper)
def test_a_page_is_what_its_parts_and_claims_make(paper):
    text = (FOLDER / f"{paper.name}.md").read_text(encoding="utf-8")
    assert page_text(paper, parts_of(text)) == text


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.paper)
def test_tables_beside_a_page_say_how_its_claims_are_measured_and_who_says_so(paper, tmp_path):
    tables = {claims_id(paper): claims_rows(paper), readings_id(paper): readings(paper)}
    for name, rows in tables.items():
        written = write_rows(rows, tmp_path, name)
        assert (FOLDER / "tables" / f"{name}.csv").read_bytes() == written.read_bytes()


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.paper)
def test_a_page_begins_with_results_a_picture_and_why(paper):
    text = (FOLDER / f"{paper.name}.md").read_text(encoding="utf-8")
    screen, _, _ = text.partition("\n## ")
    verdicts = verdicts_on(paper, text)
    for claim in paper.claim:
        if claim.headline:
            row = next(line for line in screen.splitlines() if claim.statement in line)
            _, here, verdict = row.strip("| ").split(" | ")
            assert here
            assert verdict == verdicts[claim.id]
    assert len(re.findall(r"^!\[.*\]\(pictures/.*\)$", screen, re.MULTILINE)) == 1
    assert paper.why.strip() in screen
    assert len(screen.split()) < 400


def test_a_remark_says_what_bounds_a_claim_and_how_that_follows():
    claim = Claim(
        id="p.x",
        role=Role.OUTCOME,
        where="w",
        statement="s",
        direction="higher",
        values=(10.0, 43.6),
        unit="%",
        bound=(inf, 14.7),
        derivation="Leaves alone.",
        cause="So it is.",
    )
    assert next(remarks([claim])) == (
        "*p.x*: At most **any, 14.7 %** follows: Leaves alone. So it is."
    )
