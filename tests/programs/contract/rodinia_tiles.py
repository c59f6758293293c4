"""Rodinia's nw and lud: what they compute, and what their warps do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.programs.contract.entries import (
    BARRIER,
    WAIT,
    Arrays,
    Operation,
    Refused,
    Run,
    Warp,
    compute,
    load,
    shared,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {"lud": {}, "nw": {}}

TILE = list(range(16))
ROWS_OF_A_WARP = [(y, x) for y in (6, 7) for x in TILE]
"""Rows and columns of warp 3 in a tile of 16 x 16."""

# -- nw --------------------------------------------------------------------------------------------


def aligned(reference: NDArray[Any], penalty: int) -> NDArray[Any]:
    """Needleman and Wunsch's recurrence, cell by cell."""
    size = len(reference)
    best = np.zeros((size, size), dtype=int)
    best[0] = best[:, 0] = -penalty * np.arange(size)
    for i in range(1, size):
        for j in range(1, size):
            diagonal = best[i - 1, j - 1] + reference[i, j]
            best[i, j] = max(diagonal, best[i - 1, j] - penalty, best[i, j - 1] - penalty)
    return best


def nw(n: int, penalty: int = 10, tile: int = 16, pitch: int | None = None) -> Run:
    wide = pitch or n + 1

    def results(before: Arrays) -> dict[str, Any]:
        reference = before["reference"].reshape(n + 1, wide)
        assert set(reference[1:, 1 : n + 1].ravel().tolist()) == {5, -2}
        expected = np.zeros((n + 1, wide), dtype=int)
        expected[:, : n + 1] = aligned(reference[:, : n + 1], penalty)
        return {"scores": expected.ravel()}

    width = n // tile
    return Run(
        "nw",
        {"n": n, "penalty": penalty, "tile": tile, "pitch": pitch},
        seed=4,
        launches=["needle_cuda_shared_1"] * width + ["needle_cuda_shared_2"] * (width - 1),
        arrays=dict.fromkeys(("reference", "scores"), 4 * (n + 1) * wide),
        results=results,
    )


def tiles_on_diagonals() -> Iterator[Warp]:
    for number, block, row, column in (
        *((0, 0, 0, 0), (2, 0, 2, 0), (2, 2, 0, 2)),
        *((4, 0, 3, 1), (4, 2, 1, 3), (6, 0, 3, 3)),
    ):
        yield tile_of_64(number, block, row, column)


def tile_of_64(number: int, block: int, row: int, column: int, **parameters: int) -> Warp:
    """A tile of a matrix of 4 x 4 tiles, by its row and column."""
    corner = 65 * (16 * row + 1) + 16 * column + 1

    def check(operations: list[Operation]) -> None:
        stores = [op for op in operations if op[0] == "STORE"]
        assert stores == [store("scores", [corner + 65 * r + x for x in TILE]) for r in TILE]

    tiles = row + column + 1 if row + column < 4 else 7 - row - column
    kernel = f"needle_cuda_shared_{1 if row + column < 4 else 2}"
    return Warp(
        "nw",
        {"n": 64, **parameters},
        launch=number,
        block=block,
        geometry=(kernel, tiles, 16, 32, 2180),
        operations=check,
    )


def longest_diagonals() -> Iterator[Warp]:
    """The first and the last launch, where only the longest diagonals are aligned."""
    for diagonals, tiles in (
        (1, [4]),
        (2, [3, 4]),
        (3, [3, 4, 3]),
        (6, [1, 2, 3, 4, 3, 2]),
        (7, [1, 2, 3, 4, 3, 2, 1]),
    ):
        left = 4 - tiles[-1] if len(tiles) > tiles.index(4) + 1 else 0
        yield tile_of_64(0, 0, tiles[0] - 1, 0, diagonals=diagonals)
        yield tile_of_64(len(tiles) - 1, 0, 3, left, diagonals=diagonals)


def corner_first(operations: list[Operation]) -> None:
    rows = [load("reference", [2049 * (r + 1) + 1 + x for x in TILE]) for r in TILE]
    assert operations[:17] == [compute(67), *rows]
    column, row = [2049 * (x + 1) for x in TILE], [x + 1 for x in TILE]
    assert operations[17:44] == [
        *(load("scores", [0]), WAIT, *[shared()] * 17, BARRIER),
        *(load("scores", column), WAIT, shared(), BARRIER),
        *(load("scores", row), WAIT, shared()),
    ]
    assert len({place * 4 // 4096 for place in operations[37][2]}) == 16, "a page for each lane"
    assert operations[44] == BARRIER
    assert len(operations) == 45 + 31 * 7 + 16 * 3


def corner_with_the_column(operations: list[Operation]) -> None:
    assert operations[17:35] == [WAIT, *[shared()] * 16, BARRIER]
    corner = 16 * 33 + 16
    assert operations[35:37] == [
        load("scores", [corner]),
        load("scores", [corner + 33 * (x + 1) for x in TILE]),
    ]


def conflicts_in_two_banks(operations: list[Operation]) -> None:
    for step in range(31):
        own = shared(-(-(16 - abs(15 - step)) // 2))
        expected = [own, shared(), own, own, compute(6), own, BARRIER]
        assert operations[45 + 7 * step :][:7] == expected


NW_RUNS = [nw(16, 3), nw(32), nw(80, 1), nw(48), nw(128, tile=64, pitch=200)]
NW_WARPS = [
    *tiles_on_diagonals(),
    *longest_diagonals(),
    Warp("nw", {"n": 2048}, operations=corner_first),
    Warp("nw", {"n": 32}, launch=2, operations=corner_with_the_column),
    Warp("nw", {"n": 16}, operations=conflicts_in_two_banks),
    Warp(
        "nw",
        {"n": 128, "tile": 64, "pitch": 200},
        launch=1,
        geometry=("needle_cuda_shared_1", 2, 64, 32, 33284),
    ),
]

# -- lud -------------------------------------------------------------------------------------------

LUD = ["lud_diagonal", "lud_perimeter", "lud_internal"]


def lud(n: int, steps: int | None = None) -> Run:
    def factors(before: Arrays) -> dict[str, Any]:
        matrix = before["m"].reshape(n, n).astype(float)

        def check(found: NDArray[Any]) -> None:
            made = found.reshape(n, n).astype(float)
            lower = np.tril(made, -1) + np.eye(n)
            np.testing.assert_allclose(lower @ np.triu(made), matrix, atol=1e-5)
            assert np.abs(made - matrix).max() > 0.1

        return {"m": check}

    def reduced(before: Arrays) -> dict[str, Any]:
        matrix = before["m"].reshape(n, n).astype(float)
        assert steps is not None
        done = 16 * steps
        a, b, c, d = matrix[:done, :done], matrix[:done, done:], matrix[done:], matrix[done:, done:]

        def check(found: NDArray[Any]) -> None:
            rest = d - c[:, :done] @ np.linalg.solve(a, b)
            np.testing.assert_allclose(found.reshape(n, n)[done:, done:], rest, atol=1e-5)

        return {"m": check}

    return Run(
        "lud",
        {"n": n, "steps": steps},
        seed=2,
        launches=LUD * steps if steps else LUD * (n // 16 - 1) + LUD[:1],
        arrays={"m": 4 * n * n},
        results=reduced if steps else factors,
    )


def diagonal_tile(operations: list[Operation]) -> None:
    corner = 16 * 80 + 16
    loads = [load("m", [corner + 80 * r + x for x in TILE]) for r in TILE]
    assert operations[:51] == [compute(8), *loads, WAIT, *[compute(2), shared()] * 16, BARRIER]
    assert operations[51:68] == [
        *(shared(8), shared(), compute(8), shared(8), BARRIER),
        *(shared(), shared(), shared(), compute(4), shared(), BARRIER),
        *(shared(7), shared(7), shared(), compute(4), shared(7), shared()),
    ]
    assert operations.count(BARRIER) == 31
    stores = [store("m", [corner + 80 * r + x for x in TILE]) for r in range(1, 16)]
    assert operations[-43::3] == stores, "row 0 does not change"


def two_halves(operations: list[Operation]) -> None:
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


INNER = [(32 + y) * 80 + 48 + x for y, x in ROWS_OF_A_WARP]
INTERNAL = [
    compute(38),
    load("m", [y * 80 + 48 + x for y, x in ROWS_OF_A_WARP]),
    load("m", [(32 + y) * 80 + x for y, x in ROWS_OF_A_WARP]),
    *(WAIT, shared(), shared(), BARRIER),
    *([shared(), shared(), compute(1)] * 16),
    *(load("m", INNER), WAIT, compute(1), store("m", INNER)),
]

LUD_WARPS = [
    Warp("lud", {"n": 80}, geometry=("lud_diagonal", 1, 16, 30, 1024)),
    Warp("lud", {"n": 80}, launch=3, operations=diagonal_tile),
    Warp(
        "lud",
        {"n": 80},
        launch=1,
        block=2,
        geometry=("lud_perimeter", 4, 32, 32, 3072),
        operations=two_halves,
    ),
    Warp(
        "lud",
        {"n": 80},
        launch=2,
        block=6,
        warp=3,
        geometry=("lud_internal", 16, 256, 30, 2048),
        operations=INTERNAL,
    ),
    Warp("lud", {"n": 80}, launch=5, geometry=("lud_internal", 9, 256, 30, 2048)),
]

# --------------------------------------------------------------------------------------------------

RUNS = [*NW_RUNS, *(lud(n) for n in (32, 48, 112)), lud(64, steps=2)]
WARPS = [*NW_WARPS, *LUD_WARPS]
REFUSED = [
    *(Refused("nw", {"n": 64, "diagonals": number}, message="from 1 to 7") for number in (0, 8)),
    Refused("nw", {"n": 40}, message="'n' must be a multiple of tile = 16: 40"),
    Refused("nw", {"n": 48, "pitch": 48}, message=r"must be from 49 \(n = 48\) to 32769: 48"),
    Refused("lud", {"n": 40}, message="'n' must be a multiple of 16: 40"),
    *(
        Refused(
            "lud",
            {"n": 64, "steps": steps},
            message=rf"'steps' must be from 1 to 4 \(n = 64\): {steps}",
        )
        for steps in (5, 0)
    ),
]
