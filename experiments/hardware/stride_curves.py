"""Measured cycles of a warp's load by stride: curves that are compared point by point."""

from __future__ import annotations

from pathlib import Path

from experiments.hardware.gpus import variant_for
from experiments.hardware.reference import Measured, read_table

FILE = "l1_bandwidth_vs_stride.csv"
COLUMNS = ("gpu", "type", "test", "x", "cycles_per_warp_load")

TESTS = {"stride": "strides", "block": "rows"}
"""As the file names them, and as `measure.TESTS` does."""

POINTWISE = frozenset(TESTS.values())
"""Tests of which each point counts: their curves have no plateaus."""

WORDS = {"float": 4, "double": 8}


def read_stride_curves(folder: Path, model: str) -> list[Measured]:
    """The curves of the GPUs that a model stands for; none if the folder has no such file.

    Raises:
        UserError: the file lacks a column.
    """
    path = folder / "curves" / FILE
    if not path.is_file():
        return []
    found = []
    for (gpu, kind, test), rows in read_table(path, COLUMNS).groupby(["gpu", "type", "test"]):
        variant = variant_for(model, str(gpu))
        if variant is None or test not in TESTS or kind not in WORDS:
            continue
        values = rows.set_index("x")["cycles_per_warp_load"].sort_index()
        curve = list(zip(values.index.astype(int).tolist(), values.tolist(), strict=True))
        name = f"{test}, {kind}"
        found.append(Measured(str(gpu), name, variant, TESTS[test], WORDS[kind], curve))
    return found
