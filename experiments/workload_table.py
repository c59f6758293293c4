"""How the papers' programs behave here, beside what the papers state of them.

``gpusim study workload-table [--paper PAPER ...] [--scale SCALE] [--keep FOLDER]``

Every program of a paper runs alone on the model of its GPU, with the variant under it that the
paper's figures have at this scale; where the paper states bins of reuse
intensity (ORCH), it is characterized, too.  Numbers that are in FOLDER already are
not made again.  With ``--doc`` a paper's table replaces that of the page docs/workloads.md.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import gpusim
from experiments.counts import positive
from experiments.marked import write_marked
from gpusim.files.whole_files import whole_file
from gpusim.studies.characterize.intensity import BIN_NAMES
from gpusim.studies.reproduce import counted
from gpusim.studies.reproduce.claims import papers
from gpusim.workloads.library import Entry, find_workload, paper_names, paper_workloads
from gpusim.workloads.tables import SCALES

Row = dict[str, Any]

HIGH_MISS = 0.20
"""MASK, section 6: a TLB miss rate is high from 20 % on."""
MPKI_BOUNDS = ((1.0, "L"), (100.0, "M"), (float("inf"), "H"))
"""STAR, section VI: classes of L2 TLB misses per thousand instructions."""
REUSE = {"intra", "inter"}
"""What ORCH states of reuse within and between thread blocks, in bins of 20 percentage points."""
MENTIONED = 0.05
"""Smallest share of a bin that the table mentions."""


def programs_of(paper: str) -> Iterator[Entry]:
    """The workloads of a paper with one application."""
    for entry in paper_workloads(paper):
        if len(entry.table.applications) == 1 and entry.table.relaunch == "never":
            yield entry


def machine_of(paper: str, scale: str) -> tuple[str, list[str]]:
    """The model of a paper, and the variants that lie under all its figures at a scale."""
    (claims,) = (one for one in papers() if one.programs == paper)
    return claims.model, [claims.machines[scale]] if scale in claims.machines else []


def measure(model: str, variants: list[str], name: str, scale: str) -> Row:
    """Run a program alone on a model, and characterize it if its paper states reuse."""
    machine, workload = gpusim.load_model(model, variants), gpusim.load_workload(name, scale)
    row: Row = {}
    if REUSE & set(find_workload(name).table.stated):
        (app,) = gpusim.characterize(workload, machine).applications
        row = {"intra": app.intra_shares.tolist(), "inter": app.inter_shares.tolist()}
    with gpusim.simulate(machine, workload) as result:
        summary = result.summary
        return row | {
            "instructions": summary["instructions"],
            "transactions": summary["transactions"],
            "cycles": summary["cycles"],
            "l1_miss": 1 - summary["tlb_L1_hit_rate"],
            "l2_miss": 1 - summary.get("tlb_L2_hit_rate", 1.0),
            "l2_walked": walked(result),
            "l2_mpki": summary.get("tlb_L2_mpki", 0.0),
            "l2_per_cycle": summary.get("tlb_L2_lookups", 0) / summary["cycles"],
            "share_translation": summary["share_translation"],
        }


def walked(result: gpusim.Result) -> float:
    """MASK's miss rate of the L2 TLB: misses by hits and misses, merged ones counted as neither.

    So counts the simulator that its authors released: a lookup of a page that is being walked is no
    hit and no miss.
    """
    counts = counted(result, "tlb/L2")
    asked = counts["lookups"] - counts["merged"]
    return (counts["misses"] - counts["merged"]) / asked if asked else 0.0


def verdict(stated: dict[str, object], row: Row) -> tuple[str, str, str]:
    """What the paper states, what is measured in its terms, and whether they agree."""
    if "l1_miss" in stated:
        said = f"{stated['l1_miss']} / {stated['l2_miss']}"
        ours = f"{_level(row['l1_miss'])} / {_level(row['l2_walked'])}"
        return said, f"{ours} ({row['l2_walked']:.1%})", _agree(said, ours)
    if "mpki" in stated:
        ours = mpki_class(row["l2_mpki"])
        return f"{stated['class']} ({stated['mpki']})", ours, _agree(str(stated["class"]), ours)
    if "bandwidth" in stated:
        return f"{stated['bandwidth']} bandwidth", f"{row['l2_per_cycle']:.2f} a cycle", ""
    said = ", ".join(f"{key} {value}" for key, value in stated.items())
    return said, ", ".join(f"{key} {bins(row[key])}" for key in sorted(REUSE & set(row))), ""


def bins(shares: Sequence[float]) -> str:
    """The bins of reuse intensity that hold at least 5 %."""
    named = zip(BIN_NAMES, shares, strict=True)
    return ", ".join(
        f"{name.partition(':')[0]} {share:.0%}" for name, share in named if share >= MENTIONED
    )


def mpki_class(mpki: float) -> str:
    """STAR's class of a number of L2 TLB misses per thousand instructions."""
    return next(name for bound, name in MPKI_BOUNDS if mpki < bound)


def _level(miss: float) -> str:
    return "high" if miss >= HIGH_MISS else "low"


def _agree(said: str, ours: str) -> str:
    return "yes" if said == ours else "no"


def rows_of(paper: str, scale: str, keep: Path | None, workers: int) -> dict[str, Row]:
    """The numbers of all programs of a paper, made in several processes."""
    model, variants = machine_of(paper, scale)
    names = [entry.name for entry in programs_of(paper)]
    rows: dict[str, Row] = {}
    files = (
        {name: keep / f"{name.replace('/', '-')}-{scale}.json" for name in names} if keep else {}
    )
    for name, path in files.items():
        if path.exists():
            rows[name] = json.loads(path.read_text())
    with ProcessPoolExecutor(workers) as pool, Progress() as progress:
        task = progress.add_task(f"{paper} on {model}", total=len(names), completed=len(rows))
        jobs = {
            pool.submit(measure, model, variants, name, scale): name
            for name in names
            if name not in rows
        }
        for job in as_completed(jobs):
            name = jobs[job]
            rows[name] = job.result()
            if name in files:
                files[name].write_text(json.dumps(rows[name]))
            progress.advance(task)
    return {name: rows[name] for name in names}


HEADER = (
    "program",
    "L1 TLB miss",
    "L2 TLB miss",
    "L2 TLB MPKI",
    "warp-cycles on translation",
    "the paper states",
    "here",
    "agree",
)


def lines_of(paper: str, rows: dict[str, Row]) -> Iterator[tuple[str, ...]]:
    """The table of a paper."""
    for entry in programs_of(paper):
        row = rows[entry.name]
        yield (
            entry.name.partition("/")[2],
            f"{row['l1_miss']:.1%}",
            f"{row['l2_miss']:.1%}",
            f"{row['l2_mpki']:.3g}",
            f"{row['share_translation']:.0%}",
            *verdict(dict(entry.table.stated), row),
        )


def title_of(paper: str, scale: str) -> str:
    """Which programs on which machine."""
    model, variants = machine_of(paper, scale)
    machine = ", variant ".join(f"`{name}`" for name in (model, *variants))
    return f"{paper}, on {machine}, scale {scale}"


def summary(title: str, numbers: str, lines: Sequence[Sequence[str]]) -> str:
    """What the paper states, each with its programs and what they do here, for a page.

    Args:
        title: of the part.
        numbers: where all numbers are, from the page.
        lines: rows of the table below `HEADER`.
    """
    by_stated: dict[str, list[str]] = {}
    for name, *_, stated, here, agree in lines:
        other = f" **{here}**" if agree == "no" else f" {here}" if here and agree != "yes" else ""
        by_stated.setdefault(stated or "nothing", []).append(f"{name}{other}")
    judged = [line[-1] for line in lines if line[-1]]
    agreeing = f"{judged.count('yes')} of {len(judged)} agree (bold: others). " if judged else ""
    found = [f"- {stated}: {'; '.join(names)}" for stated, names in by_stated.items()]
    head = f"{agreeing}[All numbers]({numbers}); what the paper states, with programs here:"
    return "\n".join([f"### {title}\n", head, "", *found, ""])


def write_part(page: Path, paper: str, scale: str, lines: Sequence[Sequence[str]]) -> None:
    """Replace a paper's part of a page, and its table beside it."""
    name = f"workloads-{paper}.csv"
    with whole_file(page.parent / "tables" / name) as file:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([HEADER, *lines])
        file.write(text.getvalue().encode())
    write_marked(
        page, f"measured {paper}", summary(title_of(paper, scale), f"tables/{name}", lines)
    )


def main() -> None:
    """Measure, tell, and write the page."""
    parser = argparse.ArgumentParser(description="How the papers' programs behave here.")
    parser.add_argument("--paper", action="append", choices=paper_names())
    parser.add_argument("--scale", default="quick", choices=SCALES)
    parser.add_argument("--keep", type=Path, help="folder of the numbers that are there already")
    parser.add_argument("--doc", type=Path, help="page whose tables are replaced")
    parser.add_argument("-j", type=positive, default=os.cpu_count() or 1, help="processes")
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    for paper in arguments.paper or paper_names():
        rows = rows_of(paper, arguments.scale, arguments.keep, arguments.j)
        lines = list(lines_of(paper, rows))
        table = Table(*HEADER, title=title_of(paper, arguments.scale))
        for line in lines:
            table.add_row(*line)
        Console().print(table)
        if arguments.doc:
            write_part(arguments.doc, paper, arguments.scale, lines)


if __name__ == "__main__":
    main()
