"""What the runs show, as parts of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import mean

import pandas as pd

from experiments.marked import grid
from experiments.paging.study import (
    COLD,
    FULL,
    PREFETCH,
    PROGRAMS,
    ROOM,
    Batch,
    Run,
    Runs,
    prefetched,
    seconds,
)

SIZES = (16, 64, 256, 1 << 20)
"""Bounds of the groups of batches, by the pages that came."""

STREAMED = 3 << 20
"""Bytes that the last launch of `stream` loads and stores: three arrays of 1 MiB."""


def slowdowns(runs: Runs) -> pd.DataFrame:
    """Cycles by those of the run in which all fits, by ratio and program."""
    return pd.DataFrame(
        {
            program: [
                runs[program, f"{ratio}"].cycles / runs[program, f"{ROOM[0]}"].cycles
                for ratio in ROOM
            ]
            for program in PROGRAMS
        },
        index=pd.Index(ROOM, name="oversubscription"),
    )


def oversubscription(runs: Runs) -> str:
    """How much longer a program takes with less room, and why."""
    slower = slowdowns(runs)
    rows = []
    for program in PROGRAMS:
        first = runs[program, f"{ROOM[0]}"]
        resident = runs[program, "resident"].cycles
        full = runs[program, f"{ROOM[-1]}"]
        rows.append(
            [f"`{program}`", f"{resident:,}", f"{first.cycles / resident:.1f} ×"]
            + [f"{slower[program][ratio]:.2f}" for ratio in ROOM]
            + [f"{full.pages_in / first.pages_in:.1f} ×", f"{full.link:.0%}"]
        )
    head = ["program", "cycles, all there", "pages come once", *(f"{one} ×" for one in ROOM)]
    return grid([*head, "pages at 2 ×", "link at 2 ×"], rows)


def policies(runs: Runs) -> str:
    """Speed-ups by prefetch policy against none, where all fits and where it does not."""
    ratios = (COLD, FULL)
    rows = []
    for program in PROGRAMS:
        found = [up for ratio in ratios for up in speedups(runs, program, ratio)]
        rows.append([f"`{program}`", *(f"{up:.2f}" for up in found)])
    columns = (f"{policy}, {ratio} ×" for ratio in ratios for policy in PREFETCH[1:])
    return grid(["speedup", *columns], rows)


def speedups(runs: Runs, program: str, ratio: float) -> Sequence[float]:
    """Of the prefetch policies, against none."""
    none, *others = (prefetched(runs, program, policy, ratio).cycles for policy in PREFETCH)
    return [none / cycles for cycles in others]


def prefetch_data(runs: Runs) -> pd.DataFrame:
    """Batches, pages and speed-ups by program, ratio and prefetch policy."""
    rows = []
    for program in PROGRAMS:
        for ratio in (COLD, FULL):
            found = {policy: prefetched(runs, program, policy, ratio) for policy in PREFETCH}
            ups = zip(PREFETCH[1:], speedups(runs, program, ratio), strict=True)
            rows.append(
                {"program": program, "oversubscription": ratio}
                | {f"batches, {policy}": one.batches for policy, one in found.items()}
                | {f"pages, {policy}": one.pages_in for policy, one in found.items()}
                | {f"speedup, {policy}": round(up, 2) for policy, up in ups}
            )
    return pd.DataFrame(rows)


def batches(runs: Runs) -> str:
    """What a page takes in batches of different sizes, with and without pages that leave."""
    served = [one for run in runs.values() for one in run.served if one.came]
    rows = []
    for least, most in zip((0, *SIZES), SIZES, strict=False):
        mine = [one for one in served if least < one.came <= most]
        kept = [one for one in mine if not one.left]
        evicted = [one for one in mine if one.left]
        name = f"{least + 1} to {most}" if most < SIZES[-1] else f"more than {least}"
        rows.append([name, f"{len(mine):,}", _per_page(kept), _per_page(evicted)])
    return grid(["pages of a batch", "batches", "µs a page", "µs a page, others leave"], rows)


def _per_page(found: Sequence[Batch]) -> str:
    return f"{1e6 * mean(seconds(one.cycles) / one.came for one in found):.2f}" if found else "–"


def gigabytes_per_second(run: Run) -> float:
    """Bandwidth of the last launch of `stream`, in GB/s."""
    return STREAMED / seconds(run.last_launch) / 1e9


def published(runs: Runs) -> str:
    """What publications measured or say, beside what was found here."""
    rows = [
        ["NVIDIA V100, triad, all there", "822 GB/s", _stream(runs, "resident")],
        ["… 1.5 × the memory", "5.0 GB/s", _stream(runs, "1.5")],
        ["… slower by", "164 ×", _ratio(runs, "1.5")],
        ["orders of magnitude slower without care (Ganguly 2019)", "10 × and more", _worst(runs)],
        ["prefetching helps while all fits (Ganguly 2019)", "yes", _prefetch(runs, COLD)],
        ["… and can harm when memory is full", "yes", _prefetch(runs, FULL)],
        ["larger batches take less time a page (Kim 2020)", "yes", "yes: table above"],
        ["eviction is on the critical path (Kim 2020)", "yes", "yes: the picture above"],
    ]
    return grid(["what", "published", "here"], rows)


def _stream(runs: Runs, name: str) -> str:
    return f"{gigabytes_per_second(runs['stream', name]):.1f} GB/s"


def _ratio(runs: Runs, name: str) -> str:
    there, away = runs["stream", "resident"], runs["stream", name]
    return f"{away.last_launch / there.last_launch:.0f} ×"


def _worst(runs: Runs) -> str:
    """No prefetching, one page after another, where not all fits."""
    worst = {
        program: prefetched(runs, program, "none", FULL).cycles / runs[program, "resident"].cycles
        for program in PROGRAMS
    }
    return f"{min(worst.values()):.0f} to {max(worst.values()):.0f} × without prefetching"


def _prefetch(runs: Runs, ratio: float) -> str:
    gains = {
        program: prefetched(runs, program, "none", ratio).cycles
        / prefetched(runs, program, "tree", ratio).cycles
        for program in PROGRAMS
    }
    low, high = min(gains, key=gains.__getitem__), max(gains, key=gains.__getitem__)
    return f"tree against none: {gains[low]:.2f} (`{low}`) to {gains[high]:.2f} (`{high}`)"


PARTS: Mapping[str, Callable[[Runs], str]] = {
    "oversubscription": oversubscription,
    "policies": policies,
    "batches": batches,
    "published": published,
}


def parts(runs: Runs) -> Iterator[tuple[str, str]]:
    """All parts of the page, by the names of their marks."""
    for name, make in PARTS.items():
        yield name, make(runs)
