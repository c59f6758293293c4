"""Repeated runs together: mean and 95 % interval of each headline number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np

from gpusim.core.errors import UserError
from gpusim.core.intervals import Interval, bootstrap_interval

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result

COLUMNS = tuple(field.name for field in attrs.fields(Interval))
"""Columns of a table of intervals: mean, low, high, runs."""


def bands(runs: Sequence[Result]) -> pd.DataFrame:
    """Mean and 95 % interval (bootstrap) of all headline numbers of repeated runs.

    Args:
        runs: the same work on the same machine, but for the seed or a shift.

    Returns:
        a row a number, by name: mean, low, high, runs (those that have it), unit, description.

    Raises:
        UserError: there is no run, or they are of several workloads.
    """
    import pandas as pd

    names = sorted({run.provenance.workload for run in runs})
    if len(names) != 1:
        raise UserError(f"bands need runs of one workload; there is: {', '.join(names) or 'none'}")
    found = bands_of(pd.DataFrame([run.summary for run in runs]))
    units: dict[str, str] = {}
    descriptions: dict[str, str] = {}
    for run in runs:
        units, descriptions = run.summary_units | units, run.summary_descriptions | descriptions
    found["unit"] = [units[name] for name in found.index]
    found["description"] = [descriptions[name] for name in found.index]
    return found


def bands_of(numbers: pd.DataFrame) -> pd.DataFrame:
    """Mean and 95 % interval of each number, of a table with a row a run and a column a number."""
    import pandas as pd

    rows = {
        name: attrs.astuple(bootstrap_interval(column.to_numpy(np.float64)))
        for name, column in numbers.items()
    }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS))
    return table.rename_axis("number")
