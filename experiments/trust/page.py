"""The page docs/trust.md, and its one-line summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from attrs import frozen

from experiments.marked import compact
from experiments.trust.claims import NOT_MADE, OUTCOMES, Judgement, judgement
from experiments.trust.evidence import Evidence, collect
from experiments.trust.pages import numbers
from gpusim.studies.reproduce.claims import Role, papers
from gpusim.studies.reproduce.verdict import Verdict

EXACT = """\
- **The arithmetic of time.** Whole cycles, clocks in whole Hz: no rounding piles up.
  `tests/machine` compares single loads with sums worked out by hand, cycle by cycle.
- **Conservation**, at the end of every run: requests are answered once, hits + misses = lookups,
  DRAM reads = what caches and walkers asked for, states of warps = their lives. A violation is an
  error, and there is no result ([guide.md](guide.md#7-defend-the-number-5-minutes)).
- **Where cycles went.** A warp is in exactly one state in every cycle; timelines are exact, not
  sampled ([timelines.md](timelines.md#what-is-exact)).
- **Repetition.** The same model, workload and seed give the same digest on any machine, compiled or
  not, recorded or not.
- **What a machine is.** Every value of a shipped model cites its source, held by a test
  ([models.md](models.md)). A result holds the machine that it was made on.
"""

SMALL = """\
The same run gives the same number, to the last cycle. But it is one history: a latency shifted by a
cycle or two reorders requests, and other rows, sets and walks follow. `gpusim reproduce PAPER
--choices` makes runs with such shifts, on few programs, and gives the 95 % interval of their mean
(Student's t). Half-widths, mostly in per cent; `star`: of before its third freeze:
"""

ADVICE = """\
- A difference smaller than these says nothing; one program or pair varies more than a mean.
- Before you believe a few percent of your own, [repeat](results.md#repeated-runs) with shifts and
  seeds.
- Readings of what a paper leaves open mostly move main results farther than the shifts do.
- Ratios of cycles on one machine are what gpusim is for; cycles by themselves predict no stopwatch.
"""

LIMITS = """\
The numbers are those of a memory system, not of a whole GPU. Not modelled:

- **Page faults** cost nothing, unless a machine has a table `[paging]`: every page is mapped at
  its first walk ([paging.md](paging.md)).
- **Instruction fetch, scalar, constant and read-only caches**, unless a machine has their tables
  and the program is a trace that has these accesses ([models.md](models.md)).
- **Texture units, register bank conflicts, power, the host** beyond demand paging.
- **Arithmetic** takes issue cycles, no pipeline latency; a warp waits where the program needs a
  loaded value. An atomic takes the time of a store at the L2 bank; reductions to one address
  within a warp are one transaction a line.
- **An operating system**: pages change, and TLBs are shot down, only where `--events` or a stage
  says so.
- **DRAM**: what [validation.md](validation.md#what-is-left-out) lists.

Inputs of papers are often smaller here than there; what that changes, their pages say."""

HEAD = """\
Made by `gpusim study trust --doc docs/trust.md --readme README.md` from the pages below."""

ROLES = """\
By *calibration* claims, what papers print of programs and baselines, silent choices may be made;
*outcome* claims, what mechanisms do, are looked at only after that
([verdicts](reproduction.md#verdicts)). What came out and why: each page's first screen."""


@frozen
class Findings:
    """All that the page is made of.

    Attributes:
        evidence: comparisons with simulators and hardware.
        judgements: papers, by name.
    """

    evidence: Sequence[Evidence]
    judgements: Sequence[Judgement]


def find(docs: Path) -> Findings:
    """Read the pages of a folder, and the claims files.

    Raises:
        UserError: a page lacks what is looked for.
    """
    return Findings(collect(docs), [judgement(paper, docs / "reproduction") for paper in papers()])


def page(found: Findings) -> str:
    """The whole page."""
    lines = [
        "# What can be trusted",
        "",
        "Which numbers can be trusted, how far, and why?",
        "",
        HEAD,
        "",
        f"In one line: {summary(found)}",
        "",
        "## What is exact",
        "",
        EXACT,
        "## What is validated, against what",
        "",
        compact(
            ("what", "against", "result", "page"),
            [(one.what, one.against, one.result, one.where) for one in found.evidence],
        ),
        "",
        "## Claims of papers",
        "",
        *_claims(found.judgements),
        "## How to read a small difference",
        "",
        SMALL,
        *_intervals(found.judgements),
        ADVICE,
        "## Known limits",
        "",
        LIMITS,
    ]
    return "\n".join(lines).rstrip() + "\n"


def summary(found: Findings) -> str:
    """One sentence."""
    shorts = [one.short for one in found.evidence if one.short]
    counts = _total(found.judgements, Role.OUTCOME)
    made = counts.total() - counts[Verdict.NOT_MEASURED] - counts[NOT_MADE]
    claims = (
        f"of {made} outcome claims of {len(found.judgements)} papers {counts[Verdict.AGREES]} "
        f"agree, {counts[Verdict.DIRECTION]} have the direction but not the size, "
        f"{counts[Verdict.DIFFERS]} differ"
    )
    if beyond := counts[Verdict.NOT_IMPLIED]:
        claims += f", {beyond} go beyond what their papers' own numbers allow"
    return f"{'; '.join([*shorts, claims])}."


def _total(judgements: Iterable[Judgement], role: Role) -> Counter[str]:
    return sum((one.count(role) for one in judgements), Counter[str]())


def _claims(judgements: Sequence[Judgement]) -> Iterator[str]:
    """Counts by role, and of main results."""
    yield from (ROLES, "")
    rows = []
    for one in judgements:
        rows += [_counted(_link(one), str(role), one.count(role)) for role in Role]
        main = Counter(verdict for _, verdict in one.headlines())
        rows.append(_counted(_link(one), "of these, main results", main))
    rows += [_counted("**all**", str(role), _total(judgements, role)) for role in Role]
    yield from _without_empty_columns(("paper", "role", *OUTCOMES), rows)


def _without_empty_columns(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    kept = [place for place in range(len(head)) if any(row[place] != "0" for row in rows)]
    lines = [tuple(line[place] for place in kept) for line in (head, *rows)]
    yield from (compact(lines[0], lines[1:]), "")


def _link(one: Judgement) -> str:
    return f"[{one.paper.paper}](reproduction/{one.paper.name}.md)"


def _counted(paper: str, role: str, counts: Counter[str]) -> tuple[str, ...]:
    return paper, role, *(str(counts[verdict]) for verdict in OUTCOMES)


def _intervals(judgements: Iterable[Judgement]) -> Iterator[str]:
    rows = []
    for one in judgements:
        found = [numbers(row["interval"].partition("(")[2]) for row in one.intervals]
        ranges = [(pair[0], pair[1]) for pair in found if pair]
        if ranges:
            halves = sorted((high - low) / 2 for low, high in ranges)
            around = sum(low <= 0 <= high for low, high in ranges)
            cells = f"{halves[0]:.2g} to {halves[-1]:.2g}", f"{around} of {len(ranges)}"
            rows.append((_link(one), *cells))
    head = ("paper", "half-widths of its main results", "intervals around 0")
    yield from (compact(head, rows), "")
