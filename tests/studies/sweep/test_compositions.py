"""The page of compositions: its tables, from made-up runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas as pd

from experiments.compositions import SHIFTED, parts
from gpusim.studies.sweep.spec import Sweep

SWEEP = Sweep(
    name="made-up",
    models="tiny",
    workloads=["nw", "bfs"],
    pairs=True,
    variants=["baseline", "fixed-walk", "ideal-tlb", "ideal-dram"],
    plot={"value": "ipc", "x": "variant"},
)
IPC = {
    "baseline": (1.0, 2.0),
    "fixed-walk": (2.0, 4.0),
    "ideal-tlb": (1.0, 2.0),
    "ideal-dram": (4.0, 8.0),
    "fixed-walk+ideal-tlb": (3.0, 6.0),
    "fixed-walk+ideal-dram": (4.0, 4.0),
}
"""By variant, of both workloads; the last pair is no machine."""


def results(numbers: dict[str, tuple[float, float]], **more: object) -> Any:
    rows = [
        {
            "model": "tiny",
            "variant": variant,
            "workload": workload,
            "seed": 0,
            "state": "done",
            "role": "run",
            "ipc": ipc,
            **more,
        }
        for variant, both in numbers.items()
        for workload, ipc in zip(SWEEP.workloads, both, strict=True)
    ]
    refused = {("tiny", "ideal-tlb+ideal-dram"): "both decide it"}
    return SimpleNamespace(name="made-up", table=pd.DataFrame(rows), refused=refused)


def test_tables_tell_gains_interactions_refusals_and_noise() -> None:
    shifted = results({"baseline": (1.1, 2.0)}, **{SHIFTED: "9 cycles"})
    told = dict(parts(results(IPC), shifted, SWEEP))
    assert "|`ideal-dram`|+300.0|+300.0 (`bfs`) to +300.0 (`bfs`)|" in told["alone"]
    helped = told["helped"].splitlines()[2:]
    assert helped[0] == (
        "|`fixed-walk` and `ideal-tlb`|+100.0|+0.0|+200.0|+100.0|+100.0 (`bfs`) to +100.0 (`bfs`)|"
    )
    taken = told["taken away"].splitlines()[2:]
    both = 100 * (8**0.5 - 1)
    assert taken[0].startswith(
        f"|`fixed-walk` and `ideal-dram`|+100.0|+300.0|{both:+.1f}|{both - 700:+.1f}|"
    )
    assert "-600.0 (`bfs`) to -400.0 (`nw`)" in taken[0]
    assert len(helped) == len(taken) == 2
    assert told["refused"].endswith("|`ideal-tlb+ideal-dram`|both decide it|")
    assert "single workload by +0.0% to +10.0%" in told["noise"]
