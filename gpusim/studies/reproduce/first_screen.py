"""The first screen of a paper's page: main results beside the paper's, one picture, and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from gpusim.studies.reproduce.claims import Claim, Paper, Role
from gpusim.studies.reproduce.markdown import markdown
from gpusim.studies.reproduce.verdict import Verdict

_HERE = re.compile(r"^\| (\S+) \| .* \| \*\*(.+)\*\* \| [^|]* \|$", re.MULTILINE)
"""A row of a table of claims: its id and the numbers measured here."""


def first_screen(paper: Paper, text: str, verdicts: Mapping[str, str], picture: str) -> str:
    """Main results, the picture of one figure, three sentences, and how many claims agree.

    Args:
        paper: whose page it is.
        text: parts of the page, which have the numbers.
        verdicts: by claim; claims that are not there are left out.
        picture: in Markdown; empty: there is none yet.
    """
    there = [claim for claim in paper.claim if claim.id in verdicts]
    here = dict(_HERE.findall(text))
    lines = list(
        markdown(
            ("main result of the paper", "here", "verdict"),
            [
                (one.statement, here.get(one.id, ""), verdicts[one.id])
                for one in there
                if one.headline
            ],
        )
    )
    lines += [picture, ""] if picture else []
    lines += [paper.why.strip(), ""] if paper.why else []
    counts = " ".join(_counts(there, verdicts))
    lines += [f"{counts} Each claim with its numbers and a remark stands below.", ""]
    return "\n".join(lines if there else [])


def _counts(claims: list[Claim], verdicts: Mapping[str, str]) -> Iterator[str]:
    for role in Role:
        mine = Counter(verdicts[claim.id] for claim in claims if claim.role == role)
        if mine:
            counts = (f"{mine[verdict]} *{verdict}*" for verdict in Verdict if mine[verdict])
            yield f"Of {mine.total()} {role} claims: {', '.join(counts)}."
