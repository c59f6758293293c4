"""black_scholes: its prices, and what its warps do."""

import numpy as np
import pytest
from scipy.stats import norm

from gpusim.programs.cuda_sdk.black_scholes import BlackScholes, BlackScholesParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards

STRIDE = 480 * 128

Operations = list[tuple[str, str | int, list[int]]]


@pytest.mark.parametrize("options", [1, 1000, STRIDE + 77])
def test_prices(options: int) -> None:
    program = BlackScholes(BlackScholesParameters(options, 2), 3)
    assert drain(program) == ["BlackScholesGPU"] * 2
    stock, strike, years = (
        array.data.astype(float) for array in (program.stock, program.strike, program.years)
    )
    spread = 0.3 * np.sqrt(years)
    d1 = (np.log(stock / strike) + (0.02 + 0.3**2 / 2) * years) / spread
    strike_today = strike * np.exp(-0.02 * years)
    call = stock * norm.cdf(d1) - strike_today * norm.cdf(d1 - spread)
    put = strike_today * norm.cdf(spread - d1) - stock * norm.cdf(-d1)
    assert program.call.data == pytest.approx(call, rel=1e-4, abs=1e-4)
    assert program.put.data == pytest.approx(put, rel=1e-4, abs=1e-4)


def test_inputs_are_in_range_and_differ() -> None:
    program = BlackScholes(BlackScholesParameters(5000, 1), 0)
    assert [(b.name, b.bytes) for b in program.buffers] == [
        (name, 20000)
        for name in ("CallResult", "PutResult", "StockPrice", "OptionStrike", "OptionYears")
    ]
    for array, low, high in (
        (program.stock, 5, 30),
        (program.strike, 1, 100),
        (program.years, 0.25, 10),
    ):
        assert low <= array.data.min() < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < array.data.max() <= high


def test_an_option_at_a_time() -> None:
    program = BlackScholes(BlackScholesParameters(2 * STRIDE + 300, 1), 0)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (480, 128)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (32, 0)

    def option(first: int, lanes: int = 32) -> Operations:
        places = [first + lane for lane in range(lanes)]
        return [
            ("LOAD", "OptionYears", places),
            ("COMPUTE", 9, []),
            ("LOAD", "OptionStrike", places),
            ("LOAD", "StockPrice", places),
            ("WAIT", 2, []),
            ("COMPUTE", 10, []),
            ("WAIT", 0, []),
            ("COMPUTE", 35, []),
            ("STORE", "CallResult", places),
            ("STORE", "PutResult", places),
        ]

    first = 2 * 128 + 32  # block 2, warp 1: two options each, three in its first 12 lanes
    start: Operations = [("COMPUTE", 8, [])]
    third = option(2 * STRIDE + first, 12)
    operations = warp_operations(kernel, program, block=2, warp=1)
    assert operations == [*start, *option(first), *option(STRIDE + first), *third]
    far = warp_operations(kernel, program, block=479, warp=3)
    assert far == [*start, *option(STRIDE - 32), *option(2 * STRIDE - 32)]


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = (BlackScholes(BlackScholesParameters(3000, 2), 0) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)
    assert np.array_equal(one.call.data, other.call.data)
