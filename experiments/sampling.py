"""Windows against the truth: programs that are timed whole, and estimated from windows of them.

``gpusim study sampling`` runs what is missing and prints a table; with ``--doc`` it writes what
comes out in all into docs/sampling.md, and picture and table beside it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from attrs import evolve, frozen

from experiments.marked import grid, write_marked
from experiments.run_shown import run_shown, study_options
from gpusim.results.result import Result
from gpusim.runs.windows.extrapolation import KNOWN
from gpusim.studies.sweep.results import SweepResults
from gpusim.studies.sweep.spec import Sweep
from gpusim.views.plots import new_figure, save

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

MODEL, SMS = "kepler-uvm", 4
SAMPLE = "workload.timed.sample"
PICTURE = "sampling.png"
TABLE = "sampling.csv"
MAIN = (
    "cycles",
    "ipc",
    "tlb_L1_hit_rate",
    "tlb_L2_hit_rate",
    "l1_hit_rate",
    "l2_hit_rate",
    "walks",
    "walk_latency",
    "dram_reads",
    "dram_writes",
    "dram_row_hit_rate",
    "dram_bandwidth",
)
"""The headline numbers that matter most."""


@frozen
class Case:
    """A program, and how it is sampled.

    Attributes:
        workload, scale: which.
        windows, length, warm: how many windows there are, and their warp instructions.
        seed: of their places.
    """

    workload: str
    scale: str
    windows: int
    length: int
    warm: int
    seed: int = 0

    @property
    def sweep(self) -> Sweep:
        """The whole, and windows of it."""
        plan = (
            f"windows={self.windows},length={self.length}instructions,"
            f"warm={self.warm}instructions,by=launch,seed={self.seed}"
        )
        return Sweep(
            name=f"sampling-{self.workload}",
            title=f"{self.workload}, whole and sampled",
            models=MODEL,
            workloads=self.workload,
            scale=self.scale,
            set={"sm.count": SMS, SAMPLE: ["", plan]},
        )


CASES = (
    Case("2dconv", "paper", 15, 90_000, 50_000),
    Case("3dconv", "paper", 20, 95_000, 55_000),
    Case("convolution_separable", "paper", 30, 85_000, 50_000),
    Case("fast_walsh_transform", "paper", 15, 88_000, 50_000),
    Case("mm", "paper", 30, 100_000, 50_000),
    Case("sad", "paper", 30, 12_700, 7_800),
    Case("scan", "paper", 15, 40_000, 25_000),
    Case("srad", "paper", 30, 135_000, 80_000),
    Case("black_scholes", "paper", 20, 105_000, 60_000),
    Case("matrix_transpose", "paper", 20, 60_000, 30_000),
    Case("bandwidth", "paper", 20, 5_900, 2_900),
    Case("fw_block", "paper", 20, 142_000, 71_000),
    Case("ispass_nn", "paper", 20, 84_000, 42_000),
)
"""The last four were tried when all rules had been made."""


@frozen
class Compared:
    """A program's truth beside its estimate.

    Attributes:
        workload: which.
        cycles: of the whole.
        transactions: of the whole.
        error, half: of cycles: estimate and half of its interval, in parts of the truth.
        main: of `MAIN`, those whose truth lies in their interval, and that have one.
        inside, intervals: of all numbers, how many have their truth in their interval, and how many
            have an interval.
        refused: numbers that have none.
        timed: part of the warp instructions that was timed.
        seconds: processor time of the whole and of the estimate.
    """

    workload: str
    cycles: int
    transactions: int
    error: float
    half: float
    main: tuple[int, int]
    inside: int
    intervals: int
    refused: int
    timed: float
    seconds: tuple[float, float]


def compare(case: Case, results: SweepResults) -> Compared:
    """Read both runs of a case."""
    table = results.table.set_index(SAMPLE).sort_index()
    with results.open(table.key.iloc[0]) as whole, results.open(table.key.iloc[1]) as part:
        facts = part.estimates.set_index("name")
        truth = pd.Series(whole.summary).reindex(facts.index).drop(list(KNOWN))
        facts = facts.loc[truth.index]
        known = facts.refused == ""
        inside = (facts.low <= truth) & (truth <= facts.high)
        whole_cycles, value = whole.summary["cycles"], part.summary["cycles"]
        half = float(facts["high"].to_dict()["cycles"]) - value
        return Compared(
            case.workload,
            int(whole_cycles),
            int(whole.summary["transactions"]),
            value / whole_cycles - 1,
            half / whole_cycles,
            (int((inside & known).reindex(MAIN).sum()), int(known.reindex(MAIN).sum())),
            int((inside & known).sum()),
            int(known.sum()),
            int((~known).sum()),
            timed_part(part),
            (whole.wall.seconds, part.wall.seconds),
        )


def timed_part(part: Result) -> float:
    """The part of the warp instructions that was timed, from the run's own warning."""
    (warning,) = (text for text in part.warnings if "of the warp instructions were timed" in text)
    return float(warning.rpartition("; ")[0].rpartition("; ")[2].partition("%")[0]) / 100


def rows(found: Sequence[Compared]) -> Iterator[Sequence[str]]:
    """A row a program."""
    for one in found:
        yield (
            one.workload,
            f"{one.cycles}",
            f"{one.transactions}",
            f"{100 * one.error:.1f}",
            "" if np.isnan(one.half) else f"{100 * one.half:.1f}",
            *map(str, one.main),
            f"{one.inside}",
            f"{one.intervals}",
            f"{one.refused}",
            f"{100 * one.timed:.1f}",
            *(f"{seconds:.0f}" for seconds in one.seconds),
        )


def in_all(found: Sequence[Compared]) -> str:
    """What comes out in all, as a sentence."""
    inside, whole = (sum(getattr(one, name) for one in found) for name in ("inside", "intervals"))
    median = float(np.median([abs(one.error) for one in found]))
    main = "{} of {}".format(*np.sum([one.main for one in found], axis=0))
    none = sum(one.refused for one in found)
    return (
        f"Cycles are {median:.1%} off in the median; the truth lies in the interval of {main} main "
        f"numbers, and of {inside} of {whole} in all; {none} have none."
    )


HEAD = (
    "program",
    "cycles",
    "transactions",
    "error of cycles %",
    "interval ± %",
    "main numbers inside",
    "main numbers with an interval",
    "all numbers inside",
    "all numbers with an interval",
    "without an interval",
    "timed %",
    "seconds whole",
    "seconds in windows",
)


def draw(found: Sequence[Compared], path: Path) -> None:
    """Errors of cycles with their intervals."""
    figure = new_figure("page", height=0.6 + 0.25 * len(found))
    axes = figure.subplots()
    places = np.arange(len(found))[::-1]
    axes.axvline(0, color="black", linewidth=0.8)
    errors = [100 * one.error for one in found]
    halves = [100 * np.nan_to_num(one.half) for one in found]
    axes.errorbar(errors, places, xerr=halves, fmt="o", capsize=3)
    for one, place in zip(found, places, strict=True):
        if np.isnan(one.half):
            left = one.error < 0
            axes.annotate(
                "no interval",
                (100 * one.error, place),
                (-8 if left else 8, 0),
                va="center",
                textcoords="offset points",
                ha="right" if left else "left",
                size="x-small",
            )
    axes.set_yticks(places, [one.workload for one in found])
    axes.set_xlabel("estimated cycles against those of the whole, %, with 95 % intervals")
    save(figure, path)


def main() -> None:
    """Run, then print or write."""
    parser = study_options(__doc__, "sampling")
    parser.add_argument("--only", nargs="*", help="programs; default: all")
    parser.add_argument("--seed", type=int, default=0, help="of the places of windows")
    arguments = parser.parse_args()
    found = []
    for case in (evolve(one, seed=arguments.seed) for one in CASES):
        if arguments.only and case.workload not in arguments.only:
            continue
        results = run_shown(case.sweep, arguments.output, arguments.jobs)
        found.append(compare(case, results))
    if arguments.doc is None:
        print(grid(HEAD, list(rows(found))))
        return
    folder = arguments.doc.parent
    with (folder / "tables" / TABLE).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *rows(found)])
    draw(found, folder / "pictures" / PICTURE)
    picture = f"![Errors of cycles, with intervals](pictures/{PICTURE})"
    write_marked(arguments.doc, "sampled programs", f"{picture}\n\n{in_all(found)}")


if __name__ == "__main__":
    main()
