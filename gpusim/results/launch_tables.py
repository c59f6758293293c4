"""Tables of launches and kernels: what ran when, and the headline numbers of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusim.files.columns import Table
from gpusim.results.datasets import KERNELS, LAUNCHES

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.source import Source

NUMBERS = "launch_numbers"
"""The group with the headline numbers of launches and kernels."""

_LATER = ("work_begin",)
"""Columns of launches that older files lack."""


def launch_frame(source: Source) -> pd.DataFrame:
    """A row a launch, in the order in which they began; files of older versions have no numbers."""
    lacks = [name for name in _LATER if not source.has(f"launches/{name}")]
    frame = _frame(source, "launches", LAUNCHES, lacks)
    return _with_numbers(source, frame, "of_launches") if source.has(NUMBERS) else frame


def kernel_frame(source: Source) -> pd.DataFrame:
    """A row a kernel, in the order of first launches; files of older versions have no numbers."""
    if source.has("kernels"):
        return _with_numbers(source, _frame(source, "kernels", KERNELS), "of_kernels")
    launches = launch_frame(source).groupby(["app", "kernel"], sort=False)
    return launches.agg(launches=("launch", "size"), blocks=("blocks", "sum")).reset_index()


def number_facts(source: Source) -> dict[str, tuple[str, str]]:
    """Unit and description of each number of launches; empty for files of older versions."""
    if not source.has(NUMBERS):
        return {}
    names, *facts = (
        source.column(NUMBERS, column).tolist() for column in ("name", "unit", "description")
    )
    return dict(zip(names, zip(*facts, strict=True), strict=True))


def _frame(
    source: Source, group: str, table: Table, lacks: list[str] | None = None
) -> pd.DataFrame:
    import pandas as pd

    names = [column.name for column in table.columns if column.name not in (lacks or ())]
    with source.reading():
        return pd.DataFrame({name: source.column(group, name) for name in names})


def _with_numbers(source: Source, frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """A table with a further column a number; a name that the table has gets ``_`` behind it."""
    import pandas as pd

    names = source.column(NUMBERS, "name").tolist()
    whole = source.column(NUMBERS, "whole").tolist()
    values = source.column(NUMBERS, column)
    with source.reading():
        if values.shape != (len(frame), len(names)):
            raise ValueError(f"{NUMBERS}/{column} is not of {len(frame)} by {len(names)} numbers")
        numbers = {
            f"{name}_" if name in frame else name: (
                one.astype(np.int64) if is_whole and np.isfinite(one).all() else one
            )
            for name, is_whole, one in zip(names, whole, values.T, strict=True)
        }
        return pd.concat([frame, pd.DataFrame(numbers, index=frame.index)], axis=1)
