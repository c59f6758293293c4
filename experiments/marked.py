"""Parts of a page that a command writes, between two marks, and their tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gpusim.core.errors import UserError


def marked(page: str, name: str) -> str:
    """The part of that name on a page; empty: there is none."""
    begin, end = _marks(name)
    return page.partition(begin)[2].partition(end)[0].strip()


def write_marked(page: Path, name: str, text: str) -> None:
    """Replace the part of that name on a page.

    Raises:
        UserError: the page has no such part.
    """
    old = page.read_text(encoding="utf-8")
    begin, end = _marks(name)
    before, found, rest = old.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise UserError(f"{page} has no part between {begin} and {end}")
    page.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}", encoding="utf-8")


def tell(page: Path | None, name: str, text: str) -> None:
    """Write a text into the part of that name on a page, or print it where there is no page."""
    if page is None:
        print(text)
    else:
        write_marked(page, name, text)


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, numbers to the right."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def compact(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown without padding: for pages that are tables mostly."""
    return "\n".join(f"|{'|'.join(line)}|" for line in (head, ["---"] * len(head), *rows))
