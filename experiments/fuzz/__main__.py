"""Mutates files of every kind and reads them: nothing may hang, grow without bound, or die."""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path

from experiments.fuzz.batches import DIED, MEMORY, outcomes
from experiments.fuzz.cases import HANG, READ, REFUSED, TRACEBACK, Outcome
from experiments.fuzz.corpus import KINDS
from experiments.fuzz.readers import read_all
from experiments.marked import grid

MAINTENANCE = True
"""It is of use to those who change gpusim: ``gpusim list maintenance`` has it."""

_REPORT_EVERY = 1000
"""Cases after which the table is written, so that an ended run loses few."""

_BAD = (TRACEBACK, HANG, MEMORY, DIED)


def main() -> int:
    """Run, report; 1 if anything bad was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="of real time, at most")
    parser.add_argument("--cases", type=int, default=1_000_000, help="at most")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, help="Markdown file of the table so far")
    options = parser.parse_args()
    read_all()  # once, before processes part
    found: dict[str, Counter[str]] = defaultdict(Counter)
    slowest: dict[str, float] = defaultdict(float)
    seen: set[str] = set()
    bad = 0
    for count, outcome in enumerate(
        outcomes(options.seed, options.first, options.cases, options.minutes * 60), start=1
    ):
        found[outcome.kind][outcome.what] += 1
        slowest[outcome.kind] = max(slowest[outcome.kind], outcome.seconds)
        if outcome.what in _BAD:
            bad += 1
            _tell(outcome, seen)
        if options.report and count % _REPORT_EVERY == 0:
            options.report.write_text(_table(found, slowest), encoding="utf-8")
    text = _table(found, slowest)
    print(text)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    return 1 if bad else 0


def _tell(outcome: Outcome, seen: set[str]) -> None:
    """Each kind of failure once: by where it was raised."""
    lines = outcome.detail.strip().splitlines()
    where = "\n".join(line for line in lines if line.lstrip().startswith("File"))[-300:]
    if where + outcome.what in seen:
        return
    seen.add(where + outcome.what)
    print(f"case {outcome.number}: {outcome.kind} {outcome.name}: {outcome.what}", file=sys.stderr)
    print(outcome.detail[-2500:], file=sys.stderr, flush=True)


def _table(found: dict[str, Counter[str]], slowest: dict[str, float]) -> str:
    """Markdown: a row a kind of file."""
    names = (READ, REFUSED, *_BAD)

    def row(kind: str, counts: Counter[str], seconds: float) -> list[str]:
        numbers = [f"{count:,}" for count in (counts.total(), *(counts[name] for name in names))]
        return [kind or "?", *numbers, f"{seconds:.2f}"]

    kinds = [*KINDS, *(kind for kind in found if kind not in KINDS)]
    rows = [row(kind, found.get(kind, Counter()), slowest.get(kind, 0)) for kind in kinds]
    total = sum(found.values(), Counter[str]())
    rows.append(row("all", total, max(slowest.values(), default=0)))
    return grid(["file", "cases", *names, "slowest, s of a processor"], rows) + "\n"


if __name__ == "__main__":
    sys.exit(main())
