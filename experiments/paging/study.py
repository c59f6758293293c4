"""The runs: programs whose arrays have more or less room, and come in different ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from attrs import frozen

import gpusim
from gpusim.results.result import Result
from gpusim.workloads.workload import Workload

MODEL = "kepler-uvm"
"""With pages of 4 KiB, as NVIDIA's driver counts them."""

BLOCK = "64KiB"
"""Block of eviction: our arrays have 1 to 3 MiB, so that blocks of 2 MiB would be all of them."""

PROGRAMS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "stream": (
        "bandwidth",
        {"operation": "triad", "footprint": 1 << 20, "piece": 1 << 14, "blocks": 64},
    ),
    "stencil2d": ("stencil2d", {"rows": 256}),
    "atax": ("atax", {"n": 512, "iterations": 512}),
    "pagerank": ("pagerank", {"graph.vertices": 8192}),
    "bfs": ("bfs", {"graph.vertices": 8192}),
    "gups": ("gups", {}),
}
"""By the name used here: workload, and what is changed of its smoke scale."""

ROOM = (0.8, 1.0, 1.1, 1.25, 1.5, 2.0)
"""Bytes of the arrays by bytes of device memory."""

PREFETCH = ("none", "stride", "block", "tree")
COLD, FULL = 0.8, 1.25
"""Ratios at which prefetch policies are compared: all fits, and not quite."""

RESIDENT: Mapping[str, object] = {"paging.arrays": "device"}


@frozen
class Batch:
    """A batch of faults: pages that came, pages that had to leave, cycles that it took."""

    came: int
    left: int
    cycles: int


@frozen
class Run:
    """What one run was like.

    Attributes:
        cycles: of all of it.
        last_launch: of its last kernel.
        faults, batches, pages_in, pages_out: of the driver.
        prefetched: pages that came with others.
        link: part of the time in which the lane to the device was busy.
        served: its batches.
    """

    cycles: int
    last_launch: int
    faults: int
    batches: int
    pages_in: int
    pages_out: int
    prefetched: int
    link: float
    served: Sequence[Batch]


@cache
def _clock() -> int:
    return gpusim.load_model(MODEL).config.clock


def seconds(cycles: int) -> float:
    """Cycles as time."""
    return cycles / _clock()


def workload_of(program: str) -> Workload:
    """A program at the size of this study."""
    name, parameters = PROGRAMS[program]
    return gpusim.load_workload(name, "smoke", overrides=dict(parameters))


def simulate(
    program: str, settings: Mapping[str, object], record: Sequence[str] = ("fault_batches",)
) -> Result:
    """A run of a program with demand paging, some of whose keys are set."""
    overrides = {"paging.eviction_block": BLOCK, **settings}
    model = gpusim.load_model(MODEL, ["demand-paging", "link-pcie-3"], overrides)
    return gpusim.simulate(model, workload_of(program), record=record)


def run(program: str, settings: Mapping[str, object]) -> Run:
    """What a run of a program was like with demand paging, some of whose keys are set."""
    with simulate(program, settings) as result:
        summary, launches = result.summary, result.launches
        rows = result.counters
        counted = rows[rows.component == "paging"].groupby("counter").value.sum()
        batches = result.table("fault_batches")
        last = launches.iloc[-1]
        return Run(
            cycles=int(summary["cycles"]),
            last_launch=int(last.end - last.begin),
            faults=int(summary["faults"]),
            batches=int(summary["fault_batches"]),
            pages_in=int(summary["pages_in"]),
            pages_out=int(summary["pages_out"]),
            prefetched=int(counted["pages_prefetched"]),
            link=float(summary["link_use"]),
            served=[
                Batch(int(came), int(left), int(end - begin))
                for came, left, begin, end in zip(
                    batches.came, batches.left, batches.begin, batches.end, strict=True
                )
            ],
        )


def with_room(ratio: float) -> dict[str, object]:
    """What says how much room there is."""
    return {"paging.oversubscription": ratio}


def prefetching(policy: str, ratio: float) -> dict[str, object]:
    """What says how pages come with others, and how much room there is."""
    return {"paging.prefetch": policy, **with_room(ratio)}


def points() -> Iterator[tuple[str, str, dict[str, object]]]:
    """All runs: program, name of what is set, and what is set."""
    for program in PROGRAMS:
        yield program, "resident", dict(RESIDENT)
        for ratio in ROOM:
            yield program, f"{ratio}", with_room(ratio)
        for policy in PREFETCH[:-1]:  # the last one is that of the recipe
            for ratio in (COLD, FULL):
                yield program, f"{policy} {ratio}", prefetching(policy, ratio)


Runs = Mapping[tuple[str, str], Run]


def prefetched(runs: Runs, program: str, policy: str, ratio: float) -> Run:
    """The run of a program with a prefetch policy."""
    return runs[program, f"{ratio}" if policy == PREFETCH[-1] else f"{policy} {ratio}"]
