"""reduction: its sums, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.shoc.reduction import Reduction, ReductionParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards


@pytest.mark.parametrize("elements", [512, 512 * 64, 512 * 150])
def test_sums_of_the_blocks(elements: int) -> None:
    program = Reduction(ReductionParameters(elements, 2), 0)
    values = np.random.default_rng(0).random(elements, dtype=np.float32)
    program.vector.data = values
    assert drain(program) == ["reduce"] * 2
    padded = np.zeros(-(-elements // 32768) * 32768)
    padded[:elements] = values
    assert program.sums.data == pytest.approx(padded.reshape(-1, 64, 512).sum(axis=(0, 2)))


def test_the_sum_of_the_suite() -> None:
    program = Reduction(ReductionParameters(512 * 100, 1), 0)
    drain(program)
    assert program.sums.data.sum() == sum(i % 3 for i in range(51200))


def test_blocks_stride_through_the_vector() -> None:
    program = Reduction(ReductionParameters(512 * 66, 1), 0)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (64, 256)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (14, 1024)
    operations = warp_operations(kernel, program, block=1, warp=3)
    loads = [op for op in operations if op[0] == "LOAD"]
    starts = [512 + 96, 512 + 96 + 256, 512 * 65 + 96, 512 * 65 + 96 + 256]
    assert loads == [("LOAD", "in", [start + lane for lane in range(32)]) for start in starts]
    assert [op[0] for op in operations[:9]] == [
        "COMPUTE",
        "SHARED",
        "LOAD",
        "LOAD",
        "SHARED",
        "WAIT",
        "COMPUTE",
        "SHARED",
        "LOAD",
    ]
    idle = warp_operations(kernel, program, block=1, warp=5)
    assert idle[-4:] == [("SHARED", 1, []), *[("BARRIER", 0, [])] * 3], "beyond 128 threads"
    short = warp_operations(kernel, program, block=2, warp=3)
    assert sum(op[0] == "LOAD" for op in short) == 2


def test_the_first_warp_finishes_the_tree() -> None:
    program = Reduction(ReductionParameters(512 * 64, 1), 0)
    operations = warp_operations(nth_launch(program, 0), program, block=9)
    assert operations[-1] == ("STORE", "out", [9])
    step = ["SHARED", "SHARED", "COMPUTE", "SHARED"]
    kinds = [op[0] for op in operations[8:]]
    assert kinds == ["BARRIER", *[*step, "BARRIER"] * 2, *step * 6, "SHARED", "STORE"]


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = (Reduction(ReductionParameters(512 * 70, 1), 0) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)
    assert (one.sums.data == other.sums.data).all()


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 512: 700"):
        ReductionParameters(700)
