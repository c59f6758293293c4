"""srad: its image, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.rodinia.srad import Srad, SradParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards
from tests.programs.rodinia.operations import BARRIER, WAIT, compute, shared


def diffused(image: np.ndarray, iterations: int) -> np.ndarray:
    """The whole image at once, in double precision."""
    image = image.astype(float)
    for _ in range(iterations):
        corner = image[:128, :128]
        noise = corner.var() / corner.mean() ** 2
        wide = np.pad(image, 1, mode="edge")
        north, south = wide[:-2, 1:-1] - image, wide[2:, 1:-1] - image
        west, east = wide[1:-1, :-2] - image, wide[1:-1, 2:] - image
        gradient = (north**2 + south**2 + west**2 + east**2) / image**2
        laplacian = (north + south + west + east) / image
        variation = (gradient / 2 - laplacian**2 / 16) / (1 + laplacian / 4) ** 2
        c = np.clip(1 / (1 + (variation - noise) / (noise * (1 + noise))), 0, 1)
        below = np.pad(c, ((0, 1), (0, 0)), mode="edge")[1:]
        right = np.pad(c, ((0, 0), (0, 1)), mode="edge")[:, 1:]
        image = image + 0.125 * (c * north + below * south + c * west + right * east)
    return image


@pytest.mark.parametrize(("rows", "columns"), [(32, 32), (48, 176), (160, 32)])
def test_the_image(rows: int, columns: int) -> None:
    program = Srad(SradParameters(rows, columns, 3), 5)
    start = program.image.data.reshape(rows, columns).copy()
    assert drain(program) == ["srad_cuda_1", "srad_cuda_2"] * 3
    image = program.image.data.reshape(rows, columns)
    assert image == pytest.approx(diffused(start, 3), rel=1e-4)
    assert image.std() < 0.8 * start.std()


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = Srad(SradParameters(48, 64), 0), Srad(SradParameters(48, 64), 0)
    assert run_forwards(one) == run_backwards(other)
    assert (one.image.data == other.image.data).all()


@pytest.mark.parametrize(
    ("number", "registers", "shared"), [(0, 22, 6144), (1, 28, 5120)], ids=["srad1", "srad2"]
)
def test_launches(number: int, registers: int, shared: int) -> None:
    kernel = nth_launch(Srad(SradParameters(64, 96), 0), number)
    assert (kernel.blocks, kernel.threads_per_block) == (24, 256)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (registers, shared)


def test_a_warp_of_the_first_kernel() -> None:
    program = Srad(SradParameters(64, 96), 0)
    kernel = nth_launch(program, 0)
    operations = warp_operations(kernel, program, block=6 + 2, warp=3)
    corner = 96 * 16 + 32
    rows, columns = (6, 7), range(16)
    own = [corner + 96 * y + x for y in rows for x in columns]
    assert operations == [
        compute(30),
        ("LOAD", "J", [corner - 96 + x for _ in rows for x in columns]),
        ("LOAD", "J", [corner + 96 * 16 + x for _ in rows for x in columns]),
        WAIT,
        shared(),
        shared(),
        BARRIER,
        ("LOAD", "J", [corner + 96 * y - 1 for y in rows for _ in columns]),
        ("LOAD", "J", [corner + 96 * y + 16 for y in rows for _ in columns]),
        WAIT,
        shared(),
        shared(),
        BARRIER,
        ("LOAD", "J", own),
        WAIT,
        shared(),
        BARRIER,
        *[shared()] * 5,
        compute(145),
        shared(),
        BARRIER,
        shared(),
        *[("STORE", name, own) for name in "CEWSN"],
    ]


def test_a_warp_of_the_second_kernel() -> None:
    program = Srad(SradParameters(64, 96), 0)
    kernel = nth_launch(program, 1)
    operations = warp_operations(kernel, program, block=6 + 2, warp=3)
    corner = 96 * 16 + 32
    rows, columns = (6, 7), range(16)
    own = [corner + 96 * y + x for y in rows for x in columns]
    arrived = [WAIT, shared(), BARRIER]
    assert operations == [
        compute(30),
        ("LOAD", "J", own),
        *arrived,
        ("LOAD", "C", [corner + 96 * 16 + x for _ in rows for x in columns]),
        *arrived,
        ("LOAD", "C", [corner + 96 * y + 16 for y in rows for _ in columns]),
        *arrived,
        ("LOAD", "C", own),
        *arrived,
        *[shared()] * 4,
        *[("LOAD", name, own) for name in "NSWE"],
        WAIT,
        compute(24),
        shared(),
        BARRIER,
        shared(),
        ("STORE", "J", own),
    ]


def test_tiles_at_the_border_load_its_pixels_once_more() -> None:
    program = Srad(SradParameters(64, 96), 0)
    kernel = nth_launch(program, 0)

    def loads(block: int) -> list[list[int]]:
        operations = warp_operations(kernel, program, block)
        return [lanes for op, _, lanes in operations if op == "LOAD"]

    columns = range(16)
    first_row = [x for _ in (0, 1) for x in columns]
    first_column = [96 * y for y in (0, 1) for _ in columns]
    south = [96 * 16 + x for _ in (0, 1) for x in columns]
    west = [max(96 * y - 1, 0) for y in (0, 1) for _ in columns]
    top_left = loads(0)
    assert top_left[:3] == [first_row, south, first_row]
    assert top_left[3] == west, "the pixel before row 1 is the last one of row 0"
    assert top_left[5] == first_column
    assert len(top_left) == 7
    bottom_right = loads(23)
    corner = 96 * 48 + 80
    last_row = [corner + 96 * 15 + x for _ in (0, 1) for x in columns]
    assert bottom_right[1:3] == [last_row, last_row]
    beyond = [corner + 96 * y + 16 for y in (0, 1) for _ in columns]
    assert bottom_right[4:6] == [beyond, [index - 1 for index in beyond]]
    assert len(loads(8)) == 5


def test_arrays_and_sizes() -> None:
    program = Srad(SradParameters(32, 48), 0)
    assert [(b.name, b.bytes) for b in program.buffers] == [(name, 6144) for name in "JCEWSN"]
    with pytest.raises(ValueError, match="'columns' must be a multiple of 16: 40"):
        SradParameters(32, 40)
