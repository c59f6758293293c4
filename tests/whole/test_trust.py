"""The page of what can be trusted: it says what the pages say that it is made from."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from attrs import evolve

from experiments.marked import marked
from experiments.trust.__main__ import MARK, in_readme, main
from experiments.trust.claims import NOT_MADE, Judgement, judgement
from experiments.trust.evidence import collect
from experiments.trust.page import find, page, summary
from experiments.trust.pages import numbers, rows_of, said, tables
from gpusim.core.errors import UserError
from gpusim.studies.reproduce.claims import Claim, Paper, Role, papers
from tests import ROOT

DOCS = ROOT / "docs"
AGAIN = "run: gpusim study trust --doc docs/trust.md --readme README.md"


def test_page_and_readme_are_what_the_command_writes() -> None:
    found = find(DOCS)
    assert (DOCS / "trust.md").read_text(encoding="utf-8") == page(found), AGAIN
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert marked(readme, MARK) == in_readme(summary(found)), AGAIN


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    docs = shutil.copytree(
        DOCS, tmp_path / "docs", ignore=shutil.ignore_patterns("*.png", "notebooks", "examples")
    )
    readme = tmp_path / "README.md"
    readme.write_text(f"# A\n\n<!-- {MARK}: begin -->\n<!-- {MARK}: end -->\n")
    words = ["--doc", str(docs / "trust.md")]
    main([*words, "--readme", str(readme)])
    assert (docs / "trust.md").read_text(encoding="utf-8") == page(find(DOCS))
    assert marked(readme.read_text(encoding="utf-8"), MARK) == in_readme(summary(find(DOCS)))
    (docs / "validation.md").write_text("# Nothing\n")
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "validation.md does not say" in capsys.readouterr().err


def test_every_claim_is_counted_once() -> None:
    for paper in papers():
        judged = judgement(paper, DOCS / "reproduction")
        counts = sum(sum(judged.count(role).values()) for role in Role)
        assert counts == len(paper.claim)
    assert {
        judgement(papers()[0], Path("nowhere")).verdicts[one.id]
        for one in papers()[0].claim
        if not one.reason
    } == {NOT_MADE}


def claim(name: str) -> Claim:
    return Claim(
        id=f"p.{name}",
        role="outcome",
        where="§1",
        statement=name,
        direction="higher",
        measured="it",
    )


def judged(*claims: Claim, verdict: str = "differs") -> Judgement:
    paper = Paper(
        name="paper",
        paper="p",
        title="P",
        model="tiny",
        programs="p",
        intro="",
        claim=claims,
    )
    return Judgement(paper, {one.id: verdict for one in claims}, ())


CLAIMS = tuple(claim(f"fig{number}.one") for number in range(5))


def test_what_pages_say(tmp_path: Path) -> None:
    text = "## A\n\nOf 3\ncounts.\n\n| a | b |\n|---|--:|\n| 1 | −2.5 % |\n\n## B\nc\n"
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    assert list(rows_of(text, "a | b")) == [{"a": "1", "b": "−2.5 %"}]
    assert numbers("−2.5 % of 1,024") == [-2.5, 1024]
    assert said(tmp_path / "a.md", r"Of (\d) counts")[1] == "3"
    with pytest.raises(UserError, match="no table"):
        tables(tmp_path / "a.md", "c")


def test_evidence_follows_the_pages(tmp_path: Path) -> None:
    for name in ("validation.md", "hardware.md"):
        shutil.copy(DOCS / name, tmp_path)
    shutil.copytree(DOCS / "tables", tmp_path / "tables")
    before = {one.what: one.result for one in collect(tmp_path)}
    worse = (tmp_path / "validation.md").read_text(encoding="utf-8")
    worse = worse.replace("| bfs-rodinia-4096-sm80-v3 | 90,629 (+0.0)", "| bfs | 90,629 (-4.0)")
    (tmp_path / "validation.md").write_text(worse, encoding="utf-8")
    after = {one.what: one.result for one in collect(tmp_path)}
    changed = {what for what in before if before[what] != after[what]}
    assert changed == {"SASS traces"}


def test_the_summary_counts_what_was_made() -> None:
    found = evolve(find(DOCS), judgements=[judged(*CLAIMS)])
    assert "of 5 outcome claims of 1 papers 0 agree" in summary(found)
