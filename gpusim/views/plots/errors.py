"""Errors of data that cannot be drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpusim.core.errors import UserError


class PlotError(UserError, ValueError):
    """The data do not make such a picture; the message names the row and column."""


def refuse_cells(values: pd.DataFrame, wrong: NDArray[np.bool_], rule: str) -> None:
    """Refuse numbers that cannot be drawn, if there are any.

    Raises:
        PlotError: some are `wrong`; it names the first, and the rule.
    """
    for row, column in zip(*np.nonzero(wrong), strict=True):
        place = ", ".join(map(str, (values.index[row], values.columns[column])))
        raise PlotError(f"{place}: {float(values.to_numpy()[row, column]):g}; {rule}")
