"""hotspot: its temperatures, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.rodinia.hotspot import Hotspot, HotspotParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards
from tests.programs.rodinia.operations import BARRIER, WAIT, compute, shared


def heated(start: np.ndarray, power: np.ndarray, iterations: int) -> np.ndarray:
    """The whole grid, step by step, in double precision and with the suite's resistances."""
    n = len(start)
    side = 0.016 / n
    capacity = 0.5 * 1.75e6 * 0.0005 * side * side
    lateral = side / (2 * 100 * 0.0005 * side)
    vertical = 0.0005 / (100 * side * side)
    step = 0.001 / (3.0e6 / (0.5 * 0.0005 * 1.75e6))
    warm = start.astype(float)
    for _ in range(iterations):
        wide = np.pad(warm, 1, mode="edge")
        flow = (wide[2:, 1:-1] + wide[:-2, 1:-1] - 2 * warm) / lateral
        flow += (wide[1:-1, 2:] + wide[1:-1, :-2] - 2 * warm) / lateral
        warm = warm + step / capacity * (power + flow + (80 - warm) / vertical)
    return warm


@pytest.mark.parametrize(
    ("n", "height", "iterations", "launches"),
    [(24, 2, 2, 1), (50, 2, 5, 3), (1, 1, 2, 2), (13, 7, 9, 2), (70, 4, 7, 2)],
)
def test_temperatures(n: int, height: int, iterations: int, launches: int) -> None:
    program = Hotspot(HotspotParameters(n, height, iterations), 6)
    start, power = (array.data.reshape(n, n).copy() for array in (program.first, program.power))
    assert drain(program) == ["calculate_temp"] * launches
    warm = program.final.data.reshape(n, n)
    expected = heated(start, power, iterations)
    assert warm == pytest.approx(expected, abs=1e-3)
    change = np.abs(expected - start).max()
    assert n == 1 or change > 0.01, "the tolerance is far below what happens"


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = Hotspot(HotspotParameters(40, 2, 5), 0), Hotspot(HotspotParameters(40, 2, 5), 0)
    assert run_forwards(one) == run_backwards(other)
    assert (one.final.data == other.final.data).all()


def test_the_launch_of_the_suite() -> None:
    program = Hotspot(HotspotParameters(), 0)
    (kernel,) = program.launches()
    assert (kernel.blocks, kernel.threads_per_block) == (43 * 43, 256)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (32, 3072)
    names = ["temperature 0", "temperature 1", "power"]
    assert [(b.name, b.bytes) for b in program.buffers] == [(name, 1 << 20) for name in names]


def test_a_warp_in_the_middle() -> None:
    program = Hotspot(HotspotParameters(100, 2, 4), 0)
    kernel = nth_launch(program, 1)
    operations = warp_operations(kernel, program, block=9 + 2, warp=3)
    cells = [100 * (12 - 2 + y) + 24 - 2 + x for y in (6, 7) for x in range(16)]
    step = [compute(21), *[shared()] * 6, compute(19), shared(), BARRIER]
    kept = [100 * (10 + y) + 22 + x for y in (6, 7) for x in range(2, 14)]
    assert operations == [
        compute(51),
        ("LOAD", "temperature 1", cells),
        ("LOAD", "power", cells),
        WAIT,
        shared(),
        shared(),
        BARRIER,
        compute(60),
        *step,
        shared(),
        shared(),
        BARRIER,
        *step,
        ("STORE", "temperature 0", kept),
    ]


def test_rows_at_the_edge_of_a_tile_are_only_loaded() -> None:
    program = Hotspot(HotspotParameters(100), 0)
    kernel = next(program.launches())
    operations = warp_operations(kernel, program, block=10)
    assert operations[3:] == [
        WAIT,
        shared(),
        shared(),
        BARRIER,
        compute(60),
        compute(21),
        *[shared()] * 6,
        compute(19),
        shared(),
        BARRIER,
        shared(),
        shared(),
        BARRIER,
        compute(21),
        BARRIER,
    ]


def test_nothing_is_touched_beyond_the_chip() -> None:
    program = Hotspot(HotspotParameters(30), 0)
    kernel = next(program.launches())
    assert kernel.blocks == 9
    corner = warp_operations(kernel, program, block=0, warp=1)
    assert corner[1] == ("LOAD", "temperature 0", [30 * y + x for y in (0, 1) for x in range(14)])
    last = warp_operations(kernel, program, block=8, warp=3)
    assert last[1][2] == [30 * (22 + y) + 22 + x for y in (6, 7) for x in range(8)]
    outside = warp_operations(kernel, program, block=8, warp=4)
    assert outside == [
        compute(51),
        BARRIER,
        compute(60),
        compute(21),
        BARRIER,
        BARRIER,
        compute(21),
        BARRIER,
    ]
    with pytest.raises(ValueError, match="height"):
        HotspotParameters(height=8)
