"""Tables of programs by designs: ratios to a baseline, and means over the programs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpusim.core.errors import few, nearest
from gpusim.views.plots.errors import PlotError, refuse_cells


def geometric_mean(values: NDArray[np.float64]) -> float:
    """The geometric mean of values that are there (not NaN); NaN if none is."""
    there = values[~np.isnan(values)]
    return float(np.exp(np.log(there).mean())) if there.size else float("nan")


def ratios_of(
    data: pd.DataFrame, baseline: str | None, speedup: bool, positive: bool
) -> pd.DataFrame:
    """What is drawn of a table of programs by designs: divided by its baseline, if it has one.

    Args:
        data: numbers.
        baseline: name of its column, which goes; None: the numbers themselves.
        speedup: the baseline is divided by the others.
        positive: numbers must be above 0, though there is no baseline.

    Raises:
        PlotError: no such baseline, nothing to draw, or a number that is not positive.
    """
    values = data.astype(float)
    if not values.columns.is_unique:
        raise PlotError(f"two designs of one name: {', '.join(map(str, values.columns))}")
    if baseline is None and speedup:
        raise PlotError("a speedup needs a baseline")
    if baseline is not None and baseline not in values:
        names = [str(name) for name in values.columns]
        raise PlotError(
            f"no design {baseline!r} for a baseline{nearest(baseline, names)}; "
            f"there is: {few(names, baseline)}"
        )
    if baseline is not None or positive:
        above = (values > 0) & np.isfinite(values)
        refuse_cells(
            values,
            (values.notna() & ~above).to_numpy(),
            "ratios and geomeans need numbers above 0 (NaN for what is missing)",
        )
    if baseline is not None:
        others, base = values.drop(columns=baseline), values[baseline]
        values = others.rdiv(base, axis=0) if speedup else others.div(base, axis=0)
    if values.empty:
        raise PlotError("nothing to draw: no program, or no design beside the baseline")
    return values


def ratio_label(baseline: str | None, speedup: bool) -> str:
    """What a baseline makes of numbers."""
    if baseline is None:
        return ""
    return f"speedup over {baseline}" if speedup else f"normalised to {baseline}"
