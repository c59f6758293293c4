"""What became of papers' claims: from their files, and the pages of docs/reproduction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen

from experiments.trust.pages import Row, rows_of
from gpusim.studies.reproduce.claims import Claim, Paper, Role
from gpusim.studies.reproduce.page import choices_id, verdicts_on
from gpusim.studies.reproduce.verdict import Verdict

NOT_MADE = "not made yet"
"""Text for claims whose figure is not on its paper's page."""

OUTCOMES = (*map(str, Verdict), NOT_MADE)


@frozen
class Judgement:
    """A paper's claims with what became of them.

    Attributes:
        paper: whose they are.
        verdicts: by claim, one of `OUTCOMES`.
        intervals: rows of the table of shifted runs, if its page has one.
    """

    paper: Paper
    verdicts: Mapping[str, str]
    intervals: tuple[Row, ...]

    def count(self, role: Role) -> Counter[str]:
        """How many claims of a role have which verdict."""
        return Counter(self.verdicts[one.id] for one in self.paper.claim if one.role == role)

    def headlines(self) -> Iterator[tuple[Claim, str]]:
        """Main results and their verdicts."""
        for claim in self.paper.claim:
            if claim.headline:
                yield claim, self.verdicts[claim.id]


def judgement(paper: Paper, folder: Path) -> Judgement:
    """What the page of a paper says; without a page nothing is made yet."""
    page = folder / f"{paper.name}.md"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    on_page = verdicts_on(paper, text)
    _, _, rest = text.partition(f"<!-- begin {choices_id(paper)} -->")
    tried, _, _ = rest.partition(f"<!-- end {choices_id(paper)} -->")
    verdicts = {claim.id: on_page.get(claim.id, NOT_MADE) for claim in paper.claim}
    return Judgement(paper, verdicts, tuple(rows_of(tried, "main result | the paper")))
