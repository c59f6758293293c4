"""Multi-programming metrics (weighted speedup, unfairness) from a sweep with alone-runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.core.errors import UserError
from gpusim.studies.sweep.point import ALONE, SHARED
from gpusim.studies.sweep.results import SweepResults

if TYPE_CHECKING:
    import pandas as pd

_IPC = "/ipc"
Row = dict[str, Any]
Place = tuple[object, ...]


def weighted_speedup(results: SweepResults, alone_variant: str | None = None) -> pd.DataFrame:
    """Each run of several applications, compared with their runs alone (MASK §6, metrics).

    Args:
        results: of a sweep with `gpusim.studies.sweep.spec.Sweep.alone`.
        alone_variant: the variant of the alone-runs; default: that of the shared run.

    Returns:
        a row a shared run that is done: the sweep's coordinates, the columns of `shared_runs`, and
        ``best_split``: no other split of the SMs has a larger weighted speedup.

    Raises:
        UserError: there is no such run, or the sweep has no runs alone to compare it with.
    """
    coordinates = [name for name in results.coordinates if name not in ("role", "application")]
    found = shared_runs(results.table, coordinates, alone_variant)
    if found.empty:
        raise UserError(f"sweep {results.name!r} has no finished run of several applications")
    speedups = found["weighted_speedup"]
    groups = [found[name] for name in coordinates if name != "sms"]
    best = speedups.groupby(groups).transform("max") if groups else speedups.max()
    found["best_split"] = speedups == best
    return found


def shared_runs(
    table: pd.DataFrame, coordinates: Sequence[str], alone_variant: str | None = None
) -> pd.DataFrame:
    """The runs of several applications in a table, compared with their runs alone in it.

    Args:
        table: of a sweep, or of several.
        coordinates: columns that tell its runs from each other, but for role and application.
        alone_variant: the variant of the alone-runs; default: that of the shared run.

    Returns:
        a row a shared run that is done: the coordinates, then ``slowdown/APP`` (IPC alone / IPC
        shared), ``weighted_speedup`` (sum of IPC shared / IPC alone), ``unfairness`` (the largest
        slowdown), ``harmonic_speedup`` (harmonic mean of time alone / time shared, the average
        performance of STAR §IV-A) and ``ipc_throughput`` (sum of the IPCs).  NaN where a run alone
        is not finished.

    Raises:
        UserError: there is no run alone to compare one with.
    """
    import pandas as pd

    columns = [name for name in map(str, table.columns) if name.endswith(_IPC)]
    others = [name for name in coordinates if name not in ("variant", "sms")]
    needed = list(dict.fromkeys([*others, "variant", "sms", "workload", "application"]))
    alone: dict[Place, float] = {}
    for row in _records(table[table["role"] == ALONE], [*needed, "ipc"]):
        for sms in (row["sms"], ""):  # "": as the workload gives them out
            place = _place(row, others, row["variant"], row["application"], sms)
            alone[place] = row["ipc"]
    is_shared = (table["state"] == "done") & (table["role"] == SHARED)
    rows = []
    for row in _records(table[is_shared], [*needed, *columns]):
        ipcs = {name.removesuffix(_IPC): row[name] for name in columns if not math.isnan(row[name])}
        if not ipcs:
            continue
        slowdowns = _slowdowns(row, ipcs, alone, others, alone_variant or row["variant"])
        rows.append(
            {name: row[name] for name in coordinates}
            | {f"slowdown/{app}": slowdown for app, slowdown in slowdowns.items()}
            | {
                "weighted_speedup": sum(1 / slowdown for slowdown in slowdowns.values()),
                "unfairness": float(np.max(list(slowdowns.values()))),  # NaN stays NaN
                "harmonic_speedup": 1 / float(np.mean(list(slowdowns.values()))),
                "ipc_throughput": sum(ipcs.values()),
            }
        )
    return pd.DataFrame(rows)


def _slowdowns(
    row: Row, ipcs: dict[str, float], alone: dict[Place, float], others: list[str], variant: str
) -> dict[str, float]:
    """Slowdowns of the applications of a shared run; NaN where a run alone is not done."""
    slowdowns = {}
    for app, ipc in ipcs.items():
        place = _place(row, others, variant, app, row["sms"])
        if place not in alone:
            raise UserError(
                f"{row['workload']}, {row['variant']}: the sweep has no run of {app!r} alone with "
                f"the variant {variant!r}; name that in its `alone`"
            )
        slowdowns[app] = alone[place] / ipc
    return slowdowns


def _place(row: Row, others: list[str], variant: str, app: str, sms: str) -> Place:
    return (variant, app, sms, *(row[name] for name in others))


def _records(table: pd.DataFrame, columns: list[str]) -> list[Row]:
    """Rows as plain dicts: rows of pandas cost a hundred times as much."""
    return [
        dict(zip(columns, values, strict=True))
        for values in table[columns].itertuples(index=False, name=None)
    ]
