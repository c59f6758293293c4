"""A paper's page: a first screen, then figures with pictures, claims and tables.

Equal results make equal bytes.  A figure's part stands between two marks, so that one can be made
again without the others; the remarks on claims, its end, are written anew whenever the page is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from math import isinf, isnan
from pathlib import Path

from gpusim.core.errors import WriteError
from gpusim.files.whole_files import whole_file
from gpusim.studies.reproduce.catalog import figures_of
from gpusim.studies.reproduce.claims import Claim, Paper
from gpusim.studies.reproduce.figure_table import TABLES, write_rows, write_table
from gpusim.studies.reproduce.first_screen import first_screen
from gpusim.studies.reproduce.markdown import markdown
from gpusim.studies.reproduce.run import Judged, Outcome, unmeasured
from gpusim.studies.reproduce.sensitivity import Sensitivity
from gpusim.studies.reproduce.sensitivity_page import (
    every_reading,
    readings,
    sensitivity_part,
    sources,
)
from gpusim.studies.reproduce.verdict import Measured, Verdict

PICTURES = "pictures"
"""Folder beside the pages."""

_PART = re.compile(r"<!-- begin (\S+) -->\n(.*?)<!-- end \1 -->\n", re.DOTALL)
_REMARK = re.compile(r"^\*\w+\.\S+\*: ", re.MULTILINE)
_ROW = re.compile(rf"^\| (\S+) \| .* \| ({'|'.join(Verdict)}) \|$", re.MULTILINE)


def choices_id(paper: Paper) -> str:
    """The id of the part of a page, and of its picture, that show how choices were tried."""
    return f"{paper.paper}.choices"


def readings_id(paper: Paper) -> str:
    """The name of the table of what a paper leaves open, with sources."""
    return f"{paper.paper}.readings"


def claims_id(paper: Paper) -> str:
    """The name of the table that says how the claims of a paper are measured."""
    return f"{paper.paper}.claims"


def write_page(
    paper: Paper,
    found: Iterable[Outcome],
    folder: Path,
    tried: tuple[Sensitivity, str] | None = None,
    kind: str = "png",
) -> Path:
    """Write ``PAPER.md``, or replace the parts of some figures in it.

    Args:
        paper: whose page it is.
        found: figures to put there; those without a table leave what stands there.
        folder: of the pages; it exists.
        tried: its choices, and the scale at which they were tried; None leaves what stands there.
        kind: of the pictures that are put there: ``"png"`` or ``"svg"``.

    Raises:
        WriteError: it cannot be read or written.
    """
    path = folder / f"{paper.name}.md"
    found = list(found)
    try:
        parts = parts_of(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, UnicodeDecodeError) as error:
        raise WriteError(f"cannot read {path}: {error}") from error
    write_rows(claims_rows(paper), folder, claims_id(paper))
    write_rows(readings(paper), folder, readings_id(paper))
    for one in found:
        write_table(one, folder)
    parts |= {one.figure.id: "\n".join(_part(one, kind)) for one in found if one.table is not None}
    if tried is not None:
        name = choices_id(paper)
        write_rows(every_reading(tried[0]), folder, name)
        files = f"{PICTURES}/{name}.{kind}", f"{TABLES}/{name}.csv"
        parts[name] = "\n".join(sensitivity_part(paper, *tried, *files))
    with whole_file(path) as stream:
        stream.write(page_text(paper, parts).encode())
    return path


def parts_of(text: str) -> dict[str, str]:
    """What stands between the marks of a page, by their names."""
    return dict(_PART.findall(text))


def page_text(paper: Paper, parts: dict[str, str]) -> str:
    """The page: a first screen, how it was measured, what was chosen, and the figures.

    Args:
        paper: whose it is.
        parts: what stands between the marks of figures, by their ids; remarks are put in.
    """
    text = "".join(parts.values())
    begin = first_screen(paper, text, verdicts_on(paper, text), _cover(paper, parts))
    lines = [
        f"# {paper.title}",
        "",
        begin,
        *_measured(paper),
        *sources(paper, f"{TABLES}/{readings_id(paper)}.csv"),
    ]
    if choices_id(paper) in parts:
        tried = _folded("Calibration, and readings one by one", parts[choices_id(paper)])
        lines += _marked(choices_id(paper), tried, [])
    for figure in figures_of(paper):
        if figure.id in parts:
            bare = _REMARK.split(parts[figure.id], maxsplit=1)[0].rstrip()
            causes = remarks(paper.claims_of(figure.id))
            lines += _marked(figure.id, bare, causes)
    if reasons := unmeasured(paper):
        lines += ["## Not measured", "", *claims_table(reasons)]
        lines += remarks(one.claim for one in reasons)
    return "\n".join(lines).rstrip() + "\n"


def _cover(paper: Paper, parts: Mapping[str, str]) -> str:
    """The picture of the figure that the paper is about, as its part shows it."""
    found = re.search(r"^!\[.*\](\(.*\))$", parts.get(paper.cover, ""), re.MULTILINE)
    title = next((one.title for one in figures_of(paper) if one.id == paper.cover), "")
    return f"![{title}]{found[1]}" if found else ""


def _folded(summary: str, text: str) -> str:
    """A part that opens with a click; text that is folded already stays."""
    if text.startswith("<details"):
        return text.rstrip()
    return "\n".join(
        (
            '<details markdown="1">',
            f"<summary>{summary}</summary>",
            "",
            text.strip(),
            "",
            "</details>",
        )
    )


def verdicts_on(paper: Paper, text: str) -> dict[str, str]:
    """Verdicts by claim: those in the tables of a page, and of claims that no figure measures."""
    verdicts = dict(_ROW.findall(text))
    return verdicts | {one.claim.id: str(one.verdict) for one in unmeasured(paper)}


def _marked(name: str, text: str, more: Iterable[str]) -> list[str]:
    """A part between its marks."""
    return [f"<!-- begin {name} -->", text, "", *more, f"<!-- end {name} -->", ""]


def _measured(paper: Paper) -> Iterator[str]:
    yield from ("## How it was measured", "")
    yield (
        f"By `gpusim reproduce {paper.paper}`, on `{paper.model}`{_machines(paper)}. [Where the "
        f"paper says each claim, and how it is measured]({TABLES}/{claims_id(paper)}.csv); "
        f"programs with their sizes: `gpusim list workloads --paper {paper.programs}`."
    )
    yield from ("", paper.intro.strip(), "")


def _machines(paper: Paper) -> str:
    """On which variants of the model the designs are laid."""
    chosen = paper.machines.items()
    return "".join(f" (its variant `{name}` at {scale} scale alone)" for scale, name in chosen)


def _part(found: Outcome, kind: str) -> Iterator[str]:
    figure = found.figure
    assert found.table is not None
    yield from (f"## {figure.title}", "")
    numbers = f"[Numbers]({TABLES}/{figure.id}.csv)"
    yield from (f"{figure.about} Scale: {found.scale}. {numbers}.", "")
    yield from (f"![{figure.id}]({PICTURES}/{figure.id}.{kind})", "")
    if found.claims:
        yield from claims_table(found.claims)


def claims_table(claims: Iterable[Judged]) -> Iterator[str]:
    """Claims with the paper's numbers and ours."""
    rows = [
        (one.claim.id, one.claim.statement, here(one.claim, one.measured), str(one.verdict))
        for one in claims
    ]
    yield from markdown(("claim", "the paper", "here", "verdict"), rows)


def remarks(claims: Iterable[Claim]) -> Iterator[str]:
    """Why claims come out as they do, and what bounds them, where the claims file says it."""
    for claim in claims:
        text = " ".join(filter(None, (_bound(claim), claim.cause.strip())))
        if text:
            yield from (f"*{claim.id}*: {text}", "")


def _bound(claim: Claim) -> str:
    """The most that the paper allows, and how that follows; empty: no bound is known."""
    if not claim.bound:
        return ""
    most = ", ".join("any" if isinf(value) else f"{value:g}" for value in claim.bound)
    return f"At most **{f'{most} {claim.unit}'.strip()}** follows: {claim.derivation.strip()}"


def statement_of(claim: Claim) -> str:
    """What the paper says, and where."""
    return f"{claim.statement} ({claim.where})"


def ours(claim: Claim, measured: Measured | None) -> str:
    """What is set beside it, and how it was measured."""
    return claim.reason or f"{here(claim, measured)} ({claim.measured})"


def here(claim: Claim, measured: Measured | None) -> str:
    """What is set beside it: numbers in bold; or why nothing is."""
    if claim.reason:
        return claim.reason
    if measured is None:
        return "–"
    values = ", ".join("–" if isnan(value) else f"{value:.3g}" for value in measured.values)
    numbers = f"{values} {claim.unit}".strip() if values else ""
    return f"**{'; '.join(filter(None, (numbers, measured.text)))}**"


def claims_rows(paper: Paper) -> list[tuple[str, ...]]:
    """Where the paper says each claim, and how it is measured: a table beside the page."""
    head = ("claim", "role", "where", "statement", "measured here")
    rows = ((c.id, c.role, c.where, c.statement, c.measured or c.reason) for c in paper.claim)
    return [head, *rows]
