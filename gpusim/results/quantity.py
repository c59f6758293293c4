"""How headline numbers are printed: in which part of a table, and with which unit prefix."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING

from attrs import frozen

from gpusim.core.metrics import FRACTION

if TYPE_CHECKING:
    from gpusim.results.result import Result

_SECTIONS = {
    "tlb_": "translation",
    "mshr_": "caches",
    "walk": "translation",
    "cost_": "translation",
    "cycles_without_": "translation",
    "concurrent_walks": "translation",
    "l1_": "caches",
    "l2_": "caches",
    "shared_": "caches",
    "fbt_": "caches",
    "probes_": "caches",
    "fault": "paging",
    "pages_": "paging",
    "blocks_per_batch": "paging",
    "driver_": "paging",
    "link_": "paging",
    "remote_": "node",
    "node_link_": "node",
    "far_fault": "node",
    "host_": "node",
    "migration": "node",
    "dram_": "DRAM",
    "warp_cycles": "warps",
    "share_": "warps",
}
_FIRST = (
    "cycles",
    "ipc",
    "transactions",
    "tlb_*_hit_rate",
    "walks",
    "walk_queueing",
    "walk_latency",
    "remote_requests",
    "remote_request_latency",
    "migrations",
    "faults",
    "fault_latency",
    "l1_hit_rate",
    "l2_hit_rate",
    "dram_latency",
    "dram_bandwidth",
)
"""The headline numbers that are looked at first, the most important ones first."""

MOST_FIRST = 14
"""Rows of a table of the first numbers, at most: it fits on a screen."""

_LAST = "l2_level"
"""Rates by level of the page table come after all others of the caches."""

_SCALES = (
    ("Hz", 1e6, "MHz"),
    ("s", 1.0, "s"),
    ("s", 1e-3, "ms"),
    ("s", 1e-6, "µs"),
    ("s", 1e-9, "ns"),
)


@frozen
class HeadlineTable:
    """A row a headline number, a column an application.

    Attributes:
        apps: the columns: "" is the whole run; the applications follow if there are several.
        sections: names of the numbers, without those of applications, by part of the table.
        descriptions: what the numbers are, by name.
    """

    apps: tuple[str, ...]
    sections: dict[str, list[str]]
    descriptions: dict[str, str]


def headline_rows(result: Result) -> HeadlineTable:
    """All headline numbers but the shares of single states, which the table of stalls has."""
    in_stalls = {f"share_{state}" for state in result.states}
    apps: dict[str, None] = {}
    descriptions: dict[str, str] = {}
    for full, description in result.summary_descriptions.items():
        app, _, name = full.rpartition("/")
        apps[app] = None
        if name not in in_stalls:
            descriptions.setdefault(name, description)
    return HeadlineTable(tuple(apps), in_sections(descriptions), descriptions)


def first_names(names: Iterable[str]) -> set[str]:
    """The headline numbers that are looked at first, of those that there are."""
    present = list(names)
    found = (name for pattern in _FIRST for name in present if fnmatchcase(name, pattern))
    return set(islice(found, MOST_FIRST))


def in_sections(names: Iterable[str]) -> dict[str, list[str]]:
    """Names of headline numbers, without those of applications, by part of a table."""
    sections: dict[str, list[str]] = {}
    for name in names:
        section = next((one for start, one in _SECTIONS.items() if name.startswith(start)), "")
        sections.setdefault(section or "program", []).append(name)
    return {
        section: sorted(found, key=lambda name: name.startswith(_LAST))
        for section, found in sections.items()
    }


def full_name(app: str, name: str) -> str:
    """The name of an application's headline number; that of the whole run for application ""."""
    return f"{app}/{name}" if app else name


def format_quantity(value: float, unit: str) -> tuple[str, str]:
    """A number and its unit for the eye.

    Fractions come as percent, seconds and hertz with a prefix, whole numbers in full with
    thousands separated, others with four significant digits.
    """
    if unit == FRACTION:
        return f"{value * 100:.1f}", "%"
    for base, scale, shown in _SCALES:
        if unit == base and abs(value) >= scale:
            return _format(value / scale), shown
    return _format(value), "" if unit == "1" else unit


def format_change(a: float, b: float) -> str:
    """From `a` to `b` for the eye: ``"-45.0 %"``, ``"12.3×"``, ``"from 0"``; ``"–"`` for NaN."""
    if math.isnan(a) or math.isnan(b):
        return "–"
    if a == b:
        return "0"
    if a == 0:
        return "from 0"
    return times(b / a) if b / a >= 10 else f"{b / a - 1:+.1%}".replace("%", " %")


def times(factor: float) -> str:
    """A factor for the eye: ``"2.00×"``."""
    return (
        f"{factor:,.2f}×"
        if factor < 10
        else f"{factor:,.1f}×"
        if factor < 100
        else f"{factor:,.0f}×"
    )


def percent(part: float, digits: int = 0) -> str:
    """A part of 1 for the eye, with `digits` behind the decimal point; not a number: a dash."""
    return "–" if math.isnan(part) else f"{part * 100:.{digits}f} %"


def _format(value: float) -> str:
    if isinstance(value, int) or value.is_integer():
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
