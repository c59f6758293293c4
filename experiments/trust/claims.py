"""What became of papers' claims, and why: from their files, and the pages of docs/reproduction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen

from experiments.trust.pages import Row, rows_of
from gpusim.studies.reproduce.claims import Claim, Paper, Role
from gpusim.studies.reproduce.page import choices_id, verdicts_on
from gpusim.studies.reproduce.verdict import Verdict

NOT_MADE = "not made yet"
"""Of claims whose figure is not on its paper's page."""

OUTCOMES = (*map(str, Verdict), NOT_MADE)

_OTHER = re.compile(r"\b(?:[Aa]s|[Ss]ee) \*?([a-z][\w.]*\w)\*?")
_SENTENCE = re.compile(r"(?<!Fig)(?<!Figs)(?<!al)[.] (?=[A-Z0-9*])")
_SHORT = 90
"""Letters of a first sentence that needs the second one beside it."""


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

    def causes(self) -> list[tuple[Claim, list[Claim]]]:
        """Why claims do not agree: one that names a cause, and all that come out as they do for it.

        Those with most claims come first; a claim that refers to another has that one's cause.
        """
        wrong = (Verdict.DIRECTION, Verdict.DIFFERS)
        found: dict[str, list[Claim]] = {}
        for claim in self.paper.claim:
            if self.verdicts[claim.id] in wrong and claim.cause:
                found.setdefault(self._root(claim).id, []).append(claim)
        by_id = {claim.id: claim for claim in self.paper.claim}
        groups = [(by_id[root], claims) for root, claims in found.items()]
        return sorted(groups, key=lambda group: -len(group[1]))

    def _root(self, claim: Claim) -> Claim:
        """The claim whose cause it is, through all that refer to another."""
        seen = [claim]
        while (other := self._referred(seen[-1])) is not None and other not in seen:
            seen.append(other)
        return seen[-1]

    def _referred(self, claim: Claim) -> Claim | None:
        """The claim that the cause of one names; of several of a name that of its own figure."""
        for name in _OTHER.findall(claim.cause):
            figure = claim.id.rpartition(".")[0]
            known = [
                one
                for one in self.paper.claim
                if one.cause and (one.id == name or one.id.endswith(f".{name}"))
            ]
            known.sort(key=lambda one: not one.id.startswith(figure))
            if known:
                return known[0]
        return None


def judgement(paper: Paper, folder: Path) -> Judgement:
    """What the page of a paper says; without a page nothing is made yet."""
    page = folder / f"{paper.name}.md"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    told = verdicts_on(paper, text)
    _, _, rest = text.partition(f"<!-- begin {choices_id(paper)} -->")
    tried, _, _ = rest.partition(f"<!-- end {choices_id(paper)} -->")
    verdicts = {claim.id: told.get(claim.id, NOT_MADE) for claim in paper.claim}
    return Judgement(paper, verdicts, tuple(rows_of(tried, "main result | the paper")))


def in_short(cause: str) -> str:
    """The first sentence of a cause, or two where it is short."""
    sentences = _SENTENCE.split(" ".join(cause.split()))
    count = 1 if len(sentences[0]) > _SHORT else 2
    return ". ".join(sentences[:count]).rstrip(".") + "."
