"""What several applications on one GPU cost each other, from a sweep with alone-runs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusim.errors import UserError
from gpusim.sweep.point import ALONE, SHARED
from gpusim.sweep.results import SweepResults

if TYPE_CHECKING:
    import pandas as pd

_IPC = "/ipc"


def weighted_speedup(results: SweepResults, alone_variant: str | None = None) -> pd.DataFrame:
    """Each run of several applications, compared with their runs alone (MASK §6, metrics).

    Args:
        results: of a sweep with `gpusim.sweep.spec.Sweep.alone`.
        alone_variant: the variant of the alone-runs; default: that of the shared run.

    Returns:
        a row a shared run that is done: the sweep's coordinates, then ``slowdown/APP`` (IPC alone
        / IPC shared), ``weighted_speedup`` (sum of IPC shared / IPC alone), ``unfairness`` (the
        largest slowdown), ``ipc_throughput`` (sum of the IPCs) and ``best_split``: no other split
        of the SMs has a larger weighted speedup.

    Raises:
        UserError: there is no such run, or an alone-run is missing.
    """
    import pandas as pd

    done = results.table[results.table["state"] == "done"]
    alone = done[done["role"] == ALONE]
    coordinates = [name for name in results.coordinates if name not in ("role", "application")]
    rows = []
    for _, row in done[done["role"] == SHARED].iterrows():
        slowdowns = dict(_slowdowns(row, alone, alone_variant or row["variant"], coordinates))
        if slowdowns:
            rows.append(
                {name: row[name] for name in coordinates}
                | {f"slowdown/{app}": slowdown for app, slowdown in slowdowns.items()}
                | {
                    "weighted_speedup": sum(1 / slowdown for slowdown in slowdowns.values()),
                    "unfairness": max(slowdowns.values()),
                    "ipc_throughput": sum(row[app + _IPC] for app in slowdowns),
                }
            )
    if not rows:
        raise UserError(f"sweep {results.name!r} has no finished run of several applications")
    found = pd.DataFrame(rows)
    speedups = found["weighted_speedup"]
    groups = [found[name] for name in coordinates if name != "sms"]
    best = speedups.groupby(groups).transform("max") if groups else speedups.max()
    found["best_split"] = speedups == best
    return found


def _slowdowns(
    row: pd.Series, alone: pd.DataFrame, variant: str, coordinates: list[str]
) -> Iterator[tuple[str, float]]:
    """Of each application of a shared run; none if it has only one."""
    same = [name for name in coordinates if name not in ("variant", "sms")]
    rows = alone[(alone["variant"] == variant) & (alone[same] == row[same]).all(axis=1)]
    if row["sms"]:
        rows = rows[rows["sms"] == row["sms"]]
    for name, shared in row.items():
        app = str(name).removesuffix(_IPC)
        if app == name or math.isnan(shared):
            continue
        found = rows.loc[rows["application"] == app, "ipc"]
        if found.empty:
            raise UserError(
                f"{row['workload']}, {row['variant']}: there is no run of {app!r} alone with the "
                f"variant {variant!r} (alone = [...] in the sweep), or it failed"
            )
        yield app, found.iloc[0] / shared
