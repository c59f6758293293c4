"""Storms of shootdowns and of synonyms in the middle of a run: what they cost, and when.

Run with ``gpusim study storms [FOLDER] [--program NAME] [--scale SCALE]``.  A calm run
tells how long the program takes; a storm goes over the cycles from 40 % to 60 % of that.  Every run
checks its conservation laws, and that it executes what the calm one does.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

from attrs import frozen
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

import gpusim
from gpusim.core.warp_program import Buffer
from gpusim.results.result import Result
from gpusim.studies.scripts import FOLDER
from gpusim.views import plots
from gpusim.views.timelines import stalls, window_of
from gpusim.views.timelines.picture import draw_timeline
from gpusim.workloads.workload import Workload

MODEL = "apu-hsa"
DESIGNS = ("vc-opt", "vc-opt-remapping")
RECORDS = ("intervals", "walks", "requests", "dram", "tlb")
PAGE = 4096
EVERY = 10
"""Cycles from one event to the next."""

TRANSLATION = ("tlb_L2", "tlb_FBT", "walker", "walk")
"""States of a warp that waits for its translation, or for a page that is locked."""

PARTS = ("before", "storm", "after")
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
        translation: by part of the run (`PARTS`), the share of the warps' cycles in which they
            waited for translation.
        counters: sums of `COUNTERS`.
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


STORMS: Mapping[str, Callable[[Sequence[Buffer], Span], Iterator[Event]]] = {
    "shootdowns": shootdowns,
    "synonyms": synonyms,
}


def write_events(workload: Workload, storm: str, span: Span, folder: Path) -> Path:
    """The events file of a storm for a program, as ``gpusim run --events`` reads it."""
    (application,) = workload.applications
    events = STORMS[storm](application.start().buffers, span)
    file = folder / f"{storm}.jsonl"
    file.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    return file


def weather(result: Result, span: Span) -> Weather:
    """What a run was like before, in and after the span of a storm."""
    end = int(result.summary["cycles"])
    edges = pairwise((0, span.begin, span.end, end))
    rows = result.counters
    return Weather(
        cycles=end,
        instructions=int(result.summary["instructions"]),
        transactions=int(result.summary["transactions"]),
        translation={
            name: _translation(result, *part) for name, part in zip(PARTS, edges, strict=True)
        },
        counters={name: int(rows[rows.counter == name].value.sum()) for name in COUNTERS},
    )


def _translation(result: Result, begin: int, end: int) -> float:
    spent = stalls(result, window_of(result, begin, end, bins=1)).sum("cycle")
    return float(spent.sel(state=[*TRANSLATION]).sum() / spent.sum())


def picture(result: Result, span: Span) -> Figure:
    """The timeline of a run, with the storm shaded."""
    figure = draw_timeline(result, window_of(result, bins=150))
    for axes in figure.axes:
        axes.axvspan(span.begin, span.end, color="#888888", alpha=0.2, linewidth=0)
    return figure


def storms(
    workload: Workload, folder: Path, designs: Sequence[str] = DESIGNS, draw: bool = False
) -> dict[tuple[str, str], Weather]:
    """All runs, by design and storm (or ``"calm"``); events files, and pictures, into a folder.

    Raises:
        AssertionError: a run in a storm did not execute what the calm one did.
    """
    found: dict[tuple[str, str], Weather] = {}
    span = Span(0, 0)
    for design in designs:
        model = gpusim.load_model(MODEL, [design])
        with gpusim.simulate(model, workload, record=RECORDS) as result:
            if not found:
                length = int(result.summary["cycles"])
                span = Span(length * 2 // 5, length * 3 // 5)
            calm = found[design, "calm"] = weather(result, span)
        for storm in STORMS:
            events = write_events(workload, storm, span, folder)
            with gpusim.simulate(model, workload, record=RECORDS, events=events) as result:
                now = found[design, storm] = weather(result, span)
                if draw:
                    plots.save(picture(result, span), folder / f"{storm}_{design}.png")
            assert now.instructions == calm.instructions, f"{storm} lost or doubled instructions"
            assert now.transactions == calm.transactions, f"{storm} lost or doubled transactions"
    return found


def main() -> None:
    """Let all storms come, and print what they did."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=FOLDER / "storms",
        help="where events files and pictures go (default: %(default)s)",
    )
    parser.add_argument("--program", default="pagerank", help="a workload (default pagerank)")
    parser.add_argument("--scale", default="smoke", help="its scale (default smoke)")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    workload = gpusim.load_workload(arguments.program, arguments.scale)
    found = storms(workload, arguments.folder, draw=True)
    table = Table(title=f"{MODEL}, {arguments.program} ({arguments.scale})")
    for heading in ("design", "events"):
        table.add_column(heading, no_wrap=True)
    for heading in ("cycles", *(f"waits {part}" for part in PARTS), *COUNTERS):
        table.add_column(heading.replace("_", " "), justify="right")
    for (design, storm), one in found.items():
        table.add_row(
            design,
            storm,
            f"{one.cycles:,}",
            *(f"{one.translation[part]:.1%}" for part in PARTS),
            *(f"{one.counters[name]:,}" for name in COUNTERS),
        )
    Console(width=max(160, Console().width)).print(table)


if __name__ == "__main__":
    main()
