"""2dconv: its result, and what its warps do."""

import numpy as np
import pytest
import scipy.ndimage

from gpusim.programs.polybench.conv2d import WEIGHTS, Conv2d, Conv2dParameters
from tests.programs.drain import chunks, drain, warp_operations
from tests.programs.graph_inputs import nth_launch


@pytest.mark.parametrize("n", [64, 45, 3])
def test_inner_elements_are_convolved(n: int) -> None:
    program = Conv2d(Conv2dParameters(n), 5)
    assert drain(program) == ["Convolution2D_kernel"]
    source = program.source.data.reshape(n, n).astype(float)
    expected = scipy.ndimage.correlate(source, np.array(WEIGHTS))
    result = program.result.data.reshape(n, n)
    assert result[1:-1, 1:-1] == pytest.approx(expected[1:-1, 1:-1], rel=1e-4, abs=1e-5)
    result[1:-1, 1:-1] = 0
    assert not result.any()


def test_nine_loads_and_a_store() -> None:
    n = 4096
    program = Conv2d(Conv2dParameters(n), 0)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (128 * 512, 256)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (24, 0)
    first = 8 * n + 32  # block (1, 1), its first row
    mine = [first + lane for lane in range(32)]
    loads = [
        ("LOAD", "A", [place + di * n + dj for place in mine])
        for di in (-1, 0, 1)
        for dj in (-1, 0, 1)
    ]
    assert warp_operations(kernel, program, block=1 + 128) == [
        ("COMPUTE", 26, []),
        *loads,
        ("WAIT", 0, []),
        ("COMPUTE", 9, []),
        ("STORE", "B", mine),
    ]
    lines = [len({place * 4 // 128 for place in load[2]}) for load in loads]
    assert lines == [2, 1, 2] * 3
    assert len({place * 4 // 4096 for load in loads for place in load[2]}) == 3, "rows of 16 KiB"


def test_the_border_is_left_out() -> None:
    program = Conv2d(Conv2dParameters(64), 0)
    kernel = nth_launch(program, 0)
    assert warp_operations(kernel, program) == [], "row 0"
    stores = warp_operations(kernel, program, warp=1)[-1]
    assert stores == ("STORE", "B", [64 + lane for lane in range(1, 32)])


def test_only_inner_elements_are_written() -> None:
    program = Conv2d(Conv2dParameters(40), 0)
    written = {
        int(address)
        for _, chunk in chunks(program)
        for address in chunk.address[-1].ravel()
        if address >= 0
    }
    assert len(written) == 38 * 38
    assert min(written) >= program.result.base
