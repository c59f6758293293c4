"""Tables of recorded events: pages and walks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.results.quantity import percent
from gpusim.results.transactions import line_and_page
from gpusim.views.report.pages import StalledPages, slowest_walks, stalled_pages, walks_of
from gpusim.views.report.table import Row, Table, plain, rest_note, whole

if TYPE_CHECKING:
    from gpusim.results import Result

PAGES = 20
WALKS = 20
"""Rows that the tables have at most."""


def page_table(result: Result) -> Table | None:
    """The pages for whose translation transactions waited most; None if that was not recorded."""
    if "requests" not in result.tables:
        return None
    found = stalled_pages(result, PAGES)
    walked = "walks" in result.tables
    counts = walks_of(result, found.top) if walked else [0] * len(found.top)
    apps = result.applications.name.tolist()
    rows: list[Row] = [
        (
            *_page(result, page["vpn"]),
            apps[page["app"]],
            whole(page["waited"]),
            percent(page["waited"] / found.waited, 1),
            whole(page["cycles"]),
            whole(page["transactions"]),
            *([whole(walks)] if walked else []),
        )
        for page, walks in zip(found.top.to_dict("records"), counts, strict=True)
    ]
    return Table(
        "Pages for whose translation transactions waited most",
        ("page", "address", "application"),
        (
            "cycles waited for translation",
            "of all such",
            "cycles in all",
            "transactions",
            *(["page walks"] if walked else []),
        ),
        plain(rows),
        _page_note(found) if rows else "No transaction waited for translation.",
    )


def _page_note(found: StalledPages) -> str:
    share = percent(found.top.waited.sum() / found.waited, 1)
    return (
        f"{len(found.top):,} of {found.pages:,} pages, with {share} of the {whole(found.waited)} "
        "cycles that transactions waited for translation."
    )


def walk_table(result: Result) -> Table | None:
    """The slowest page walks; None if they were not recorded."""
    if "walks" not in result.tables:
        return None
    apps = result.applications.name.tolist()
    rows: list[Row] = [
        (
            *_page(result, walk["vpn"]),
            apps[walk["app"]],
            whole(walk["cycles"]),
            whole(walk["started"] - walk["requested"]),
            whole(walk["finished"] - walk["started"]),
            str(walk["levels"]),
            "–" if walk["sm"] < 0 else str(walk["sm"]),
            whole(walk["requested"]),
        )
        for walk in slowest_walks(result, WALKS).to_dict("records")
    ]
    return Table(
        "Slowest page walks",
        ("page", "address", "application"),
        (
            "cycles",
            "queued for a walker",
            "walking",
            "levels read",
            "for SM",
            "requested in cycle",
        ),
        plain(rows),
        rest_note(len(rows), result.tables["walks"], "walks") if rows else "There were none.",
    )


def _page(result: Result, vpn: int) -> tuple[str, str]:
    """A virtual page by its number, and its first byte."""
    line_bytes, lines = line_and_page(result)
    return f"{vpn:#x}", f"{vpn * lines * line_bytes:#x}"
