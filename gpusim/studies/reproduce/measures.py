"""What figures measure again and again, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gpusim.studies.reproduce.verdict import Measured
from gpusim.views.plots.ratios import geometric_mean

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result

POINT = 0.01
"""From which difference on hit rates count as different."""

POOR = 0.8
"""A TLB hit rate below this is poor: where MASK (§6) calls miss rates high."""

AVERAGE = "Average"
"""Name of the row of means."""


def counted(result: Result, component: str, app: str | None = None) -> Counter[str]:
    """The counters of a component, summed over its instances.

    Args:
        result: of a run.
        component: such as ``"tlb/L2"``.
        app: of one application; None: of all.
    """
    rows = result.counters
    rows = rows[rows["component"] == component]
    if app is not None:
        rows = rows[rows["app"] == app]
    sums = rows.groupby("counter")["value"].sum()
    return Counter({str(name): int(value) for name, value in sums.items()})


def normalised(times: pd.DataFrame, baseline: str = "baseline") -> pd.DataFrame:
    """Each column divided by that of the baseline."""
    return times.div(times[baseline], axis=0)


def with_average(table: pd.DataFrame) -> pd.DataFrame:
    """A last row of arithmetic means."""
    found = table.copy()
    found.loc[AVERAGE] = table.mean()
    return found


def reduction(times: pd.DataFrame, design: str, baseline: str = "baseline") -> float:
    """By how many percent a design cuts the geometric mean of times; negative: lengthens it."""
    return 100 * (1 - geometric_mean((times[design] / times[baseline]).to_numpy()))


def gain(times: pd.DataFrame, design: str, baseline: str = "baseline") -> pd.Series:
    """By how many percent each program is faster with a design."""
    return 100 * (times[baseline] / times[design] - 1)


def points(rates: pd.DataFrame, design: str, baseline: str = "baseline") -> pd.Series:
    """By how many percentage points a design raises the hit rate of each program."""
    return 100 * (rates[design] - rates[baseline])


def number(*values: float, text: str = "") -> Measured:
    """Ours for the values of a claim."""
    return Measured(tuple(map(float, values)), text=text)


def most(holds: pd.Series, at_least_half: bool = False) -> Measured:
    """Whether something is so for more than half of the programs.

    Args:
        holds: of each program.
        at_least_half: half of them are enough.
    """
    count = int(holds.sum())
    enough = 2 * count >= len(holds) if at_least_half else 2 * count > len(holds)
    names = ", ".join(map(str, holds.index[holds]))
    return Measured(holds=enough, text=f"{count} of {len(holds)}{f': {names}' if names else ''}")


def all_of(
    values: pd.Series, holds: Callable[[pd.Series], pd.Series], cell: str = "{:+.1f} points"
) -> Measured:
    """Whether something is so for every program; tells each one's number.

    Args:
        values: of each program.
        holds: of numbers, for which it is so.
        cell: how a number is written.
    """
    text = ", ".join(f"{name} {cell.format(value)}" for name, value in values.items())
    return Measured(holds=bool(holds(values).all()), text=text)


def one(value: float, holds: bool, cell: str = "{:.1%}") -> Measured:
    """A single number, and whether it is as the paper says."""
    return Measured(holds=bool(holds), text=cell.format(value))


def mean_points(rates: pd.DataFrame, design: str, baseline: str, least: float = 1.0) -> Measured:
    """Whether the mean hit rate of a design is higher by some percentage points."""
    means = rates[[baseline, design]].mean()
    difference = 100 * float(means[design] - means[baseline])
    return Measured(
        holds=bool(np.isfinite(difference) and difference >= least),
        text=f"{means[baseline]:.1%} → {means[design]:.1%} ({difference:+.1f} points)",
    )
