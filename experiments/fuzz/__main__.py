"""Runs random machines and reads mutated files: nothing may be wrong, hang, grow, or die."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from attrs import define, field

from experiments.fuzz import cases as files
from experiments.fuzz.batches import DIED, MEMORY, Subject, outcomes
from experiments.fuzz.cases import HANG, READ, REFUSED, TRACEBACK, WRONG, Outcome
from experiments.fuzz.machines import cases as machines
from experiments.fuzz.machines.coverage import holes
from experiments.fuzz.machines.relations import OTHER
from experiments.fuzz.readers import read_all
from experiments.marked import grid
from gpusim.studies.scripts import FOLDER

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

_REPORT_EVERY = 60.0
"""Seconds after which the table is written, so that an ended run loses few cases."""

_SAY_EVERY = 10.0
_BAD = (TRACEBACK, HANG, WRONG, MEMORY, DIED)
_SUBJECTS = ("machines", "files")


@define
class Tally:
    """What came of the cases so far, by what they were of."""

    found: dict[str, Counter[str]] = field(factory=lambda: defaultdict(Counter))
    slowest: dict[str, float] = field(factory=lambda: defaultdict(float))
    total: Counter[str] = field(factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Count one."""
        self.total[outcome.what] += 1
        for tag in outcome.tags or (outcome.kind or "?",):
            self.found[tag][outcome.what] += 1
            self.slowest[tag] = max(self.slowest[tag], outcome.seconds)

    @property
    def bad(self) -> int:
        """Cases that must not be."""
        return sum(self.total[name] for name in _BAD)

    def table(self) -> str:
        """Markdown: a row for all that was tried."""
        names = (READ, REFUSED, *_BAD)

        def row(name: str, counts: Counter[str], seconds: float) -> list[str]:
            numbers = [f"{one:,}" for one in (counts.total(), *(counts[what] for what in names))]
            return [name, *numbers, f"{seconds:.2f}"]

        rows = [row(tag, self.found[tag], self.slowest[tag]) for tag in sorted(self.found)]
        rows.append(row("all", self.total, max(self.slowest.values(), default=0.0)))
        return grid(["of", "cases", *names, "slowest, s of a processor"], rows) + "\n"


def main() -> int:
    """Run, report; 1 if anything bad was found."""
    options = _parser().parse_args()
    if options.other:
        OTHER[:] = [options.other]
    if options.case is not None:
        what, detail = machines.judged(machines.read_case(options.case))
        print(f"{what}\n{detail}")
        return 1 if what in _BAD else 0
    chosen = [options.subject] if options.subject else list(_SUBJECTS)
    read_all()  # once, before processes part
    bad = 0
    for name in chosen:
        tally = _try(_subject(name, options.out), options, options.minutes * 60 / len(chosen))
        bad += tally.bad
    return 1 if bad else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "subject", nargs="?", choices=_SUBJECTS, help="default: both, half of the time each"
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="of real time, at most")
    parser.add_argument("--cases", type=int, default=1_000_000, help="of a subject, at most")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--other", metavar="PYTHON", help="interpreter whose gpusim has the other form"
    )
    parser.add_argument(
        "--case", type=Path, metavar="FILE", help="run the case that a failure left: case.toml"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=FOLDER / "fuzz",
        help="folder of the tables and of what failures leave (default: %(default)s)",
    )
    return parser


def _subject(name: str, out: Path) -> Subject:
    if name == "files":
        return Subject(name, files.run_case, 500, 6 * files.CASE_SECONDS)
    return Subject(name, machines.run_case, 100, 6 * machines.CASE_SECONDS, out.absolute())


def _try(subject: Subject, options: argparse.Namespace, seconds: float) -> Tally:
    """The cases of a subject, with a line now and then and the table at the end."""
    tally, seen = Tally(), set[str]()
    began = said = kept = time.monotonic()
    page = options.out / f"{subject.name}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    for outcome in outcomes(subject, options.seed, options.first, options.cases, seconds):
        tally.add(outcome)
        if outcome.what in _BAD:
            _tell(outcome, subject, options.seed, seen)
        now = time.monotonic()
        if now > said + _SAY_EVERY:
            said = now
            _say(subject, tally, seconds - (now - began))
        if now > kept + _REPORT_EVERY:
            kept = now
            page.write_text(tally.table(), encoding="utf-8")
    page.write_text(tally.table(), encoding="utf-8")
    print(f"{subject.name}:\n\n{tally.table()}")
    if subject.folder is not None:
        ran = [tag for tag, counts in tally.found.items() if counts[READ]]
        print(f"never ran: {', '.join(holes(ran)) or 'nothing'}")
    return tally


def _say(subject: Subject, tally: Tally, left: float) -> None:
    minutes, seconds = divmod(max(int(left), 0), 60)
    print(
        f"{subject.name}: {tally.total.total():,} cases, {tally.total[REFUSED]:,} refused, "
        f"{tally.bad} bad, {minutes}:{seconds:02d} left",
        file=sys.stderr,
        flush=True,
    )


def _tell(outcome: Outcome, subject: Subject, seed: int, seen: set[str]) -> None:
    """Each kind of failure once, by where it was raised or by what is wrong; how to repeat it."""
    lines = outcome.detail.strip().splitlines()
    where = "\n".join(line for line in lines if line.lstrip().startswith("File"))[-300:]
    where = where or (lines[0].partition(":")[0] if lines else "")
    if where + outcome.what in seen:
        return
    seen.add(where + outcome.what)
    print(f"case {outcome.number}: {outcome.kind} {outcome.name}: {outcome.what}", file=sys.stderr)
    print(outcome.detail[-2500:], file=sys.stderr)
    print(
        f"again: gpusim study fuzz {subject.name} --seed {seed} --first {outcome.number} --cases 1",
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
