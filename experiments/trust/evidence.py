"""What was validated, and what came out: from two pages and the tables that they link to."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

from attrs import frozen

from experiments.trust.pages import numbers, said, tables

CLOSE = 20.0
"""Percent: programs whose cycles are nearer to the hardware's are counted."""
STREAMS = "dram-groups.csv"
"""Streams of requests to DRAM beside those of Ramulator, by group of runs."""
COUNTS = "mgpusim.csv"
"""Counts of traces beside those of MGPUSim."""
CURVES = "hardware-curves.csv"
"""Plateaus and steps of the curves that the page on hardware draws."""
BANDWIDTHS = "hardware-bandwidth.csv"
"""Bandwidths, and what was calibrated on which."""
PROGRAMS = "hardware-programs.csv"
"""Cycles of whole programs by those of the hardware."""


@frozen
class Evidence:
    """One comparison.

    Attributes:
        what: of gpusim is compared.
        against: with what.
        result: what came out.
        where: page and part, as a link.
        short: the result in a few words; empty: the summary leaves it out.
    """

    what: str
    against: str
    result: str
    where: str
    short: str = ""


def collect(docs: Path) -> list[Evidence]:
    """All comparisons that the pages tell of.

    Raises:
        UserError: a page lacks what is looked for.
    """
    validation, shown = docs / "validation.md", docs / "tables"
    return [
        _dram(validation, shown),
        _mgpusim(validation, shown),
        _accel_sim(validation),
        _plateaus(shown),
        _steps(shown),
        _bandwidth(shown),
        _programs(shown),
    ]


def _dram(page: Path, shown: Path) -> Evidence:
    exact, isolated = map(int, said(page, r"(\d+) of (\d+) isolated latencies").groups())
    rows = list(_rows(shown / STREAMS))
    runs = sum(int(row["runs"]) for row in rows)
    bandwidth, latency = (
        max(float(row[f"largest {what} difference %"]) for row in rows)
        for what in ("bandwidth", "latency")
    )
    inside = sum(row["within"] == "yes" for row in rows)
    return Evidence(
        "DRAM",
        "Ramulator 1 and 2.1, request streams on GDDR5 and HBM2",
        f"{exact} of {isolated} isolated latencies to the clock; of {runs} streams bandwidth "
        f"within {bandwidth:g} % and latency within {latency:g} %; {inside} of {len(rows)} groups "
        "within their bounds",
        "[validation.md](validation.md#result)",
        f"{exact} of {isolated} isolated DRAM latencies are exact, and bandwidths of {runs} "
        f"streams within {bandwidth:g} % of Ramulator's",
    )


def _mgpusim(page: Path, shown: Path) -> Evidence:
    found = said(page, r"Of (\d+) counts (\d+) are ok, (\d+) explained, (none|\d+) (?:is|are) out")
    total, right, explained, wrong = found.groups()
    traces = len(list(_rows(shown / COUNTS)))
    return Evidence(
        "TLBs, caches, walks, DRAM accesses",
        f"MGPUSim 4.2, {traces} traces on `r9-nano`",
        f"of {total} counts {right} within 10 %, {explained} after differences that are named and "
        f"computed, {wrong} out; cycles are not matched",
        "[validation.md](validation.md#validation-of-the-machine-against-mgpusim)",
        f"of {total} counts of MGPUSim {right} are within 10 %, {explained} explained, {wrong} out",
    )


def _accel_sim(page: Path) -> Evidence:
    rows = tables(page, "trace | L1 accesses")
    worst = {name: max(map(_difference, (row[name] for row in rows))) for name in list(rows[0])[1:]}
    equal = sum(_difference(row["L1 accesses"]) == 0 for row in rows)
    others = ", ".join(
        f"{name} within {value:g} %" for name, value in worst.items() if name != "L1 accesses"
    )
    return Evidence(
        "SASS traces",
        f"Accel-Sim, {len(rows)} traces on `rtx3070`",
        f"L1 accesses equal in {equal} of {len(rows)}; {others}; no cycles are compared",
        "[validation.md](validation.md#validation-of-the-machine-against-accel-sim)",
        f"L1 accesses of {equal} of {len(rows)} traces are Accel-Sim's",
    )


def _difference(cell: str) -> float:
    """In percent, of a count with its difference in parentheses; without: both are 0."""
    found = re.search(r"\(([^)]*)\)", cell)
    return abs(numbers(found[1])[0]) if found else 0.0


def _rows(file: Path) -> Iterator[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        yield from csv.DictReader(opened)


def _held(shown: Path) -> Iterator[tuple[str, str, float | None]]:
    """Model, plateau or step, error in percent or None: the model has none."""
    for row in _rows(shown / CURVES):
        error = row["error %"]
        yield row["model"], row["plateau or step"], abs(float(error)) if error else None


def _plateaus(shown: Path) -> Evidence:
    found = [(model, error) for model, name, error in _held(shown) if " to " in name]
    errors = [error for _, error in found if error is not None]
    return Evidence(
        "latency by footprint, plateaus",
        f"chases on {_products(found)}",
        f"{len(errors)} plateaus within {median(errors):.1f} % in the median, {max(errors):.1f} % "
        "at most; a latency or two of each model were chosen by them",
        "[hardware.md](hardware.md#latency)",
    )


def _steps(shown: Path) -> Evidence:
    found = [(model, error) for model, name, error in _held(shown) if name == "step"]
    errors = [error for _, error in found if error is not None]
    return Evidence(
        "latency by footprint, steps and ends of TLBs",
        f"chases on {_products(found)}",
        f"{len(errors)} of {len(found)} steps are there, within {median(errors):.1f} % in the "
        f"median; {_beyond(errors)}; ends of TLBs follow from reaches that models were given, "
        "all else is predicted",
        "[hardware.md](hardware.md#latency)",
        f"steps in latency of {_products(found)} lie within {median(errors):.1f} % in the median",
    )


def _products(found: Iterable[tuple[str, float | None]]) -> str:
    return f"{len({model for model, _ in found})} products"


def _beyond(errors: list[float]) -> str:
    far = sum(error > CLOSE for error in errors)
    return f"{far} beyond {CLOSE:g} %"


def _bandwidth(shown: Path) -> Evidence:
    free = (row for row in _rows(shown / BANDWIDTHS) if not row["calibrated on it"])
    errors = [abs(float(row["error %"])) for row in free]
    return Evidence(
        "bandwidth",
        "published streams",
        f"{len(errors)} numbers that nothing was calibrated on: {median(errors):g} % off in the "
        f"median, {max(errors):g} % at most, {_beyond(errors)}",
        "[hardware.md](hardware.md#bandwidth)",
    )


def _programs(shown: Path) -> Evidence:
    ratios = [float(row["gpusim"]) for row in _rows(shown / PROGRAMS)]
    close = sum(abs(100 * ratio - 100) <= CLOSE for ratio in ratios)
    return Evidence(
        "cycles of whole programs",
        "a Quadro V100",
        f"{close} of {len(ratios)} within {CLOSE:g} %; from {min(ratios):g} to "
        f"{max(ratios):g} times the hardware's: arithmetic and barriers are rough",
        "[hardware.md](hardware.md#whole-programs)",
    )
