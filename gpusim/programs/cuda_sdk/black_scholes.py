"""black_scholes: prices of European options by the Black-Scholes formula."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

BLOCKS = 480
BLOCK = 128
RISK_FREE = np.float32(0.02)
"""Interest rate, a year."""
VOLATILITY = np.float32(0.30)
POLYNOMIAL = (0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
"""Factors of k, k^2, ... in the normal distribution (Abramowitz and Stegun 26.2.17)."""
POLYNOMIAL_SCALE = np.float32(0.2316419)

Values = NDArray[np.float32]


def normal_distribution(d: Values) -> Values:
    """Probability that a normal variable is below `d`, of any shape; seven digits."""
    k = 1 / (1 + POLYNOMIAL_SCALE * np.abs(d))
    tail = np.zeros_like(d)
    for factor in reversed(POLYNOMIAL):
        tail = k * (tail + np.float32(factor))
    tail *= np.exp(-d * d / 2) / np.float32(np.sqrt(2 * np.pi))
    below: Values = np.where(d > 0, 1 - tail, tail)
    return below


def prices(stock: Values, strike: Values, years: Values) -> tuple[Values, Values]:
    """Call and put price of options, of one shape; `years` until they expire."""
    spread = VOLATILITY * np.sqrt(years)
    d1 = (np.log(stock / strike) + (RISK_FREE + VOLATILITY * VOLATILITY / 2) * years) / spread
    below1, below2 = normal_distribution(d1), normal_distribution(d1 - spread)
    discounted = strike * np.exp(-RISK_FREE * years)
    call = stock * below1 - discounted * below2
    put = discounted * (1 - below2) - stock * (1 - below1)
    return call, put


@gpu.kernel("BlackScholesGPU", registers=32, in_step=True)
def price_options(
    k: gpu.BlockTracer,
    call: gpu.Floats,
    put: gpu.Floats,
    stock: gpu.Floats,
    strike: gpu.Floats,
    years: gpu.Floats,
) -> gpu.Steps:
    """480 blocks stride through the options; an option a thread at a time.

    The years are used first, for the square root: L years, 9 instructions, L strike, L stock.  The
    compiler moves nothing over the stores, which may alias: an option is done before the next one
    begins.  With addresses and loop an option has 59 instructions, its five accesses among them:
    236 million for four million options (ISPASS 2009, Table 1).  Of the last 45, the first 10 need
    the years alone (our choice).
    """
    k.compute(gpu.PROLOGUE)
    for first in range(0, call.length, BLOCKS * BLOCK):
        option = first + k.t
        inside = option < call.length
        until = k.load(years, option, inside)
        k.compute(9, inside)
        at = k.load(strike, option, inside)
        today = k.load(stock, option, inside)
        k.wait(2, inside)
        k.compute(10, inside)
        k.wait(0, inside)
        k.compute(35, inside)
        for array, value in zip((call, put), prices(today, at, until), strict=True):
            k.store(array, option, value, inside)
        yield


@gpu.program("black_scholes")
def black_scholes(
    memory: gpu.AddressSpace,
    seed: int,
    options: int = gpu.number(4_000_000, 1, 1 << 28),
    iterations: int = gpu.number(512),
) -> gpu.Launches:
    """Prices of options.

    Arrays in the order CallResult, PutResult, StockPrice (5 to 30), OptionStrike (1 to 100: where
    the option may be exercised) and OptionYears (0.25 to 10: until it expires), the inputs random.

    Parameters:
        options: number of options (the SDK: 4,000,000).
        iterations: launches, all alike (the SDK: 512).
    """
    generator = np.random.default_rng(seed)

    def random_in(name: str, low: float, high: float) -> gpu.Floats:
        values = generator.random(options, dtype=np.float32)
        return memory.read_only(name, np.float32(low) + np.float32(high - low) * values)

    call = memory.zeros("CallResult", options, np.float32)
    put = memory.zeros("PutResult", options, np.float32)
    stock = random_in("StockPrice", 5, 30)
    strike = random_in("OptionStrike", 1, 100)
    years = random_in("OptionYears", 0.25, 10)
    for _ in range(iterations):
        yield price_options[BLOCKS, BLOCK](call, put, stock, strike, years)
