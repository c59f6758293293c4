"""black_scholes: prices of European options by the Black-Scholes formula."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import PROLOGUE
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape

BLOCKS = 480
BLOCK = 128
RISK_FREE = np.float32(0.02)
"""Interest rate, a year."""
VOLATILITY = np.float32(0.30)
POLYNOMIAL = (0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
"""Factors of k, k^2, ... in the normal distribution (Abramowitz and Stegun 26.2.17)."""
POLYNOMIAL_SCALE = np.float32(0.2316419)

Floats = DeviceArray[np.float32]
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


@define(kw_only=True, eq=False)
class BlackScholesKernel(Kernel):
    """480 blocks stride through the options; an option a thread at a time.

    The years are used first, for the square root: L years, 9 instructions, L strike, L stock.  The
    compiler moves nothing over the stores, which may alias: an option is done before the next one
    begins.  With addresses and loop an option has 59 instructions, its five accesses among them:
    236 million for four million options (ISPASS 2009, Table 1).  Of the last 45, the first 10 need
    the years alone (our choice).

    Attributes:
        call, put: prices.
        stock: price of the share today.
        strike: price at which the option may be exercised.
        years: until the option expires.
    """

    call: Floats
    put: Floats
    stock: Floats
    strike: Floats
    years: Floats
    name: str = "BlackScholesGPU"
    registers_per_thread: int = 32
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(PROLOGUE)
        for first in range(0, self.call.length, BLOCKS * BLOCK):
            option = first + k.t
            inside = option < self.call.length
            years = k.load(self.years, option, inside)
            k.compute(9, inside)
            strike = k.load(self.strike, option, inside)
            stock = k.load(self.stock, option, inside)
            k.wait(2, inside)
            k.compute(10, inside)
            k.wait(0, inside)
            k.compute(35, inside)
            call, put = prices(stock, strike, years)
            k.store(self.call, option, call, inside)
            k.store(self.put, option, put, inside)
            yield


@frozen
class BlackScholesParameters:
    """Size and length of black_scholes.

    Attributes:
        options: number of options (the SDK: 4,000,000).
        iterations: launches, all alike (the SDK: 512).
    """

    options: int = field(default=4_000_000, validator=[ge(1), le(1 << 28)])
    iterations: int = field(default=512, validator=ge(1))


@program("black_scholes", BlackScholesParameters)
class BlackScholes(Program):
    """Prices of options.

    Arrays in the order CallResult, PutResult, StockPrice (5 to 30), OptionStrike (1 to 100) and
    OptionYears (0.25 to 10), the inputs random.
    """

    def __init__(self, parameters: BlackScholesParameters, seed: int) -> None:
        super().__init__("black_scholes")
        self.iterations = parameters.iterations
        generator = np.random.default_rng(seed)

        def random_in(low: float, high: float) -> Values:
            values = generator.random(parameters.options, dtype=np.float32)
            scaled: Values = np.float32(low) + np.float32(high - low) * values
            scaled.flags.writeable = False
            return scaled

        nothing = np.zeros(parameters.options, dtype=np.float32)
        self.call = self.memory.allocate("CallResult", nothing)
        self.put = self.memory.allocate("PutResult", nothing)
        self.stock = self.memory.allocate("StockPrice", random_in(5, 30))
        self.strike = self.memory.allocate("OptionStrike", random_in(1, 100))
        self.years = self.memory.allocate("OptionYears", random_in(0.25, 10))

    def launches(self) -> Iterator[Launch]:
        for _ in range(self.iterations):
            yield BlackScholesKernel(
                shape=Shape((BLOCKS, 1, 1), (BLOCK, 1, 1)),
                call=self.call,
                put=self.put,
                stock=self.stock,
                strike=self.strike,
                years=self.years,
            )
