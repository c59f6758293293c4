"""matrix_transpose: its result, and what its warps do."""

import numpy as np
import pytest

from gpusim.core.warp_program import Op
from gpusim.programs.amd_sdk.matrix_transpose import MatrixTranspose, MatrixTransposeParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards


@pytest.mark.parametrize("n", [64, 192, 256])
def test_transpose(n: int) -> None:
    program = MatrixTranspose(MatrixTransposeParameters(n), 0)
    assert drain(program) == ["matrixTranspose"]
    assert (program.source.data.view(np.float32) == np.arange(n * n)).all()
    result = program.result.data.view(np.float32).reshape(n, n)
    assert (result == np.arange(n * n).reshape(n, n).T).all()


def test_a_warp_moves_two_rows_of_16_vectors() -> None:
    n, width = 1024, 256
    program = MatrixTranspose(MatrixTransposeParameters(n), 0)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (16 * 16, 256)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (24, 16384)
    block, warp = 3 + 16 * 5, 2
    row, column = 3, 8  # tiles; block (3, 5) is renumbered along the diagonal

    def place(tile_row: int, tile_column: int, r: int) -> list[int]:
        return [
            (64 * tile_row + 4 * y + r) * width + 16 * tile_column + x
            for y in (2 * warp, 2 * warp + 1)
            for x in range(16)
        ]

    assert warp_operations(kernel, program, block, warp) == [
        ("COMPUTE", 89, []),
        *[("LOAD", "input", place(row, column, r)) for r in range(4)],
        ("WAIT", 0, []),
        *[("SHARED", 4, [])] * 4,
        ("BARRIER", 0, []),
        *[("SHARED", 32, [])] * 4,
        ("COMPUTE", 40, []),
        *[("STORE", "output", place(column, row, r)) for r in range(4)],
    ]


def test_a_part_of_wider_matrices() -> None:
    program = MatrixTranspose(MatrixTransposeParameters(128, pitch=256), 0)
    drain(program)
    source = program.source.data.view(np.float32).reshape(128, 256)
    result = program.result.data.view(np.float32).reshape(128, 256)
    assert (result[:, :128] == source[:, :128].T).all()
    assert not result[:, 128:].any()
    with pytest.raises(ValueError, match="'pitch' must be at least n = 128: 64"):
        MatrixTransposeParameters(128, pitch=64)


def test_lines_and_pages_of_an_instruction() -> None:
    program = MatrixTranspose(MatrixTransposeParameters(1024), 0)
    (chunk,) = nth_launch(program, 0).run_block(17, 32)
    assert chunk.size.tolist() == [16] * 8
    for instruction in chunk.address[:, 0]:
        assert len(np.unique(instruction // 128)) == 4
        assert len(np.unique(instruction // 4096)) == 2, "rows four apart, of a page each"


def test_the_bank_conflicts_are_those_of_the_addresses() -> None:
    """Passes counted from the words: a vector access is served 8 lanes at a time."""
    x, y = np.arange(32) % 16, np.arange(32) // 16

    def passes(vector: np.ndarray) -> int:
        total = 0
        for eight in vector.reshape(4, 8):
            words = (4 * eight[:, None] + np.arange(4)).ravel()
            total += np.bincount(words % 32).max()
        return total

    kernel = nth_launch(MatrixTranspose(MatrixTransposeParameters(64), 0), 0)
    (chunk,) = kernel.run_block(0, 32)
    recorded = chunk.arg[chunk.kind == Op.SHARED].tolist()
    assert recorded == [passes(64 * y + x)] * 4 + [passes(64 * x + y)] * 4


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = (MatrixTranspose(MatrixTransposeParameters(192), 0) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 64: 100"):
        MatrixTransposeParameters(100)
