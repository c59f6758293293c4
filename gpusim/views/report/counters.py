"""All counters, a table for each component."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpusim.views.report.table import Row, Table, plain, whole

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results import Result


def counter_tables(result: Result) -> list[Table]:
    """Sums over the instances of a component, by application where there are several.

    Where there are several instances, the least and the greatest of them stand beside the sum.
    """
    counters = result.counters
    apps = result.applications.name.tolist()
    return [
        _table(str(component), rows, apps)
        for component, rows in counters.groupby("component", sort=False)
    ]


def _table(component: str, counters: pd.DataFrame, apps: list[str]) -> Table:
    keys = ["counter", "unit"]
    by_app = counters.pivot_table("value", keys, "app", "sum", sort=False)
    instances = counters.pivot_table("value", keys, "instance", "sum", fill_value=0, sort=False)
    shown = [app for app in apps if len(apps) > 1 and app in by_app]
    numbers = [instances.sum(axis=1), *(by_app[app] for app in shown)]
    columns = ["in all", *shown]
    if instances.shape[1] > 1:
        numbers += [instances.min(axis=1), instances.max(axis=1)]
        columns += ["least in one", "most in one"]
        component += f", {instances.shape[1]} instances"
    rows: list[Row] = [
        (
            name,
            "" if unit == "1" else unit,
            *("–" if math.isnan(number) else whole(number) for number in values),
        )
        for (name, unit), *values in zip(instances.index, *numbers, strict=True)
    ]
    return Table(component, ("counter", "unit"), tuple(columns), plain(rows))
