"""lud: its factors, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.rodinia.lud import Lud, LudParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards
from tests.programs.rodinia.operations import BARRIER, WAIT, compute, shared

TILE = list(range(16))
NAMES = ["lud_diagonal", "lud_perimeter", "lud_internal"]


@pytest.mark.parametrize("n", [32, 48, 112])
def test_the_factors_multiply_to_the_matrix(n: int) -> None:
    program = Lud(LudParameters(n), 2)
    matrix = program.m.data.reshape(n, n).astype(float)
    assert drain(program) == NAMES * (n // 16 - 1) + NAMES[:1]
    factors = program.m.data.reshape(n, n).astype(float)
    lower = np.tril(factors, -1) + np.eye(n)
    assert lower @ np.triu(factors) == pytest.approx(matrix, abs=1e-5)
    assert np.abs(factors - matrix).max() > 0.1


def test_fewer_steps_leave_the_rest_of_the_matrix_reduced() -> None:
    program = Lud(LudParameters(64, steps=2), 0)
    matrix = program.m.data.reshape(64, 64).astype(float)
    assert drain(program) == NAMES * 2
    a, b, c, d = matrix[:32, :32], matrix[:32, 32:], matrix[32:, :32], matrix[32:, 32:]
    rest = program.m.data.reshape(64, 64)[32:, 32:]
    assert rest == pytest.approx(d - c @ np.linalg.solve(a, b), abs=1e-5)


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = Lud(LudParameters(64), 0), Lud(LudParameters(64), 0)
    assert run_forwards(one) == run_backwards(other)
    assert (one.m.data == other.m.data).all()


@pytest.mark.parametrize(
    ("number", "blocks", "threads", "shared", "registers"),
    [(0, 1, 16, 1024, 30), (1, 4, 32, 3072, 32), (2, 16, 256, 2048, 30), (5, 9, 256, 2048, 30)],
)
def test_launches(number: int, blocks: int, threads: int, shared: int, registers: int) -> None:
    kernel = nth_launch(Lud(LudParameters(80), 0), number)
    assert (kernel.name, kernel.blocks) == (NAMES[number % 3], blocks)
    assert (kernel.threads_per_block, kernel.shared_bytes) == (threads, shared)
    assert kernel.registers_per_thread == registers


def test_the_diagonal_tile() -> None:
    program = Lud(LudParameters(80), 0)
    operations = warp_operations(nth_launch(program, 3), program)
    corner = 16 * 80 + 16
    loads = [("LOAD", "m", [corner + 80 * r + x for x in TILE]) for r in TILE]
    assert operations[:51] == [compute(8), *loads, WAIT, *[compute(2), shared()] * 16, BARRIER]
    assert operations[51:68] == [
        shared(8),
        shared(),
        compute(8),
        shared(8),
        BARRIER,
        shared(),
        shared(),
        shared(),
        compute(4),
        shared(),
        BARRIER,
        shared(7),
        shared(7),
        shared(),
        compute(4),
        shared(7),
        shared(),
    ]
    assert operations.count(BARRIER) == 31
    stores = [("STORE", "m", [corner + 80 * r + x for x in TILE]) for r in range(1, 16)]
    assert operations[-43::3] == stores, "row 0 does not change"


def test_a_warp_of_the_perimeter_has_two_halves() -> None:
    program = Lud(LudParameters(80), 0)
    operations = warp_operations(nth_launch(program, 1), program, block=2)
    memory = [op[2] for op in operations if op[0] in ("LOAD", "STORE")]
    assert memory == [
        *[[80 * r + x for x in TILE] for r in range(8)],
        *[[80 * r + 48 + x for x in TILE] for r in TILE],
        *[[80 * r + x for x in TILE] for r in range(8, 16)],
        *[[80 * (48 + r) + x for x in TILE] for r in TILE],
        *[[80 * r + 48 + x for x in TILE] for r in range(1, 16)],
        *[[80 * (48 + r) + x for x in TILE] for r in TILE],
    ]
    assert operations.count(BARRIER) == 2
    assert [op[0] for op in operations[:11]] == ["COMPUTE", *["LOAD"] * 8, "WAIT", "COMPUTE"]


def test_the_internal_tiles() -> None:
    program = Lud(LudParameters(80), 0)
    operations = warp_operations(nth_launch(program, 2), program, block=6, warp=3)
    rows = [(y, x) for y in (6, 7) for x in TILE]
    own = [(32 + y) * 80 + 48 + x for y, x in rows]
    assert operations == [
        compute(38),
        ("LOAD", "m", [y * 80 + 48 + x for y, x in rows]),
        ("LOAD", "m", [(32 + y) * 80 + x for y, x in rows]),
        WAIT,
        shared(),
        shared(),
        BARRIER,
        *[shared(), shared(), compute(1)] * 16,
        ("LOAD", "m", own),
        WAIT,
        compute(1),
        ("STORE", "m", own),
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n": 40}, "'n' must be a multiple of 16: 40"),
        ({"n": 64, "steps": 5}, "'steps' must be from 1 to n / 16 = 4: 5"),
        ({"n": 64, "steps": 0}, "'steps' must be from 1 to n / 16 = 4: 0"),
    ],
)
def test_wrong_sizes_are_refused(values: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LudParameters(**values)
