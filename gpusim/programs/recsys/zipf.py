"""Which rows of a table are asked for."""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.typing import NDArray

_GOLDEN = 0.6180339887498949


def zipf_rows(
    rng: np.random.Generator, count: int, rows: int, exponent: float
) -> NDArray[np.int64]:
    """(count,) rows of a table of `rows`: the k-th most popular with a weight of about k^-exponent.

    The weight is the integral of x^-exponent from k to k + 1, which needs no table of sums.  Where
    popular rows lie is a fixed scattering over the table (our choice).  0: all are alike.
    """
    share = rng.random(count)
    end, power = float(rows + 1), 1.0 - exponent
    if abs(power) < 1e-9:
        rank = np.exp(share * np.log(end))
    else:
        rank = (1.0 + share * (end**power - 1.0)) ** (1.0 / power)
    ranks = np.minimum(rank.astype(np.int64), rows) - 1
    step = max(1, round(rows * _GOLDEN))
    while gcd(step, rows) != 1:
        step += 1
    scattered: NDArray[np.int64] = ranks * step % rows
    return scattered
