"""Sentences of the papers' mechanism sections, beside the code and the test of each.

``gpusim study sentences [--tables FOLDER] [--doc PAGE]``

FOLDER (by default ``docs/tables/sentences``) has a table for each paper.  Counts and the sentences
that are not followed are printed, or replace that part of PAGE (docs/mechanisms/sentences.md).
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import fields, frozen

from experiments.marked import grid, tell
from gpusim.core.errors import UserError, nearest

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

PAPERS = {
    "mask": "MASK",
    "star": "STAR",
    "orchestrated": "ORCH",
    "compression": "COMP",
    "virtual-caching": "VC",
}
"""By the name of the table: what pages call the paper."""

STATES = ("yes", "reading", "deviates", "absent")
"""As written; a choice among readings, or where the paper is silent; otherwise; not at all."""

NOT_FOLLOWED = ("deviates", "absent")
FOLDER = Path("docs/tables/sentences")


@frozen
class Sentence:
    """A sentence of a paper that states what its mechanism, baseline or machine does.

    Attributes:
        section: where it stands.
        says: its gist.
        code: ``FILE::NAME``, several with semicolons; of a TOML file NAME is a key.
        test: ``FILE::TEST``, several with semicolons; empty: no test follows it.
        state: one of `STATES`.
        remark: the choice, or the reason why it is not followed, with its effect where measured.
    """

    section: str
    says: str
    code: str
    test: str
    state: str
    remark: str

    @property
    def places(self) -> list[str]:
        """The places of its code."""
        return _parts(self.code)

    @property
    def tests(self) -> list[str]:
        """The tests that follow it."""
        return _parts(self.test)


HEAD = tuple(field.name for field in fields(Sentence))


def read(folder: Path, paper: str) -> list[Sentence]:
    """The table of a paper.

    Raises:
        UserError: there is none, or a line has not the columns of `HEAD` or no state of `STATES`.
    """
    path = folder / f"{paper}.csv"
    if not path.is_file():
        raise UserError(f"{path}: there is no such file; --tables names the folder of the tables")
    with path.open(encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file)
    if tuple(head) != HEAD:
        raise UserError(f"{path}:1: the columns must be {', '.join(HEAD)}")
    found = []
    for number, line in enumerate(lines, start=2):
        if len(line) != len(HEAD):
            raise UserError(f"{path}:{number}: {len(line)} columns; there must be {len(HEAD)}")
        one = Sentence(*line)
        if one.state not in STATES:
            hint = nearest(one.state, STATES)
            raise UserError(
                f"{path}:{number}: state {one.state!r}{hint}; allowed: {', '.join(STATES)}"
            )
        found.append(one)
    return found


def counts(tables: dict[str, list[Sentence]]) -> str:
    """How many sentences of each paper are in each state, as a table in Markdown."""
    rows = []
    for paper, sentences in tables.items():
        found = [sum(one.state == state for one in sentences) for state in STATES]
        untested = sum(not one.tests and one.state not in NOT_FOLLOWED for one in sentences)
        link = f"[{PAPERS[paper]}](../tables/sentences/{paper}.csv)"
        rows.append([link, str(len(sentences)), *map(str, found), str(untested)])
    return grid(["paper", "sentences", *STATES, "followed without a test"], rows)


def not_followed(paper: str, sentences: Sequence[Sentence]) -> Iterator[str]:
    """The sentences of a paper that deviate or are absent, each with its reason, in Markdown."""
    yield f"## {PAPERS[paper]}: what is not as written\n"
    found = [one for one in sentences if one.state in NOT_FOLLOWED]
    for one in found:
        yield f"- {one.section}: *{one.says}* **{one.state}:** {one.remark}"
    if not found:
        yield "Nothing."
    yield ""


def text(tables: dict[str, list[Sentence]]) -> str:
    """The part of the page that is made from the tables."""
    lines = [counts(tables), ""]
    for paper, sentences in tables.items():
        lines += not_followed(paper, sentences)
    return "\n".join(lines)


def main() -> None:
    """Print or write the part of the page."""
    parser = argparse.ArgumentParser(description="Sentences of the papers, and their code.")
    parser.add_argument("--tables", type=Path, help=f"folder of the tables ({FOLDER})")
    parser.add_argument("--doc", type=Path, help="page whose part is replaced")
    arguments = parser.parse_args()
    found = {paper: read(arguments.tables or FOLDER, paper) for paper in PAPERS}
    tell(arguments.doc, "sentences", text(found))


def _parts(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(";") if part.strip()]


if __name__ == "__main__":
    main()
