"""Tables of launches and kernels: what ran when, and the headline numbers of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpusim.files.columns import Table
from gpusim.results.datasets import KERNELS, LAUNCHES

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.source import Source

NUMBERS = "launch_numbers"
"""The group with the headline numbers of launches and kernels."""

_LATER = ("work_begin", "stream", "gpu")
"""Columns of launches that older files lack."""


def launch_frame(source: Source) -> pd.DataFrame:
    """A row a launch, in the order in which they began; files of older versions have no numbers.

    The column ``overlaps``, which older files do not have either, tells how many other launches of
    its application had blocks while a launch had: its numbers are of what all of these did.
    """
    lacks = [name for name in _LATER if not source.has(f"launches/{name}")]
    frame = _frame(source, "launches", LAUNCHES, lacks)
    if "stream" in frame:
        frame["overlaps"] = overlaps_of(frame)
    return _with_numbers(source, frame, "of_launches") if source.has(NUMBERS) else frame


def overlaps_of(launches: pd.DataFrame) -> NDArray[np.int64]:
    """Of each launch, how many others of its application had blocks while it had.

    Args:
        launches: with app, work_begin and end.
    """
    first = launches["work_begin"].to_numpy(np.int64)
    last, apps = launches["end"].to_numpy(np.int64), launches["app"].to_numpy()
    found = np.zeros(len(launches), dtype=np.int64)
    for app in dict.fromkeys(apps.tolist()):
        own = np.flatnonzero(apps == app)
        begins, ends = np.sort(first[own]), np.sort(last[own])
        begun = np.searchsorted(begins, last[own], "left")
        ended = np.searchsorted(ends, first[own], "right")
        found[own] = np.maximum(begun - ended - (last[own] > first[own]), 0)
    return found


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
    with source.naming_damage():
        return pd.DataFrame({name: source.column(group, name) for name in names})


def _with_numbers(source: Source, frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """A table with a further column a number; a name that the table has gets ``_`` behind it."""
    import pandas as pd

    names = source.column(NUMBERS, "name").tolist()
    whole = source.column(NUMBERS, "whole").tolist()
    values = source.column(NUMBERS, column)
    with source.naming_damage():
        if values.shape != (len(frame), len(names)):
            raise ValueError(f"{NUMBERS}/{column} is not of {len(frame)} by {len(names)} numbers")
        numbers = {
            f"{name}_" if name in frame else name: (
                one.astype(np.int64) if is_whole and np.isfinite(one).all() else one
            )
            for name, is_whole, one in zip(names, whole, values.T, strict=True)
        }
        return pd.concat([frame, pd.DataFrame(numbers, index=frame.index)], axis=1)
