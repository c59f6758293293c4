"""What each GPU of a node did, in the summary of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gpusim.results.node_numbers import gpu_numbers, remote_bytes

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from gpusim.results.result import Result

_A_TABLE: Final = 4
"""Numbers beside each other, so that their names fit on a screen."""


def node_tables(result: Result) -> Iterator[Table]:
    """Numbers of each GPU, and a matrix of what they asked of each other; none for one GPU."""
    numbers, moved = gpu_numbers(result), remote_bytes(result)
    if numbers is None or moved is None:
        return
    yield _numbers(numbers[:_A_TABLE])
    yield _numbers(numbers[_A_TABLE:])
    yield _matrix(moved.to_numpy())


def _numbers(numbers: pd.DataFrame) -> Table:
    table = _plain_table("what each GPU did")
    for what in numbers.index:
        longest = max(map(len, str(what).split()))
        table.add_column(str(what), justify="right", overflow="fold", min_width=longest)
    for gpu, values in numbers.items():
        table.add_row(*map(Text, (str(gpu), *(_short(float(value)) for value in values))))
    return table


def _matrix(moved: NDArray[np.int64]) -> Table:
    """Bytes in one unit, which makes the largest number one of five digits or fewer."""
    power = 0
    while moved.max() >> 10 * power >= 100_000:
        power += 1
    unit = ("bytes", "KiB", "MiB", "GiB", "TiB")[power]
    table = _plain_table(f"{unit} that a GPU (row) moved to and from another")
    for gpu in range(len(moved)):
        table.add_column(str(gpu), justify="right", no_wrap=True)
    for asking, row in enumerate(moved.tolist()):
        cells = (
            "–" if other == asking else f"{round(value / (1 << 10 * power)):,}"
            for other, value in enumerate(row)
        )
        table.add_row(*map(Text, (str(asking), *cells)))
    return table


def _plain_table(title: str) -> Table:
    """A table without lines between columns, so that those of eight GPUs fit on a screen."""
    table = Table(title=title, header_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("GPU")
    return table


def _short(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:.3f}"
