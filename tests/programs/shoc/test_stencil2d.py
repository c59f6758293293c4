"""stencil2d: its result, and what its warps do."""

import numpy as np
import pytest
import scipy.ndimage

from gpusim.programs.shoc.stencil2d import Stencil2d, Stencil2dParameters, pitch_of
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards

WEIGHTS = np.array([[0.05, 0.15, 0.05], [0.15, 0.25, 0.15], [0.05, 0.15, 0.05]])


@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_smoothing(iterations: int) -> None:
    program = Stencil2d(Stencil2dParameters(32, 512, iterations), 4)
    expected = program.da.data.reshape(34, -1)[1:-1, 1:513].astype(float)
    assert expected.max() > 0.9
    assert drain(program) == ["StencilKernel"] * iterations
    for _ in range(iterations):
        expected = scipy.ndimage.correlate(expected, WEIGHTS, mode="constant")
    result = (program.db if iterations % 2 else program.da).data.reshape(34, -1)
    assert result[1:-1, 1:513] == pytest.approx(expected, rel=1e-4)
    result[1:-1, 1:513] = 0
    assert not result.any(), "the border stays"


def test_a_part_of_wider_matrices() -> None:
    program = Stencil2d(Stencil2dParameters(32, 64, 1, pitch=100), 4)
    expected = program.da.data.reshape(34, 100)[1:-1, 1:65].astype(float)
    drain(program)
    expected = scipy.ndimage.correlate(expected, WEIGHTS, mode="constant")
    result = program.db.data.reshape(34, 100)
    assert result[1:-1, 1:65] == pytest.approx(expected, rel=1e-4)
    with pytest.raises(ValueError, match=r"must be at least columns \+ 2 = 66: 65"):
        Stencil2dParameters(32, 64, 1, pitch=65)


def test_a_strip() -> None:
    program = Stencil2d(Stencil2dParameters(64, 512, 2), 0)
    assert [(b.name, b.bytes) for b in program.buffers] == [
        ("da", 4 * 66 * 528),
        ("db", 4 * 66 * 528),
    ]
    kernel = nth_launch(program, 1)
    assert (kernel.blocks, kernel.threads_per_block) == (4 * 8, 64)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (32, 4 * 18 * 66)
    block = 3 + 4 * 5

    def rows(first: int, count: int, column: int) -> list[int]:
        return [528 * (48 + first + r) + 320 + column + 1 for r in range(count)]

    def lanes(place: int) -> list[int]:
        return [place + lane for lane in range(32)]

    def loaded(places: list[list[int]], instructions: int) -> list[tuple]:
        compute = ("COMPUTE", instructions, [])
        return [
            operation
            for place in places
            for operation in (("LOAD", "db", place), ("WAIT", 0, []), shared, compute)
        ]

    shared = ("SHARED", 1, [])
    for warp, edge, column in ((0, 0, -1), (1, 32, 64)):
        own = [lanes(place) for place in rows(0, 18, edge)]
        stores = [("STORE", "da", lanes(place)) for place in rows(1, 16, edge)]
        smooth = [[*[shared] * 3, ("COMPUTE", 10, []), store] for store in stores]
        assert warp_operations(kernel, program, block, warp) == [
            ("COMPUTE", 103, []),
            *loaded(own, 11),
            *loaded([[place] for place in rows(0, 18, column)], 9),
            ("BARRIER", 0, []),
            *[shared] * 6,
            *[operation for step in smooth for operation in step],
            ("COMPUTE", 1, []),
        ]


def test_rows_are_padded() -> None:
    assert [pitch_of(columns) for columns in (512, 4096, 14)] == [528, 4112, 16]


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = (Stencil2d(Stencil2dParameters(32, 512, 2), 0) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)
    assert (one.da.data == other.da.data).all()


@pytest.mark.parametrize(("rows", "columns", "text"), [(24, 256, "'rows'"), (16, 300, "'columns'")])
def test_sizes_that_do_not_fit_are_refused(rows: int, columns: int, text: str) -> None:
    with pytest.raises(ValueError, match=f"{text} must be a multiple of"):
        Stencil2dParameters(rows, columns)
