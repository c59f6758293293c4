"""Twice as many pages as there is room for, while pages are shot down, moved and made synonyms."""

from __future__ import annotations

import json
from itertools import cycle, pairwise
from pathlib import Path

import pytest

import gpusim
from gpusim.core.errors import DeadlockError
from gpusim.results.result import Result
from gpusim.workloads.workload import Workload
from tests.quick import quick

MACHINES = ["apu-hsa+vc-opt", "tiny+sub-entries+star", "apu-hsa+vc-opt-remapping", "tiny+l1-vc"]
PAGE, EVENTS = 4096, 2000


def run(machine: str, workload: Workload, events: Path | None = None) -> Result:
    overrides = {
        "paging.oversubscription": 2,
        "paging.eviction_block": "4KiB",
        "paging.batch_time": "2us",
        "paging.batch": 8,
        "paging.prefetch": "block",
    }
    model, *recipes = machine.split("+")
    loaded = gpusim.load_model(model, [*recipes, "demand-paging"], overrides)
    return gpusim.simulate(loaded, workload, events=events)


def storm(workload: Workload, length: int, file: Path) -> Path:
    """Over half of a run: page after page moves, gets a synonym, and later loses it."""
    pages = cycle(
        pairwise(
            page
            for one in workload.applications[0].start().buffers
            for page in range(one.base, one.base + one.bytes, PAGE)
        )
    )
    events: list[dict[str, object]] = [{"at": length // 2, "event": "shootdown"}]
    every = length // 2 // EVENTS
    for at, (page, other) in zip(range(length // 4, length * 3 // 4, every), pages, strict=False):
        events.append({"at": at, "event": "remap", "address": page})
        events.append({"at": at + 1, "event": "synonym", "address": other, "of": page})
        end = "unmap" if at % 7 == 0 else "remap"
        events.append({"at": at + 20 * every, "event": end, "address": other})
    events.sort(key=lambda event: event["at"])
    file.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    return file


@pytest.mark.parametrize("machine", quick(MACHINES, MACHINES[1]))
def test_nothing_is_lost(machine: str, tmp_path: Path) -> None:
    """Every run ends, and has checked its laws."""
    workload = gpusim.load_workload("pagerank", "smoke", overrides={"graph.vertices": 80})
    with run(machine, workload) as calm:
        told = dict(calm.summary)
    events = storm(workload, int(told["cycles"]), tmp_path / "events.jsonl")
    with run(machine, workload, events) as first, run(machine, workload, events) as again:
        assert first.digest == again.digest
        summary = first.summary
        events_of_pages = {
            name: first.counters[first.counters.counter == name].value.sum()
            for name in ("taken_away", "pages_written_back")
        }
    for same in ("instructions", "transactions"):
        assert summary[same] == told[same] > 0
    assert summary["walks"] != told["walks"]
    assert all(events_of_pages.values()), "each has been in the storm"


@pytest.mark.long
def test_pages_that_come_and_leave_in_vain_are_no_progress() -> None:
    """The evicted block is always that which a load has just asked for."""
    overrides = {
        "paging.oversubscription": 8,
        "paging.eviction_block": "64KiB",
        "paging.batch": 8,
        "paging.batch_time": "100ns",
        "paging.replay": "served",
        "paging.eviction": "access-counter",
    }
    model = gpusim.load_model("r9-nano", ["demand-paging"], overrides)
    with pytest.raises(DeadlockError, match=r"last batch asked for pages? 0x.* have left the dev"):
        gpusim.simulate(model, gpusim.load_workload("nw", "smoke"), until="2000000cycles")
