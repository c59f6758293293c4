"""lps: its Jacobi steps, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.ispass.lps import Lps, LpsParameters, pitch_of
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards

Operation = tuple[str, str | int, list[int]]

SHARED: Operation = ("SHARED", 1, [])
WAIT: Operation = ("WAIT", 0, [])
BARRIER: Operation = ("BARRIER", 0, [])


def step(old: np.ndarray) -> np.ndarray:
    """Means of the six neighbours; the surface stays."""
    new = old.copy()
    near = [np.roll(old, shift, axis) for axis in range(3) for shift in (-1, 1)]
    inner = (slice(1, -1),) * 3
    new[inner] = np.mean(near, axis=0)[inner]
    return new


@pytest.mark.parametrize("sizes", [(40, 10, 6), (64, 8, 3), (1, 1, 1), (33, 5, 2)])
def test_jacobi_steps(sizes: tuple[int, int, int]) -> None:
    width, height, depth = sizes
    program = Lps(LpsParameters(width, height, depth, iterations=3), 0)
    before, after = (array.data.reshape(program.outer) for array in program.volumes)
    before[:] = np.random.default_rng(1).random(before.shape)
    expected = before[:, :, :width].astype(float)
    assert drain(program) == ["GPU_laplace3d"] * 3
    for _ in range(3):
        expected = step(expected)
    assert after[:, :, :width] == pytest.approx(expected, rel=1e-5)
    assert not after[:, :, width:].any(), "nothing is written between the rows"


def test_the_surface_is_hot() -> None:
    program = Lps(LpsParameters(5, 4, 3), 0)
    volume = program.volumes[0].data.reshape(program.outer)[:, :, :5]
    assert volume.sum() == 5 * 4 * 3 - 3 * 2 * 1
    assert not volume[1, 1:3, 1:4].any()


def test_rows_are_pitched() -> None:
    assert [pitch_of(width) for width in (1, 100, 128, 129)] == [128, 128, 128, 256]
    program = Lps(LpsParameters(), 0)
    assert [(b.name, b.bytes) for b in program.buffers] == [("u1", 5_120_000), ("u2", 5_120_000)]


def test_geometry() -> None:
    kernel = nth_launch(Lps(LpsParameters(), 0), 0)
    assert (kernel.blocks, kernel.threads_per_block) == (4 * 25, 128)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (21, 2448)


@pytest.mark.parametrize("warp", [0, 1, 2, 3])
def test_a_warp_marches_over_planes(warp: int) -> None:
    program = Lps(LpsParameters(depth=3, iterations=2), 0)
    x, y = 32, 4  # of block (1, 1)
    own = [128 * (y + warp) + x + lane for lane in range(32)]
    sides = [128 * (y + j) + x + i for j in range(-1, 5) for i in (-1, 32)]
    border = {
        0: [128 * (y - 1) + x + lane for lane in range(32)],
        1: [128 * (y + 4) + x + lane for lane in range(32)],
        2: sides,
        3: [],
    }[warp]

    def loads(z: int) -> list[Operation]:
        found: list[Operation] = [
            ("LOAD", "u2", [place + z * 12800 for place in places])
            for places in (own, border)
            if places
        ]
        return [*found, *[WAIT, SHARED] * len(found)]

    def plane(z: int) -> list[Operation]:
        shuffle = [("COMPUTE", 57, []), *[SHARED] * (8 if border else 4)]
        value: list[Operation] = [*[SHARED] * 6, ("COMPUTE", 6, [])] if z == 1 else [SHARED]
        store: Operation = ("STORE", "u1", [place + z * 12800 for place in own])
        return [*shuffle, *(loads(z + 1) if z < 2 else []), BARRIER, *value, store, BARRIER]

    operations = warp_operations(nth_launch(program, 1), program, block=4 + 1, warp=warp)
    assert operations == [("COMPUTE", 20, []), *loads(0), *plane(0), *plane(1), *plane(2)]


def test_the_volume_s_edge_has_no_border() -> None:
    program = Lps(LpsParameters(depth=1), 0)
    kernel = nth_launch(program, 0)
    corner = [
        [op[2] for op in warp_operations(kernel, program, 0, warp) if op[0] == "LOAD"]
        for warp in range(3)
    ]
    assert len(corner[0]) == 1, "no row before"
    assert corner[1][1] == [128 * 4 + lane for lane in range(32)]
    assert corner[2][1] == [128 * row + 32 for row in range(5)], "the right side only"
    last = warp_operations(kernel, program, block=3)
    assert [len(op[2]) for op in last if op[0] == "LOAD"] == [4], "100 = 3 * 32 + 4"


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = (Lps(LpsParameters(70, 9, 4, 2), 0) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)
    assert np.array_equal(one.volumes[0].data, other.volumes[0].data)
