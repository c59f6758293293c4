"""The AMD APP SDK: what its program computes, and what its warps do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.programs.contract.entries import (
    BARRIER,
    LANES,
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

IN_STEP: dict[str, dict[str, object]] = {"matrix_transpose": {}}


def transpose(n: int, pitch: int | None = None) -> Run:
    wide = pitch or n

    def results(before: Arrays) -> dict[str, Any]:
        source = before["input"].view(np.float32)
        assert (source == np.arange(n * wide)).all()

        def check(found: NDArray[Any]) -> None:
            result = found.view(np.float32).reshape(n, wide)
            assert (result[:, :n] == source.reshape(n, wide)[:, :n].T).all()
            assert not result[:, n:].any()

        return {"output": check}

    return Run(
        "matrix_transpose",
        {"n": n, "pitch": pitch},
        launches=["matrixTranspose"],
        arrays=dict.fromkeys(("input", "output"), 4 * n * wide),
        results=results,
    )


def passes(vector: NDArray[np.int64]) -> int:
    """Passes counted from the words: a vector access is served 8 lanes at a time."""
    total = 0
    for eight in vector.reshape(4, 8):
        words = (4 * eight[:, None] + np.arange(4)).ravel()
        total += int(np.bincount(words % 32).max())
    return total


def two_rows_of_16_vectors() -> list[Operation]:
    """Warp 2 of block (3, 5), which is renumbered along the diagonal: tile (3, 8)."""
    x, y = np.arange(32) % 16, np.arange(32) // 16

    def place(tile_row: int, tile_column: int, r: int) -> list[int]:
        first = (64 * tile_row + 4 * (4 + y) + r) * 256
        found: list[int] = (first + 16 * tile_column + x).tolist()
        return found

    return [
        compute(89),
        *(load("input", place(3, 8, r)) for r in range(4)),
        WAIT,
        *([shared(passes(64 * y + x))] * 4),
        BARRIER,
        *([shared(passes(64 * x + y))] * 4),
        compute(40),
        *(store("output", place(8, 3, r)) for r in range(4)),
    ]


def four_lines_of_two_pages(operations: list[Operation]) -> None:
    moved = [op[2] for op in operations if op[0] in ("LOAD", "STORE")]
    assert len(moved) == 8
    for vectors in moved:
        assert len(vectors) == len(LANES)
        assert len({16 * vector // 128 for vector in vectors}) == 4
        assert len({16 * vector // 4096 for vector in vectors}) == 2, "rows of a page each"


RUNS = [*map(transpose, (64, 192, 256)), transpose(128, 256)]
WARPS = [
    Warp(
        "matrix_transpose",
        {"n": 1024},
        block=3 + 16 * 5,
        warp=2,
        geometry=("matrixTranspose", 16 * 16, 256, 24, 16384),
        operations=two_rows_of_16_vectors(),
    ),
    Warp("matrix_transpose", {"n": 1024}, block=17, operations=four_lines_of_two_pages),
]
REFUSED = [
    Refused("matrix_transpose", {"n": 128, "pitch": 64}, message="'pitch' must be >= n = 128: 64"),
    Refused("matrix_transpose", {"n": 100}, message="multiple of 64: 100"),
]
