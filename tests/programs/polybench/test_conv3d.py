"""3dconv: its result, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.polybench.conv3d import Conv3d, Conv3dParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import LANES, nth_launch

# The suite's 15 terms: factor, plane, row, column.
SUITE = [
    (2, -1, -1, -1),
    (4, 1, -1, -1),
    (5, -1, -1, -1),
    (7, 1, -1, -1),
    (-8, -1, -1, -1),
    (10, 1, -1, -1),
    (-3, 0, -1, 0),
    (6, 0, 0, 0),
    (-9, 0, 1, 0),
    (2, -1, -1, 1),
    (4, 1, -1, 1),
    (5, -1, 0, 1),
    (7, 1, 0, 1),
    (-8, -1, 1, 1),
    (10, 1, 1, 1),
]


@pytest.mark.parametrize(("n", "planes"), [(16, None), (34, 3), (3, None)])
def test_inner_elements_of_the_planes(n: int, planes: int | None) -> None:
    program = Conv3d(Conv3dParameters(n, planes), 0)
    names = drain(program)
    used = planes or n - 2
    assert names == ["convolution3D_kernel"] * used
    source = program.source.data.reshape(n, n, n).astype(float)
    assert source[min(13, n - 1), 1, 2] == min(13, n - 1) % 12 + 2 + 6
    expected = sum(
        factor * np.roll(source, (-i, -j, -k), axis=(0, 1, 2)) for factor, i, j, k in SUITE
    )
    result = program.result.data.reshape(n, n, n)
    inner = (slice(1, used + 1), slice(1, -1), slice(1, -1))
    assert result[inner] == pytest.approx(expected[inner])
    result[inner] = 0
    assert not result.any()


def test_eleven_loads_and_a_store() -> None:
    n = 256
    program = Conv3d(Conv3dParameters(n, 3), 0)
    kernel = nth_launch(program, 2)
    assert (kernel.blocks, kernel.threads_per_block) == (8 * 32, 256)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (26, 0)
    row, column = 8 * 2 + 3, 32
    operations = warp_operations(kernel, program, block=1 + 8 * 2, warp=3)
    offsets = []
    for op, array, places in operations[1:12]:
        assert (op, array) == ("LOAD", "A")
        assert [place - places[0] for place in places] == LANES
        i, rest = divmod(places[0] + 1, n * n)  # + 1 so that no offset is negative
        j, k = divmod(rest, n)
        offsets.append((i - 3, j - row, k - 1 - column))
    assert offsets == [
        (-1, -1, -1),
        (1, -1, -1),
        (0, -1, 0),
        (0, 0, 0),
        (0, 1, 0),
        (-1, -1, 1),
        (1, -1, 1),
        (-1, 0, 1),
        (1, 0, 1),
        (-1, 1, 1),
        (1, 1, 1),
    ]
    assert operations[0] == ("COMPUTE", 36, [])
    mine = [3 * n * n + row * n + column + lane for lane in LANES]
    assert operations[12:] == [("WAIT", 0, []), ("COMPUTE", 16, []), ("STORE", "B", mine)]


def test_planes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="from 1 to n - 2 = 6: 7"):
        Conv3dParameters(8, 7)
