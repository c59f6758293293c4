"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def markdown(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """A table, and an empty line."""
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
