"""Measured curves of GPUs, from a folder of CSV files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from attrs import frozen

from experiments.hardware.gpus import variant_for
from experiments.hardware.plateaus import Curve
from gpusim.core.errors import UserError

FILES = {
    "latency_vs_footprint.csv": "latency",
    "l1_bandwidth_vs_footprint.csv": "l1-bandwidth",
    "l2_bandwidth_vs_footprint.csv": "l2-bandwidth",
    "stream_bandwidth_vs_footprint.csv": "stream",
}
"""Files under ``curves/``, and the test of `measure.TESTS` that each is about."""

COLUMNS = ("gpu", "test", "footprint_bytes", "stride_bytes", "value", "unit")


@frozen(eq=False)
class Measured:
    """A curve of a GPU.

    Attributes:
        gpu, name: whose, and the name of the test where it comes from.
        variant: of the model, which stands for that GPU.
        test: ours that it is compared with.
        stride: bytes from one node of a chase to the next; 128 where nothing is chased.
        curve: the values.
    """

    gpu: str
    name: str
    variant: str
    test: str
    stride: int
    curve: Curve


def read_curves(folder: Path, model: str) -> list[Measured]:
    """All curves of the GPUs that a model, ``NAME`` or ``NAME+VARIANT``, stands for.

    Raises:
        UserError: there is no folder ``curves``, or a file lacks a column.
    """
    if not (folder / "curves").is_dir():
        raise UserError(f"{folder}: has no folder curves")
    found = []
    for file, test in FILES.items():
        path = folder / "curves" / file
        if not path.is_file():  # a reference need not have all tests
            continue
        table = read_table(path, COLUMNS)
        for (gpu, *_), rows in table.groupby(["gpu", "test", "stride_bytes"], dropna=False):
            if (variant := variant_for(model, str(gpu))) is not None:
                found.append(_measured(test, variant, rows))
    return found


def read_table(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """A CSV file that has these columns.

    Raises:
        UserError: it lacks one.
    """
    table = pd.read_csv(path)
    if missing := [column for column in columns if column not in table]:
        has = ", ".join(map(str, table.columns))
        raise UserError(f"{path}: has no column {missing[0]}; it has {has}")
    return table


def _measured(test: str, variant: str, rows: pd.DataFrame) -> Measured:
    """The curve of rows that have GPU, test and stride in common."""
    gpu, name, stride = (rows[column].iloc[0] for column in ("gpu", "test", "stride_bytes"))
    values = rows.groupby("footprint_bytes")["value"].median().sort_index()
    curve = list(zip(values.index.astype(int).tolist(), values.tolist(), strict=True))
    own = f"stream-{str(name).rpartition(' ')[2]}" if test == "stream" else test
    whole = int(stride) if stride > 0 else 128
    return Measured(str(gpu), str(name), variant, own, whole, curve)
