"""``python -m experiments.fuzz --minutes 30``: many cases, and the table of `docs/security.md`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path

from experiments.fuzz.batches import DIED, MEMORY, outcomes
from experiments.fuzz.cases import HANG, READ, REFUSED, TRACEBACK, Outcome
from experiments.fuzz.corpus import KINDS, corpus

_BAD = (TRACEBACK, HANG, MEMORY, DIED)


def main() -> int:
    """Run, report; 1 if anything bad was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="of real time, at most")
    parser.add_argument("--cases", type=int, default=1_000_000, help="at most")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, help="Markdown file of the table")
    told = parser.parse_args()
    for kind in KINDS:
        corpus(kind)  # made once, before processes part
    found: dict[str, Counter[str]] = defaultdict(Counter)
    slowest: dict[str, float] = defaultdict(float)
    seen: set[str] = set()
    bad = 0
    for outcome in outcomes(told.seed, told.first, told.cases, told.minutes * 60):
        found[outcome.kind][outcome.what] += 1
        slowest[outcome.kind] = max(slowest[outcome.kind], outcome.seconds)
        if outcome.what in _BAD:
            bad += 1
            _tell(outcome, seen)
    text = _table(found, slowest)
    print(text)
    if told.report:
        told.report.write_text(text, encoding="utf-8")
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
    lines = [f"| file | cases | {' | '.join(names)} | slowest, s of a processor |"]
    lines.append("|---" + "|--:" * (len(names) + 2) + "|")
    for kind in [*KINDS, *(kind for kind in found if kind not in KINDS)]:
        counts = found.get(kind, Counter())
        cells = [kind or "?", f"{counts.total():,}", *(f"{counts[name]:,}" for name in names)]
        lines.append(f"| {' | '.join(cells)} | {slowest.get(kind, 0):.2f} |")
    total = sum(found.values(), Counter[str]())
    cells = ["all", f"{total.total():,}", *(f"{total[name]:,}" for name in names)]
    lines.append(f"| {' | '.join(cells)} | {max(slowest.values(), default=0):.2f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
