"""Users' questions: each is answered by a command or a cell, and every one of them runs.

Blocks are marked as on the other pages (`tests.whole.test_pages`).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.whole.test_pages import BLOCK, DOCS, blocks, run_page
from tests.whole.test_pages import HOW_TO as PAGE

TEXT = (DOCS / PAGE).read_text(encoding="utf-8")
RUN = {"bash", "python"}


def answers() -> dict[str, list[str]]:
    """Languages of the blocks under each question."""
    _, *sections = re.split(r"^## (.*)\n", TEXT, flags=re.MULTILINE)
    return {
        question: [match[3] for match in BLOCK.finditer(answer)]
        for question, answer in zip(sections[::2], sections[1::2], strict=True)
    }


def test_at_least_twenty_questions_are_answered_by_something_that_runs() -> None:
    found = answers()
    assert all(RUN & set(languages) for languages in found.values()), found
    assert len(found) >= 20


@pytest.mark.long
def test_all_answers_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run_page(PAGE, False, tmp_path)
    languages = [language for name, language, _ in blocks(PAGE, False) if not name]
    assert ran == len(languages), "a block of another language does not run"


@pytest.mark.long
def test_answers_that_take_long_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(PAGE, True, tmp_path) == 3
    assert len(list((tmp_path / "runs").rglob("*.h5"))) == 2  # and no more than once
