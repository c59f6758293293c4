"""A small hand-made run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from gpusim.core.counters import CounterRow
from gpusim.core.states import State, families, state_names
from gpusim.results import (
    ApplicationFacts,
    ByLaunch,
    KernelFacts,
    LaunchFacts,
    NumberFacts,
    Provenance,
    RunData,
    WallClock,
)
from gpusim.runs.headline import StateSums, headline
from tests.results.placed import metrics_of_rows

STATES = state_names(("L1", "L2"))
FAMILY_OF = dict(zip(STATES, families(STATES), strict=True))

COUNTERS = [
    CounterRow("sm", sm, "atax", name, value, "1", f"{name} of warps")
    for sm, values in enumerate(((60, 20, 40), (40, 20, 10)))
    for name, value in zip(
        ("instructions", "memory_instructions", "transactions"), values, strict=True
    )
] + [
    CounterRow("tlb/L1", 0, "atax", "lookups", 40, "1", "lookups"),
    CounterRow("tlb/L1", 0, "atax", "hits", 30, "1", "hits"),
    CounterRow("tlb/L1", 0, "atax", "misses", 10, "1", "misses"),
    CounterRow("tlb/L1", 1, "atax", "lookups", 10, "1", "lookups"),
    CounterRow("tlb/L1", 1, "atax", "hits", 1, "1", "hits"),
    CounterRow("tlb/L1", 1, "atax", "misses", 9, "1", "misses"),
    CounterRow("dram", 0, "", "activations", 7, "1", "rows opened"),
]

CONFIG = '[sm]\ncount = 2\n\n[tlb.L1]\nentries = 64\nscope = "sm"\n'


def make_sums() -> np.ndarray:
    sums = np.zeros((2, 1, len(STATES)), np.int64)
    sums[0, 0, State.ISSUING] = 60
    sums[1, 0, State.WALK] = 30
    sums[1, 0, State.TLB] = 10
    return sums


def make_run(**changes: Any) -> RunData:
    """The run, with some fields changed."""
    applications = (ApplicationFacts("atax", 0, (0, 1), 2, 8, 16, 1000),)
    run = RunData(
        provenance=Provenance(
            gpusim="0.1",
            model="kepler-uvm",
            workload="atax",
            scale="smoke",
            seed=7,
            variants=("l1-tlb-256",),
            form="compiled",
            python="3.11.7",
            numpy="2.0",
            simpy="4.1",
            command_line=("gpusim", "run", "kepler-uvm", "atax"),
        ),
        config_toml=CONFIG,
        workload_toml='name = "atax"\n',
        origins={"sm.count": "kepler-uvm.toml", "tlb.L1.entries": "[variants.l1-tlb-256]"},
        summary=headline(
            metrics_of_rows(COUNTERS),
            COUNTERS,
            StateSums(FAMILY_OF, make_sums()),
            applications,
            1000,
            10**9,
        ),
        counters=COUNTERS,
        states=STATES,
        state_sums=make_sums(),
        applications=applications,
        launches=(
            LaunchFacts("atax", 0, "atax_kernel1", 0, 400, 4, work_begin=10),
            LaunchFacts("atax", 1, "atax_kernel2", 400, 1000, 4, work_begin=410),
        ),
        by_launch=ByLaunch(
            (
                NumberFacts("cycles", "cycles", "length", whole=True),
                NumberFacts("l1_hit_rate", "fraction", "L1 cache hit rate", whole=False),
            ),
            np.array([[390, 0.5], [590, np.nan]]),
            (KernelFacts("atax", "atax_kernel1", 1, 4), KernelFacts("atax", "atax_kernel2", 1, 4)),
            np.array([[390, 0.5], [590, np.nan]]),
        ),
        wall=WallClock(1.5, "2024-05-01T12:00:00+00:00", "host", "Linux", 2),
    )
    return evolve(run, **changes)


@pytest.fixture
def run() -> RunData:
    return make_run()


@pytest.fixture(scope="session")
def make() -> Callable[..., RunData]:
    return make_run
