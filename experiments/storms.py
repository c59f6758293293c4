"""Storms of shootdowns and of synonyms in the middle of a run: what they cost, and when.

Run with ``python -m experiments.storms [--program NAME] [--scale SCALE] [--pictures FOLDER]``.  A
calm run tells how long the program takes; the storm goes over the cycles from 40 % to 60 % of that.
Every run checks its conservation laws, and that it executes what the calm one does.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, product
from pathlib import Path
from typing import Any

from attrs import frozen
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

import gpusim
from gpusim import plots
from gpusim.programs.workload import Workload
from gpusim.results.result import Result
from gpusim.timelines import stalls, window_of
from gpusim.timelines.picture import draw_timeline
from gpusim.warp_program import Buffer

MODEL = "apu-hsa"
DESIGNS = ("vc-opt", "vc-opt-remapping")
RECORDS = ("intervals", "walks", "requests", "dram", "tlb")
PAGE = 4096
EVERY = 10
"""Cycles from one event to the next."""

TRANSLATION = ("tlb_L2", "tlb_FBT", "walker", "walk")
"""States of a warp that waits for its translation, or for a page that is locked."""

COUNTERS = ("shootdowns", "synonyms", "synonym_faults", "asked_again", "renamed", "sent_again")

Event = dict[str, Any]


@frozen
class Span:
    """The cycles of a storm, from `begin` to before `end`."""

    begin: int
    end: int


@frozen
class Weather:
    """What one run was like.

    Attributes:
        cycles, instructions, transactions: of all of it.
        translation: by part of the run (before, in and after the span of the storm), the share of
            the warps' cycles in which they waited for translation.
        counters: of the table and of the L1 caches, summed.
    """

    cycles: int
    instructions: int
    transactions: int
    translation: Mapping[str, float]
    counters: Mapping[str, int]


def shootdowns(buffers: Sequence[Buffer], span: Span) -> Iterator[Event]:
    """One page after the other gets another frame; in mid-storm all are shot down at once."""
    pages = cycle(page for one in buffers for page in _pages(one))
    for at, page in zip(range(span.begin, span.end, EVERY), pages, strict=False):
        yield {"at": at, "event": "remap", "address": page}
    yield {"at": (span.begin + span.end) // 2, "event": "shootdown"}


def synonyms(buffers: Sequence[Buffer], span: Span) -> Iterator[Event]:
    """Every second page gets the frame of the page before it, and in the end one of its own."""
    for one in buffers:
        pages = _pages(one)
        for leading, synonym in zip(pages[::2], pages[1::2], strict=False):
            yield {"at": span.begin, "event": "synonym", "address": synonym, "of": leading}
            yield {"at": span.end, "event": "remap", "address": synonym}


def _pages(buffer: Buffer) -> range:
    return range(buffer.base, buffer.base + buffer.bytes, PAGE)


STORMS: Mapping[str, Callable[[Sequence[Buffer], Span], Iterator[Event]] | None] = {
    "calm": None,
    "shootdowns": shootdowns,
    "synonyms": synonyms,
}


def run(design: str, workload: Workload, storm: str, span: Span) -> Result:
    """A run with a storm, recorded."""
    make = STORMS[storm]
    model = gpusim.load_model(MODEL, [design])
    if make is None:
        return gpusim.simulate(model, workload, record=RECORDS)
    (application,) = workload.applications
    lines = [json.dumps(event) for event in make(application.start().buffers, span)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{storm}.jsonl"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return gpusim.simulate(model, workload, record=RECORDS, events=file)


def weather(result: Result, span: Span) -> Weather:
    """What a run was like before, in and after the span of a storm."""
    cycles = int(result.summary["cycles"])
    parts = {
        "before": (0, span.begin),
        "storm": (span.begin, span.end),
        "after": (span.end, cycles),
    }
    rows = result.counters
    here = rows[rows.component.isin(["fbt", "l1", "l2"])]
    return Weather(
        cycles=cycles,
        instructions=int(result.summary["instructions"]),
        transactions=int(result.summary["transactions"]),
        translation={name: _translation(result, *part) for name, part in parts.items()},
        counters={
            str(name): int(value) for name, value in here.groupby("counter").value.sum().items()
        },
    )


def _translation(result: Result, begin: int, end: int) -> float:
    spent = stalls(result, window_of(result, begin, end, bins=1)).sum("cycle")
    waits = [state for state in TRANSLATION if state in spent.state]
    return float(spent.sel(state=waits).sum() / spent.sum())


def picture(result: Result, span: Span) -> Figure:
    """Its timeline, with the storm shaded."""
    figure = draw_timeline(result, window_of(result, bins=150))
    for axes in figure.axes:
        axes.axvspan(span.begin, span.end, color="#888888", alpha=0.2, linewidth=0)
    return figure


def storms(
    workload: Workload, pictures: Path | None = None, designs: Sequence[str] = DESIGNS
) -> dict[tuple[str, str], Weather]:
    """All runs by design and storm; of the first design, pictures into a folder.

    Raises:
        AssertionError: a run in a storm did not execute what the calm one did.
    """
    found: dict[tuple[str, str], Weather] = {}
    length = int(run(designs[0], workload, "calm", Span(0, 0)).summary["cycles"])
    span = Span(length * 2 // 5, length * 3 // 5)
    for design, storm in product(designs, STORMS):
        with run(design, workload, storm, span) as result:
            now = found[design, storm] = weather(result, span)
            calm = found[design, "calm"]
            assert now.instructions == calm.instructions, f"{storm} lost or doubled instructions"
            assert now.transactions == calm.transactions, f"{storm} lost or doubled transactions"
            if pictures is not None and design == designs[0]:
                plots.save(picture(result, span), pictures / f"storm_{storm}.png")
    return found


def main() -> None:
    """Let all storms come, and print what they did."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="pagerank", help="a workload (default pagerank)")
    parser.add_argument("--scale", default="smoke", help="its scale (default smoke)")
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of the timelines")
    arguments = parser.parse_args()
    if arguments.pictures is not None:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    workload = gpusim.load_workload(arguments.program, arguments.scale)
    found = storms(workload, arguments.pictures)
    table = Table(title=f"{MODEL}, {arguments.program} ({arguments.scale})")
    for heading in ("design", "weather"):
        table.add_column(heading, no_wrap=True)
    parts = ("before", "storm", "after")
    for heading in ("cycles", *(f"waits {part}" for part in parts), *COUNTERS):
        table.add_column(heading.replace("_", " "), justify="right")
    for (design, storm), one in found.items():
        table.add_row(
            design, storm, f"{one.cycles:,}", *(f"{one.translation[part]:.1%}" for part in parts),
            *(f"{one.counters.get(name, 0):,}" for name in COUNTERS),
        )  # fmt: skip
    Console(width=max(120, Console().width)).print(table)


if __name__ == "__main__":
    main()
