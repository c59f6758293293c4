"""gemm: its product, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.polybench.gemm import ALPHA, BETA, Gemm, GemmParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import LANES, nth_launch, run_backwards, run_forwards


@pytest.mark.parametrize(
    "parameters", [GemmParameters(n=64), GemmParameters(n=45), GemmParameters(n=40, iterations=7)]
)
def test_product(parameters: GemmParameters) -> None:
    program = Gemm(parameters, 0)
    n, used = program.n, program.iterations
    a, b, c = (
        array.data.reshape(n, n).astype(float) for array in (program.a, program.b, program.c)
    )
    i = np.arange(n)
    assert b == pytest.approx((i[:, None] * i + 1) / n)
    assert drain(program) == ["gemm_kernel"]
    expected = ALPHA * a[:, :used] @ b[:used] + BETA * c
    assert program.c.data.reshape(n, n) == pytest.approx(expected, rel=1e-5)


def test_a_warp_shares_a_and_reads_b_along_a_row() -> None:
    program = Gemm(GemmParameters(n=512, iterations=2), 0)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (16 * 64, 256)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (24, 0)
    row, column = 8 * 3 + 5, 32 * 2
    mine = [512 * row + column + lane for lane in LANES]

    def step(m: int) -> list[tuple]:
        return [
            ("LOAD", "a", [512 * row + m] * 32),
            ("LOAD", "b", [512 * m + column + lane for lane in LANES]),
            ("WAIT", 0, []),
            ("COMPUTE", 2, []),
            ("STORE", "c", mine),
        ]

    assert warp_operations(kernel, program, block=2 + 16 * 3, warp=5) == [
        ("COMPUTE", 8, []),
        ("LOAD", "c", mine),
        ("WAIT", 0, []),
        ("COMPUTE", 1, []),
        ("STORE", "c", mine),
        *step(0),
        *step(1),
    ]


def test_the_loop_is_unrolled_eight_times() -> None:
    program = Gemm(GemmParameters(n=64, iterations=17), 0)
    operations = warp_operations(nth_launch(program, 0), program)
    computed = [op[1] for op in operations if op[0] == "COMPUTE"]
    assert computed == [8, 1, *[2] * 8, 5, *[2] * 8, 5, 2]


def test_threads_outside_do_nothing() -> None:
    program = Gemm(GemmParameters(n=36, iterations=1), 0)
    kernel = nth_launch(program, 0)
    assert kernel.blocks == 2 * 5
    assert warp_operations(kernel, program, block=9, warp=4) == []
    edge = warp_operations(kernel, program, block=9, warp=3)
    assert edge[1] == ("LOAD", "c", [36 * 35 + 32 + lane for lane in range(4)])


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = Gemm(GemmParameters(n=40), 0), Gemm(GemmParameters(n=40), 0)
    assert run_forwards(one) == run_backwards(other)
    assert (one.c.data == other.c.data).all()


def test_lengths_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="from 1 to n = 64: 65"):
        GemmParameters(n=64, iterations=65)
