"""Scripted warps on a small shipped model, recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import gpusim
from gpusim.results import RECORDS, Result
from gpusim.workloads.builder import ApplicationSpec
from gpusim.workloads.workload import Workload
from tests.machine.bench import Script, ScriptedApplication, ScriptedLaunch

PAGE, LINE = 4096, 128
"""Of the model, in bytes."""

LOAD: Script = (("load", 0), ("wait",))


def simulate(
    *blocks: Sequence[Script], record: Sequence[str] = tuple(RECORDS), output: Path | None = None
) -> Result:
    """One launch of blocks of warps on two SMs."""
    sizes = {"memory.page": f"{PAGE >> 10}KiB", "l1.line": f"{LINE}B", "sm.count": 2}
    model = gpusim.load_model("tiny", overrides=sizes)
    launch = ScriptedLaunch(blocks, warp_size=model.config.sm.warp_size)
    spec = ApplicationSpec("scripted", lambda: ScriptedApplication([launch]))
    workload = Workload("scripted", "smoke", 0, (spec,))
    return gpusim.simulate(model, workload, record=record, output=output)
