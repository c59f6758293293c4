"""What each GPU of a node did, in the summary of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from gpusim.results.node_numbers import gpu_numbers, remote_bytes
from gpusim.results.quantity import format_quantity

if TYPE_CHECKING:
    from gpusim.results.result import Result


def node_tables(result: Result) -> Iterator[Table]:
    """Numbers of each GPU, and a matrix of what they asked of each other; none for one GPU."""
    numbers, moved = gpu_numbers(result), remote_bytes(result)
    if numbers is None or moved is None:
        return
    table = Table(title="GPUs", header_style="bold")
    table.add_column("what", overflow="fold")
    for gpu in numbers.columns:
        table.add_column(f"GPU {gpu}", justify="right", no_wrap=True)
    for what, values in numbers.iterrows():
        table.add_row(*map(Text, (str(what), *(_short(float(value)) for value in values))))
    yield table
    matrix = Table(title="bytes that a GPU (row) moved to and from another", header_style="bold")
    matrix.add_column("")
    for gpu in moved.columns:
        matrix.add_column(f"GPU {gpu}", justify="right", no_wrap=True)
    for asking, row in enumerate(moved.to_numpy()):
        cells = (
            "–" if other == asking else " ".join(format_quantity(int(value), "bytes"))
            for other, value in enumerate(row)
        )
        matrix.add_row(*map(Text, (f"GPU {asking}", *cells)))
    yield matrix


def _short(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:.3f}"
