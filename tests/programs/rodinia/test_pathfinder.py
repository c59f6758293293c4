"""pathfinder: the cheapest ways, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.rodinia.pathfinder import Pathfinder, PathfinderParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import LANES, nth_launch, run_backwards, run_forwards
from tests.programs.rodinia.operations import BARRIER, WAIT, Operation, compute, shared


def cheapest(first: np.ndarray, wall: np.ndarray) -> np.ndarray:
    """Costs of the last row, row by row over the whole grid."""
    costs = first.astype(int)
    for row in wall:
        wide = np.pad(costs, 1, mode="edge")
        costs = row + np.minimum(np.minimum(wide[:-2], wide[1:-1]), wide[2:])
    return costs


@pytest.mark.parametrize(
    ("columns", "rows", "height", "launches"),
    [
        (1000, 21, 20, 1),
        (432, 41, 20, 2),
        (700, 30, 20, 2),
        (1, 7, 3, 2),
        (90, 50, 127, 1),
        (1301, 33, 9, 4),
    ],
)
def test_costs(columns: int, rows: int, height: int, launches: int) -> None:
    program = Pathfinder(PathfinderParameters(columns, rows, height), 1)
    first, wall = program.first.data.copy(), program.wall.data.reshape(rows - 1, columns)
    assert drain(program) == ["dynproc_kernel"] * launches
    assert (program.final.data == cheapest(first, wall)).all()
    assert program.final is (program.second if launches % 2 else program.first)


def test_the_order_of_blocks_is_no_matter() -> None:
    parameters = PathfinderParameters(900, 40, 15)
    one, other = Pathfinder(parameters, 0), Pathfinder(parameters, 0)
    assert run_forwards(one) == run_backwards(other)
    assert (one.final.data == other.final.data).all()


def test_the_launch_of_the_suite() -> None:
    program = Pathfinder(PathfinderParameters(rows=22), 0)
    kernel = next(program.launches())
    assert (kernel.blocks, kernel.threads_per_block) == (463, 256)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (16, 2048)
    assert [(b.name, b.bytes) for b in program.buffers] == [
        ("result 0", 400_000),
        ("result 1", 400_000),
        ("wall", 21 * 400_000),
    ]


def test_a_warp_in_the_middle() -> None:
    program = Pathfinder(PathfinderParameters(1000, 40, 2), 0)
    operations = warp_operations(nth_launch(program, 1), program, block=1, warp=2)
    x = [252 - 2 + 64 + lane for lane in LANES]

    def row(number: int) -> list[Operation]:
        return [
            compute(9),
            *[shared()] * 3,
            ("LOAD", "wall", [1000 * number + column for column in x]),
            WAIT,
            compute(6),
            shared(),
            BARRIER,
            compute(9),
        ]

    assert operations == [
        compute(22),
        ("LOAD", "result 1", x),
        WAIT,
        shared(),
        BARRIER,
        compute(31),
        *row(2),
        shared(),
        shared(),
        BARRIER,
        *row(3),
        ("STORE", "result 0", x),
    ]


def test_columns_at_the_ends_of_a_block_drop_out() -> None:
    program = Pathfinder(PathfinderParameters(1000, 40, 3), 0)
    operations = warp_operations(next(program.launches()), program, block=1)
    first = 250 - 3
    loads = [op[2] for op in operations if op[0] == "LOAD"]
    assert loads[0] == [first + lane for lane in LANES]
    for step, wall in enumerate(loads[1:]):
        assert wall == [1000 * step + first + lane for lane in range(step + 1, 32)]
    assert operations[-1] == ("STORE", "result 1", [250 + lane for lane in range(29)])


def test_nothing_is_touched_beyond_the_grid() -> None:
    program = Pathfinder(PathfinderParameters(270, 21, 20), 0)
    kernel = next(program.launches())
    left = [op[2] for op in warp_operations(kernel, program, block=0) if op[0] == "LOAD"]
    assert left[0] == list(range(12)), "20 columns before the grid are left out"
    assert left[1] == list(range(12)), "the grid's end is no end of the block"
    right = warp_operations(kernel, program, block=1, warp=3)
    row = [compute(9), BARRIER, compute(9), BARRIER]
    start = [compute(22), BARRIER, compute(31)]
    assert right == (start + row * 20)[:-1], "beyond the last column"
    with pytest.raises(ValueError, match="height"):
        PathfinderParameters(height=128)
