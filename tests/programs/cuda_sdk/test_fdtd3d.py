"""fdtd3d: a stencil of order 8, rows of 32 lanes, planes far apart."""

import numpy as np
import pytest

from gpusim.programs.cuda_sdk.fdtd3d import PADDING, Fdtd3d, FdtdParameters
from tests.programs.drain import drain, warp_operations


def step(old: np.ndarray, halo: np.ndarray) -> np.ndarray:
    """One time step of the inner part; the halo of the written volume stays."""
    inner = (slice(4, -4),) * 3
    total = 0.1 * old[inner]
    for axis in range(3):
        for distance in range(1, 5):
            for signed in (-distance, distance):
                total = total + 0.1 * np.roll(old, signed, axis)[inner]
    new = halo.copy()
    new[inner] = total
    return new


@pytest.mark.parametrize("sizes", [(40, 20, 5), (32, 16, 1), (7, 3, 2)])
def test_time_steps(sizes: tuple[int, int, int]) -> None:
    width, height, depth = sizes
    program = Fdtd3d(FdtdParameters(width=width, height=height, depth=depth, steps=2), 1)
    start = program.volumes[0].data[PADDING:].reshape(program.outer).astype(float)
    assert drain(program) == ["FiniteDifferencesKernel"] * 2
    expected = step(step(start, start), start)
    found = program.volumes[0].data[PADDING:].reshape(program.outer)
    assert found == pytest.approx(expected, rel=1e-4)


def test_a_warp_is_a_row_and_marches_over_planes() -> None:
    program = Fdtd3d(FdtdParameters(width=376, height=376, depth=2, steps=1), 0)
    kernel = next(program.launches())
    assert (kernel.blocks, kernel.threads_per_block) == (12 * 24, 512)
    pitch, plane = 384, 384 * 384
    found = warp_operations(kernel, program, block=12 + 1, warp=2)  # x from 32, y = 16 + 2
    first = PADDING + (18 + 4) * pitch + 32 + 4
    lanes = list(range(first, first + 32))
    loads = [places for kind, _, places in found if kind == "LOAD"]
    assert loads[:9] == [[lane + z * plane for lane in lanes] for z in range(9)]
    here = [lane + 4 * plane for lane in lanes]
    assert loads[9] == [lane - 4 * pitch for lane in here], "halo row before"
    assert loads[10] == [lane + 16 * pitch for lane in here], "halo row behind"
    assert loads[11] == [lane - 4 for lane in here[:4]], "halo columns"
    assert loads[12] == [lane + 32 for lane in here[:4]]
    stores = [places for kind, _, places in found if kind == "STORE"]
    assert stores == [here, [lane + plane for lane in here]]
    assert (4 * first - 4 * 32) % 128 == 0, "rows of the inner part begin at a line"
    assert [kind for kind, _, _ in found].count("BARRIER") == 4
