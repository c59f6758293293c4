"""nw: its scores, and what its warps do."""

import numpy as np
import pytest

from gpusim.core.warp_program import Op
from gpusim.programs.rodinia.nw import Nw, NwParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards
from tests.programs.rodinia.operations import BARRIER, WAIT, compute, shared

TILE = list(range(16))


def scores(reference: np.ndarray, penalty: int) -> np.ndarray:
    """Needleman and Wunsch's recurrence, cell by cell."""
    size = len(reference)
    best = np.zeros((size, size), dtype=int)
    best[0] = best[:, 0] = -penalty * np.arange(size)
    for i in range(1, size):
        for j in range(1, size):
            diagonal = best[i - 1, j - 1] + reference[i, j]
            best[i, j] = max(diagonal, best[i - 1, j] - penalty, best[i, j - 1] - penalty)
    return best


@pytest.mark.parametrize(("n", "penalty"), [(16, 3), (32, 10), (80, 1)])
def test_scores(n: int, penalty: int) -> None:
    program = Nw(NwParameters(n, penalty), 4)
    reference = program.reference.data.reshape(n + 1, n + 1)
    assert set(reference[1:, 1:].ravel().tolist()) == {5, -2}
    width = n // 16
    names = ["needle_cuda_shared_1"] * width + ["needle_cuda_shared_2"] * (width - 1)
    assert drain(program) == names
    assert (program.scores.data.reshape(n + 1, n + 1) == scores(reference, penalty)).all()


def test_tiles_of_64_within_wider_rows() -> None:
    program = Nw(NwParameters(128, tile=64, pitch=200), 4)
    reference = program.reference.data.reshape(129, 200)
    assert drain(program) == ["needle_cuda_shared_1"] * 2 + ["needle_cuda_shared_2"]
    found = program.scores.data.reshape(129, 200)
    assert (found[:, :129] == scores(reference[:, :129], 10)).all()
    assert not found[:, 129:].any()
    kernel = nth_launch(program, 1)
    assert (kernel.blocks, kernel.threads_per_block, kernel.shared_bytes) == (2, 64, 33284)
    (chunk, *more) = kernel.run_block(0, 64)
    counts = [np.where(one.kind == int(Op.COMPUTE), one.arg, 1) for one in (chunk, *more)]
    waits = sum(int((one.kind == int(Op.WAIT)).sum()) for one in (chunk, *more))
    assert sum(int(count.sum()) for count in counts) - waits == 5285, "as in MGPUSim's trace"


@pytest.mark.parametrize(
    ("diagonals", "tiles"),
    [(1, [4]), (2, [3, 4]), (3, [3, 4, 3]), (6, [1, 2, 3, 4, 3, 2]), (7, [1, 2, 3, 4, 3, 2, 1])],
)
def test_the_longest_diagonals_alone(diagonals: int, tiles: list[int]) -> None:
    whole = [(one.name, one.left, one.bottom) for one in Nw(NwParameters(64), 0).launches()]
    kernels = list(Nw(NwParameters(64, diagonals=diagonals), 0).launches())
    assert [kernel.blocks for kernel in kernels] == tiles
    places = [(one.name, one.left, one.bottom) for one in kernels]
    first = whole.index(places[0])
    assert places == whole[first : first + diagonals]


@pytest.mark.parametrize("diagonals", [0, 8])
def test_diagonals_that_are_not_there(diagonals: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 7"):
        NwParameters(64, diagonals=diagonals)


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = Nw(NwParameters(64), 0), Nw(NwParameters(64), 0)
    assert run_forwards(one) == run_backwards(other)
    assert (one.scores.data == other.scores.data).all()


@pytest.mark.parametrize(
    ("number", "block", "row", "column"),
    [(0, 0, 0, 0), (2, 0, 2, 0), (2, 2, 0, 2), (4, 0, 3, 1), (4, 2, 1, 3), (6, 0, 3, 3)],
)
def test_tiles_lie_on_anti_diagonals(number: int, block: int, row: int, column: int) -> None:
    program = Nw(NwParameters(64), 0)
    kernel = nth_launch(program, number)
    assert (kernel.blocks, kernel.threads_per_block) == (min(number + 1, 7 - number), 16)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (32, 2180)
    stores = [op for op in warp_operations(kernel, program, block) if op[0] == "STORE"]
    corner = 65 * (16 * row + 1) + 16 * column + 1
    expected = [("STORE", "scores", [corner + 65 * r + x for x in TILE]) for r in TILE]
    assert stores == expected


def test_the_first_kernel_begins_with_the_corner_of_its_tile() -> None:
    program = Nw(NwParameters(2048), 0)
    operations = warp_operations(next(program.launches()), program)
    assert operations[:17] == [
        compute(67),
        *[("LOAD", "reference", [2049 * (r + 1) + 1 + x for x in TILE]) for r in TILE],
    ]
    assert operations[17:44] == [
        ("LOAD", "scores", [0]),
        WAIT,
        *[shared()] * 17,
        BARRIER,
        ("LOAD", "scores", [2049 * (x + 1) for x in TILE]),
        WAIT,
        shared(),
        BARRIER,
        ("LOAD", "scores", [x + 1 for x in TILE]),
        WAIT,
        shared(),
    ]
    rows = np.array(operations[37][2]) * 4 // 4096
    assert len(set(rows.tolist())) == 16, "a page for each lane of the column"
    assert operations[44] == BARRIER
    assert len(operations) == 45 + 31 * 7 + 16 * 3


def test_the_second_kernel_loads_the_corner_with_the_column() -> None:
    program = Nw(NwParameters(32), 0)
    operations = warp_operations(nth_launch(program, 2), program)
    assert operations[17:35] == [WAIT, *[shared()] * 16, BARRIER]
    corner = 16 * 33 + 16
    assert operations[35:37] == [
        ("LOAD", "scores", [corner]),
        ("LOAD", "scores", [corner + 33 * (x + 1) for x in TILE]),
    ]


def test_anti_diagonals_conflict_in_two_banks() -> None:
    program = Nw(NwParameters(16), 0)
    operations = warp_operations(next(program.launches()), program)[45 : 45 + 31 * 7]
    for step in range(31):
        count = 16 - abs(15 - step)
        own = shared(-(-count // 2))
        assert operations[7 * step : 7 * step + 7] == [
            own,
            shared(),
            own,
            own,
            compute(6),
            own,
            BARRIER,
        ]


def test_arrays_and_sizes() -> None:
    program = Nw(NwParameters(48), 0)
    assert [(b.name, b.bytes) for b in program.buffers] == [
        ("reference", 4 * 49 * 49),
        ("scores", 4 * 49 * 49),
    ]
    with pytest.raises(ValueError, match="'n' must be a multiple of 16: 40"):
        NwParameters(40)
    with pytest.raises(ValueError, match=r"must be at least n \+ 1 = 49: 48"):
        NwParameters(48, pitch=48)
