"""Scripted warps, simulated and recorded as a user would: through `gpusim.simulate`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

import gpusim
from gpusim.config.load import LoadedModel
from gpusim.config.schema import GpuConfig
from gpusim.results import RECORDS, Result
from gpusim.views.timelines import Selection, stalls, window_of
from gpusim.workloads.builder import ApplicationSpec
from gpusim.workloads.workload import Workload
from tests.machine.bench import Script, ScriptedApplication, ScriptedLaunch

Blocks = Sequence[Sequence[Script]]
Runs = list[tuple[str, int]]
"""A state and how many cycles it lasts, one after the other."""


def simulate(
    config: GpuConfig,
    *apps: Sequence[Blocks],
    output: Path | None = None,
    record: Sequence[str] = tuple(RECORDS),
) -> Result:
    """Applications on equal shares of the SMs, each some launches of blocks of scripts."""
    specs = tuple(_spec(config, f"app{number}", launches) for number, launches in enumerate(apps))
    model = LoadedModel("scripted", config, "scripted.toml", (), {}, ())
    workload = Workload("scripted", "smoke", 0, specs)
    return gpusim.simulate(model, workload, record=record, output=output)


def _spec(config: GpuConfig, name: str, launches: Sequence[Blocks]) -> ApplicationSpec:
    kernels = [ScriptedLaunch(blocks, warp_size=config.sm.warp_size) for blocks in launches]
    return ApplicationSpec(name, lambda: ScriptedApplication(kernels, name))


def life(result: Result, warp: int) -> tuple[int, Runs]:
    """The cycle in which a warp was born, and its states until its end, from its timeline."""
    whole = stalls(result, window_of(result, bin_cycles=1), Selection(warp=warp))
    alive = np.flatnonzero(whole.sum("state"))
    born, died = int(alive[0]), int(alive[-1]) + 1
    lived = whole.values[born:died]
    assert set(lived.sum(axis=1)) == {1}, "in each cycle one state, and one only"
    states = [str(whole.state.values[state]) for state in lived.argmax(axis=1)]
    return born, [(state, len(list(run))) for state, run in groupby(states)]
