"""What each GPU of a node did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.results.node_numbers import gpu_numbers, remote_bytes
from gpusim.views.report.table import Row, Table, plain, whole

if TYPE_CHECKING:
    from gpusim.results import Result


def gpu_table(result: Result) -> Table | None:
    """Numbers of each GPU; None: there is one."""
    numbers = gpu_numbers(result)
    if numbers is None:
        return None
    rows: list[Row] = [
        (str(what), *(_number(float(value)) for value in values))
        for what, values in numbers.iterrows()
    ]
    columns = tuple(f"GPU {gpu}" for gpu in numbers.columns)
    return Table("What each GPU did", ("what",), columns, plain(rows))


def remote_table(result: Result) -> Table | None:
    """Bytes that GPUs moved to and from each other; None: there is one GPU."""
    moved = remote_bytes(result)
    if moved is None:
        return None
    rows: list[Row] = [
        (
            f"GPU {gpu}",
            *("–" if other == gpu else whole(value) for other, value in enumerate(values)),
        )
        for gpu, values in enumerate(moved.to_numpy())
    ]
    columns = tuple(f"GPU {gpu}" for gpu in moved.columns)
    note = "Requests of the GPU of the row and their answers, headers included."
    return Table("Bytes to and from other GPUs", ("",), columns, plain(rows), note)


def _number(value: float) -> str:
    return whole(value) if value == int(value) else f"{value:.3f}"
