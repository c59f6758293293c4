"""The tables of sentences name code and tests that there are, and the page is what they make."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from experiments.marked import marked
from experiments.sentences import FOLDER, HEAD, NOT_FOLLOWED, PAPERS, Sentence, read, text
from gpusim.core.errors import UserError
from tests import ROOT

PAGE = ROOT / "docs" / "mechanisms" / "sentences.md"
LONGEST = 15
"""Words of a gist: sentences are not copied."""

TABLES = {paper: read(ROOT / FOLDER, paper) for paper in PAPERS}
ALL = [(paper, one) for paper, sentences in TABLES.items() for one in sentences]


@pytest.mark.parametrize("paper", PAPERS)
def test_code_and_tests_exist(paper: str) -> None:
    missing = [
        place for one in TABLES[paper] for place in (*one.places, *one.tests) if not exists(place)
    ]
    assert missing == []


def test_tests_are_tests() -> None:
    named = {place for _, one in ALL for place in one.tests}
    assert not [
        one
        for one in named
        if not (one.startswith("tests/") and one.partition("::")[2].lower().startswith("test"))
    ]


def test_what_is_followed_names_its_code_and_what_is_chosen_or_not_followed_says_why() -> None:
    assert not [one for _, one in ALL if not one.places and one.state not in NOT_FOLLOWED]
    assert not [one for _, one in ALL if not one.remark and one.state != "yes"]
    assert not [one for _, one in ALL if not one.section or not one.says]


def test_gists_are_short_and_stand_once() -> None:
    assert not [one.says for _, one in ALL if len(one.says.split()) > LONGEST]
    keys = [(paper, one.section, one.says) for paper, one in ALL]
    assert len(set(keys)) == len(keys)


def test_every_paper_has_sentences() -> None:
    assert {path.stem for path in (ROOT / FOLDER).glob("*.csv")} == set(PAPERS)
    assert all(len(sentences) > 20 for sentences in TABLES.values())


def test_the_page_is_what_the_tables_make() -> None:
    """After a change: ``gpusim study sentences --doc docs/mechanisms/sentences.md``."""
    page = PAGE.read_text(encoding="utf-8")
    assert marked(page, "sentences") == text(TABLES).strip()


def test_the_page_lists_each_sentence_that_is_not_followed_and_no_other() -> None:
    made = {"mask": [sentence("yes"), sentence("deviates"), sentence("absent", "no room")]}
    lines = text(made).splitlines()
    assert lines[2] == "| [MASK](../tables/sentences/mask.csv) | 3 | 1 | 0 | 1 | 1 | 1 |"
    assert [line for line in lines if line.startswith("- ")] == [
        "- §1: *it adds* **deviates:** why",
        "- §1: *it adds* **absent:** no room",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("§1,it adds,a.py::b,,maybe,", "mask.csv:2: state 'maybe'.*; allowed: yes, reading"),
        ("§1,it adds,a.py::b", "mask.csv:2: 3 columns; there must be 6"),
    ],
)
def test_wrong_lines_are_refused(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mask.csv").write_text(f"{','.join(HEAD)}\n{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read(tmp_path, "mask")


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"mask.csv: there is no such file; tables names"):
        read(tmp_path, "mask")


def test_wrong_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mask.csv").write_text("section,says\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"mask.csv:1: the columns must be section, says, code"):
        read(tmp_path, "mask")


def test_places_that_are_not_there_are_found() -> None:
    assert exists("experiments/sentences.py::Sentence.places")
    assert exists("experiments/sentences.py::PAPERS")
    assert exists("models/maxwell-mask.toml::tlb.L2.entries")
    assert not exists("experiments/sentences.py::Sentence.colour")
    assert not exists("models/maxwell-mask.toml::tlb.L2.colour")
    assert not exists("experiments/none.py::PAPERS")


def sentence(state: str, remark: str = "why") -> Sentence:
    return Sentence("§1", "it adds", "a.py::b", "", state, remark)


def exists(place: str) -> bool:
    """Whether a file has the class, function, constant or key of a place."""
    file, _, name = place.partition("::")
    return name in names(file)


@cache
def names(file: str) -> frozenset[str]:
    """What a place may name in a file."""
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    if path.suffix == ".toml":
        return frozenset(keys(tomllib.loads(path.read_text(encoding="utf-8"))))
    return frozenset(defined(ast.parse(path.read_text(encoding="utf-8"))))


def keys(table: dict[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in table.items():
        yield f"{prefix}{key}"
        if isinstance(value, dict):
            yield from keys(value, f"{prefix}{key}.")


def defined(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield f"{prefix}{node.name}"
        if isinstance(node, ast.ClassDef):
            yield from defined(node, f"{prefix}{node.name}.")
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        yield from (f"{prefix}{one.id}" for one in targets if isinstance(one, ast.Name))
