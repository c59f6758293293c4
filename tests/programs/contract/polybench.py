"""PolyBench/GPU: what its programs compute, and what their warps do."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage

from gpusim.programs.polybench.conv2d import WEIGHTS
from gpusim.programs.polybench.gemm import ALPHA, BETA
from tests.programs.contract.entries import (
    LANES,
    WAIT,
    Arrays,
    Operation,
    Refused,
    Run,
    Warp,
    compute,
    load,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {"2dconv": {"n": 70}, "3dconv": {}, "atax": {}, "gemm": {}}

# -- 2dconv ----------------------------------------------------------------------------------------


def convolved(before: Arrays) -> Arrays:
    n = round(before["A"].size ** 0.5)
    expected = scipy.ndimage.correlate(before["A"].reshape(n, n).astype(float), np.array(WEIGHTS))
    inner = np.pad(expected[1:-1, 1:-1], 1)
    return {"B": inner.ravel()}


def nine_loads(operations: list[Operation]) -> None:
    n = 4096
    mine = [8 * n + 32 + lane for lane in LANES]  # block (1, 1), its first row
    loads = [load("A", [p + di * n + dj for p in mine]) for di in (-1, 0, 1) for dj in (-1, 0, 1)]
    assert operations == [compute(26), *loads, WAIT, compute(9), store("B", mine)]
    assert [len({place * 4 // 128 for place in one[2]}) for one in loads] == [2, 1, 2] * 3
    pages = {place * 4 // 4096 for one in loads for place in one[2]}
    assert len(pages) == 3, "rows of 16 KiB"


def left_border(operations: list[Operation]) -> None:
    assert operations[-1] == store("B", [64 + lane for lane in range(1, 32)])


# -- 3dconv ----------------------------------------------------------------------------------------

SUITE = [
    (2, -1, -1, -1),
    (4, 1, -1, -1),
    (5, -1, -1, -1),
    (7, 1, -1, -1),
    (-8, -1, -1, -1),
    (10, 1, -1, -1),
    (-3, 0, -1, 0),
    (6, 0, 0, 0),
    (-9, 0, 1, 0),
    (2, -1, -1, 1),
    (4, 1, -1, 1),
    (5, -1, 0, 1),
    (7, 1, 0, 1),
    (-8, -1, 1, 1),
    (10, 1, 1, 1),
]
"""The suite's 15 terms of 3dconv: factor, plane, row, column."""


def convolved_planes(n: int, planes: int | None) -> Run:
    used = planes or n - 2

    def results(before: Arrays) -> Arrays:
        source = before["A"].reshape(n, n, n).astype(float)
        assert source[min(13, n - 1), 1, 2] == min(13, n - 1) % 12 + 2 + 6
        terms = [factor * np.roll(source, (-i, -j, -k), (0, 1, 2)) for factor, i, j, k in SUITE]
        inner = (slice(1, used + 1), slice(1, -1), slice(1, -1))
        expected = np.zeros_like(source)
        expected[inner] = sum(terms)[inner]
        return {"B": expected.ravel()}

    return Run(
        "3dconv",
        {"n": n, "planes": planes},
        launches=["convolution3D_kernel"] * used,
        arrays=["A", "B"],
        results=results,
    )


def eleven_loads(operations: list[Operation]) -> None:
    n, row, column = 256, 8 * 2 + 3, 32
    offsets = []
    for op, array, places in operations[1:12]:
        assert (op, array) == ("LOAD", "A")
        assert [place - places[0] for place in places] == LANES
        i, rest = divmod(places[0] + 1, n * n)  # + 1 so that no offset is negative
        j, k = divmod(rest, n)
        offsets.append((i - 3, j - row, k - 1 - column))
    outside = [(i, j, k) for j, k in ((-1, -1), (-1, 1), (0, 1), (1, 1)) for i in (-1, 1)]
    assert offsets == [*outside[:2], (0, -1, 0), (0, 0, 0), (0, 1, 0), *outside[2:]]
    assert operations[0] == compute(36)
    mine = [3 * n * n + row * n + column + lane for lane in LANES]
    assert operations[12:] == [WAIT, compute(16), store("B", mine)]


# -- gemm ------------------------------------------------------------------------------------------


def product(n: int, iterations: int | None = None) -> Run:
    def results(before: Arrays) -> Arrays:
        a, b, c = (before[name].reshape(n, n).astype(float) for name in "abc")
        i = np.arange(n)
        assert np.allclose(b, (i[:, None] * i + 1) / n)
        used = iterations or n
        return {"c": (ALPHA * a[:, :used] @ b[:used] + BETA * c).ravel()}

    return Run(
        "gemm",
        {"n": n, "iterations": iterations},
        launches=["gemm_kernel"],
        arrays=["a", "b", "c"],
        results=results,
    )


def a_is_shared_and_b_is_a_row() -> list[Operation]:
    row, column = 8 * 3 + 5, 32 * 2
    mine = [512 * row + column + lane for lane in LANES]
    steps = [
        (
            load("a", [512 * row + m] * 32),
            load("b", [512 * m + column + lane for lane in LANES]),
            WAIT,
            compute(2),
            store("c", mine),
        )
        for m in (0, 1)
    ]
    start = [compute(8), load("c", mine), WAIT, compute(1), store("c", mine)]
    return [*start, *steps[0], *steps[1]]


def unrolled_eight_times(operations: list[Operation]) -> None:
    computed = [op[1] for op in operations if op[0] == "COMPUTE"]
    assert computed == [8, 1, *[2] * 8, 5, *[2] * 8, 5, 2]


def four_threads_at_the_edge(operations: list[Operation]) -> None:
    assert operations[1] == load("c", [36 * 35 + 32 + lane for lane in range(4)])


# -- atax, bicg, mvt -------------------------------------------------------------------------------

SIZES: list[dict[str, Any]] = [
    {"n": 256},
    {"n": 300, "iterations": 70},
    {"n": 5},
    {"n": 40, "rows": 300},
    {"n": 280, "rows": 90, "iterations": 33},
]
SUMS = {
    "atax": ("A", ["A", "x", "y", "tmp"]),
    "bicg": ("A", ["A", "r", "s", "p", "q"]),
    "mvt": ("a", ["a", "x1", "x2", "y1", "y2"]),
}
"""Name of the matrix, and all arrays in the order of the suite."""


def sums(program: str, size: dict[str, Any]) -> Run:
    n, rows = size["n"], size.get("rows", size["n"])
    across, down = size.get("iterations", n), size.get("iterations", rows)
    matrix, arrays = SUMS[program]

    def results(before: Arrays) -> Arrays:
        full = before[matrix].reshape(rows, n).astype(float)
        i, j = np.arange(rows), np.arange(n)
        assert np.allclose(full[:, :across], i[:, None] * j[:across] / n)
        assert np.allclose(full[:down], i[:down, None] * j / n)
        assert (full[down:, across:] == 0).all()
        a, at = full[:, :across], full[:down].T
        v = {name: values.astype(float) for name, values in before.items()}
        if program == "atax":
            tmp = a @ v["x"][:across]
            return {"tmp": tmp, "y": at @ tmp[:down]}
        if program == "bicg":
            return {"s": at @ v["r"][:down], "q": a @ v["p"][:across]}
        return {"x1": v["x1"] + a @ v["y1"][:across], "x2": v["x2"] + at @ v["y2"][:down]}

    return Run(
        program,
        size,
        launches=[f"{program}_kernel1", f"{program}_kernel2"],
        arrays=arrays,
        results=results,
        rel=1e-4,
    )


def strided(operations: list[Operation]) -> None:
    """A thread a row: each lane touches a page of its own, neighbouring words in each iteration."""
    loads = [one[2] for one in operations if one[1] == "A"]
    assert len(loads) == 3
    for elements in loads:
        assert (np.diff(elements) * 4 == 16384).all()
        assert len({4 * element // 4096 for element in elements}) == 32
    assert (np.diff(loads, axis=0) == 1).all()
    assert loads[0][0] == 5 * 256 * 4096


def strided_in_order() -> list[Operation]:
    rows = [64 * lane for lane in LANES]

    def step(j: int) -> list[Operation]:
        loads = [load("A", [row + j for row in rows]), load("x", [j] * 32)]
        return [*loads, WAIT, compute(1), store("tmp", LANES)]

    return [compute(12), load("tmp", LANES), compute(7), *step(0), *step(1)]


MATRIX_VECTOR = [
    ("atax", 0, load, "A", "x", "tmp", 16, True),
    ("atax", 1, load, "A", "tmp", "y", 20, False),
    ("bicg", 0, store, "A", "r", "s", 20, False),
    ("bicg", 1, store, "A", "p", "q", 16, True),
    ("mvt", 0, load, "a", "y1", "x1", 16, True),
    ("mvt", 1, load, "a", "y2", "x2", 20, False),
]
"""Program, launch, first operation, matrix, vector, result, registers, a thread is a row."""


def matrix_vector(row: tuple[Any, ...]) -> Warp:
    program, number, first, matrix, vector, result, registers, of_rows = row
    threads = [256 + 64 + lane for lane in LANES]
    unrolled, ready = (16, 7) if of_rows else (8, 5)
    step, loop = (512, 1) if of_rows else (1, 512)

    def check(operations: list[Operation]) -> None:
        assert operations[1:3] == [first(result, threads), compute(ready)]
        assert len(operations) == 3 + 512 * 5 + 512 // unrolled
        assert operations[3 + 5 * unrolled] == operations[-1] == compute(5), "of the loop"
        for j in (0, 1, 511):
            place = 3 + 5 * j + j // unrolled
            body = operations[place : place + 5]
            assert body[0] == load(matrix, [thread * step + j * loop for thread in threads])
            assert body[1] == load(vector, [j] * 32)
            assert [op for op, _, _ in body[2:4]] == ["WAIT", "COMPUTE"]
            assert body[4] == store(result, threads)
            assert len({(4 * index) // 128 for index in body[0][2]}) == (32 if of_rows else 1)

    return Warp(
        program,
        {"n": 512},
        launch=number,
        block=1,
        warp=2,
        geometry=(f"{program}_kernel{number + 1}", 2, 256, registers, 0),
        operations=check,
    )


def eight_threads(operations: list[Operation]) -> None:
    assert operations[1] == store("s", list(range(32, 40)))


RUNS = [
    *(
        Run(
            "2dconv",
            {"n": n},
            seed=5,
            launches=["Convolution2D_kernel"],
            arrays=["A", "B"],
            results=convolved,
            rel=1e-4,
            abs=1e-5,
        )
        for n in (64, 45, 3)
    ),
    convolved_planes(16, None),
    convolved_planes(34, 3),
    convolved_planes(3, None),
    product(64),
    product(45),
    product(40, 7),
    *(sums(program, size) for program in SUMS for size in SIZES),
]

WARPS = [
    Warp(
        "2dconv",
        {"n": 4096},
        block=1 + 128,
        geometry=("Convolution2D_kernel", 128 * 512, 256, 24, 0),
        operations=nine_loads,
    ),
    Warp("2dconv", {"n": 64}, operations=[]),  # row 0
    Warp("2dconv", {"n": 64}, warp=1, operations=left_border),
    Warp(
        "3dconv",
        {"n": 256, "planes": 3},
        launch=2,
        block=1 + 8 * 2,
        warp=3,
        geometry=("convolution3D_kernel", 8 * 32, 256, 26, 0),
        operations=eleven_loads,
    ),
    Warp(
        "gemm",
        {"n": 512, "iterations": 2},
        block=2 + 16 * 3,
        warp=5,
        geometry=("gemm_kernel", 16 * 64, 256, 24, 0),
        operations=a_is_shared_and_b_is_a_row(),
    ),
    Warp("gemm", {"n": 64, "iterations": 17}, operations=unrolled_eight_times),
    Warp(
        "gemm",
        {"n": 36, "iterations": 1},
        block=9,
        warp=4,
        geometry=("gemm_kernel", 10, 256, 24, 0),
        operations=[],
    ),
    Warp("gemm", {"n": 36, "iterations": 1}, block=9, warp=3, operations=four_threads_at_the_edge),
    Warp(
        "atax",
        {"n": 4096, "iterations": 3},
        block=5,
        warp=0,
        geometry=("atax_kernel1", 16, 256, 16, 0),
        operations=strided,
    ),
    Warp("atax", {"n": 64, "iterations": 2}, operations=strided_in_order()),
    *map(matrix_vector, MATRIX_VECTOR),
    Warp("bicg", {"n": 40}, warp=2, operations=[]),
    Warp("bicg", {"n": 40}, warp=1, operations=eight_threads),
]

REFUSED = [
    Refused("3dconv", {"n": 8, "planes": 7}, message=r"from 1 to 6 \(n = 8\): 7"),
    Refused("gemm", {"n": 64, "iterations": 65}, message="from 1 to n = 64: 65"),
]
