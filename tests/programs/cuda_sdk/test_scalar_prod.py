"""scalar_prod: its products, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.cuda_sdk.scalar_prod import ScalarProd, ScalarProdParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards


@pytest.mark.parametrize(("vectors", "elements"), [(3, 4096), (130, 1024), (2, 700), (2, 5200)])
def test_products(vectors: int, elements: int) -> None:
    program = ScalarProd(ScalarProdParameters(vectors, elements), 3)
    assert drain(program) == ["scalarProdGPU"]
    a, b = (array.data.reshape(vectors, -1).astype(float) for array in (program.a, program.b))
    assert program.c.data == pytest.approx((a * b).sum(axis=1), rel=1e-5)


def test_a_block_takes_every_128th_pair() -> None:
    program = ScalarProd(ScalarProdParameters(200, 4096), 0)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (128, 256)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (30, 4096)
    operations = warp_operations(kernel, program, block=5)
    assert [op[2] for op in operations if op[0] == "STORE"] == [[5], [133]]
    far = warp_operations(kernel, program, block=100)
    assert [op[2] for op in far if op[0] == "STORE"] == [[100]]
    assert warp_operations(kernel, program, block=100, warp=7)[-1][0] != "STORE"


def test_four_accumulators_of_four_products_each() -> None:
    program = ScalarProd(ScalarProdParameters(128, 4096), 0)
    operations = warp_operations(nth_launch(program, 0), program, block=2, warp=1)
    expected: list[tuple] = [("COMPUTE", 8, [])]
    for accumulator in range(4):
        for step in range(4):
            start = 2 * 4096 + 256 * accumulator + 1024 * step + 32
            places = [start + lane for lane in range(32)]
            expected += [("LOAD", "A", places), ("LOAD", "B", places)]
        expected += [("WAIT", 0, []), ("COMPUTE", 4 + 7, []), ("SHARED", 1, [])]
    assert operations[: len(expected)] == expected
    tree = [op[0] for op in operations[len(expected) :]]
    add = ["SHARED", "SHARED", "COMPUTE", "SHARED"]
    both = ["BARRIER", *add]
    assert tree == [*both, *add, *both * 3, *["BARRIER"] * 6], "512, 256, 128, 64, then others"


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = (ScalarProd(ScalarProdParameters(131, 512), 0) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)
    assert np.array_equal(one.c.data, other.c.data)
