"""What several applications on one GPU cost each other, from a sweep with alone-runs."""

from __future__ import annotations

import math
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
        largest slowdown), ``harmonic_speedup`` (harmonic mean of time alone / time shared, the
        average performance of STAR §IV-A), ``ipc_throughput`` (sum of the IPCs) and
        ``best_split``: no other split of the SMs has a larger weighted speedup.  NaN where a run
        alone is not finished.

    Raises:
        UserError: there is no such run, or the sweep has no runs alone to compare it with.
    """
    import pandas as pd

    table = results.table
    alone = table[table["role"] == ALONE]
    coordinates = [name for name in results.coordinates if name not in ("role", "application")]
    rows = []
    for _, row in table[(table["state"] == "done") & (table["role"] == SHARED)].iterrows():
        shared = _ipcs(row)
        if shared.empty:
            continue
        variant = alone_variant or row["variant"]
        slowdowns = _ipcs_alone(row, shared.index, alone, variant, coordinates) / shared
        rows.append(
            {name: row[name] for name in coordinates}
            | {f"slowdown/{app}": slowdown for app, slowdown in slowdowns.items()}
            | {
                "weighted_speedup": (1 / slowdowns).sum(skipna=False),
                "unfairness": slowdowns.max(skipna=False),
                "harmonic_speedup": 1 / slowdowns.mean(skipna=False),
                "ipc_throughput": shared.sum(),
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


def _ipcs(row: pd.Series) -> pd.Series:
    """Of a shared run, by application; empty if it has only one."""
    import pandas as pd

    ipcs = {
        str(name).removesuffix(_IPC): value
        for name, value in row.items()
        if str(name).endswith(_IPC) and not math.isnan(value)
    }
    return pd.Series(ipcs, dtype=float)


def _ipcs_alone(
    row: pd.Series, apps: pd.Index, alone: pd.DataFrame, variant: str, coordinates: list[str]
) -> pd.Series:
    """Of the applications of a shared run, when each runs alone; NaN where that is not done."""
    like_row = alone["variant"] == variant
    for name in coordinates:
        if name not in ("variant", "sms") or (name == "sms" and row["sms"]):
            like_row &= alone[name] == row[name]
    found = alone[like_row].set_index("application")["ipc"]
    for app in apps:
        if app not in found:
            raise UserError(
                f"{row['workload']}, {row['variant']}: the sweep has no run of {app!r} alone with "
                f"the variant {variant!r}; name that in its `alone`"
            )
    return found[apps]
