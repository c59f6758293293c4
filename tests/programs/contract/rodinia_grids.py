"""Rodinia's hotspot, pathfinder and srad: what they compute, and what their warps do."""

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

IN_STEP: dict[str, dict[str, object]] = {"hotspot": {}, "pathfinder": {}, "srad": {}}

TILE = list(range(16))
ROWS_OF_A_WARP = [(y, x) for y in (6, 7) for x in TILE]
"""Rows and columns of warp 3 in a tile of 16 x 16."""

# -- hotspot ---------------------------------------------------------------------------------------


def heated(start: NDArray[Any], power: NDArray[Any], iterations: int) -> NDArray[Any]:
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


def hotspot(n: int, height: int, iterations: int, launches: int) -> Run:
    def results(before: Arrays) -> Arrays:
        start, power = (before[name].reshape(n, n) for name in ("temperature 0", "power"))
        expected = heated(start, power, iterations)
        change = np.abs(expected - start).max()
        assert n == 1 or change > 0.01, "the tolerance is far below what happens"
        return {f"temperature {launches % 2}": expected.ravel()}

    return Run(
        "hotspot",
        {"n": n, "height": height, "iterations": iterations},
        seed=6,
        launches=["calculate_temp"] * launches,
        arrays=dict.fromkeys(("temperature 0", "temperature 1", "power"), 4 * n * n),
        results=results,
        rel=0,
        abs=1e-3,
    )


HEAT_STEP = [compute(21), *[shared()] * 6, compute(19), shared(), BARRIER]
COPY = [shared(), shared(), BARRIER]


def hotspot_in_the_middle() -> list[Operation]:
    cells = [100 * (12 - 2 + y) + 24 - 2 + x for y, x in ROWS_OF_A_WARP]
    kept = [100 * (10 + y) + 22 + x for y in (6, 7) for x in range(2, 14)]
    loads = [load("temperature 1", cells), load("power", cells), WAIT]
    end = store("temperature 0", kept)
    return [compute(51), *loads, *COPY, compute(60), *HEAT_STEP, *COPY, *HEAT_STEP, end]


def edge_is_only_loaded(operations: list[Operation]) -> None:
    tail = [compute(21), BARRIER]
    assert operations[3:] == [WAIT, *COPY, compute(60), *HEAT_STEP, *COPY, *tail]


def corner_of_the_chip(operations: list[Operation]) -> None:
    assert operations[1] == load("temperature 0", [30 * y + x for y in (0, 1) for x in range(14)])


def end_of_the_chip(operations: list[Operation]) -> None:
    assert operations[1][2] == [30 * (22 + y) + 22 + x for y in (6, 7) for x in range(8)]


BEYOND_THE_CHIP = [
    *(compute(51), BARRIER, compute(60), compute(21), BARRIER),
    *(BARRIER, compute(21), BARRIER),
]

HOTSPOT_RUNS = [
    hotspot(24, 2, 2, 1),
    hotspot(50, 2, 5, 3),
    hotspot(1, 1, 2, 2),
    hotspot(13, 7, 9, 2),
    hotspot(70, 4, 7, 2),
]
HOTSPOT_WARPS = [
    Warp("hotspot", geometry=("calculate_temp", 43 * 43, 256, 32, 3072)),
    Warp(
        "hotspot",
        {"n": 100, "height": 2, "iterations": 4},
        launch=1,
        block=9 + 2,
        warp=3,
        operations=hotspot_in_the_middle(),
    ),
    Warp("hotspot", {"n": 100}, block=10, operations=edge_is_only_loaded),
    Warp("hotspot", {"n": 30}, warp=1, operations=corner_of_the_chip),
    Warp("hotspot", {"n": 30}, block=8, warp=3, operations=end_of_the_chip),
    Warp(
        "hotspot",
        {"n": 30},
        block=8,
        warp=4,
        geometry=("calculate_temp", 9, 256, 32, 3072),
        operations=BEYOND_THE_CHIP,
    ),
]

# -- pathfinder ------------------------------------------------------------------------------------


def pathfinder(columns: int, rows: int, height: int, launches: int) -> Run:
    def results(before: Arrays) -> Arrays:
        costs = before["result 0"].astype(int)
        for row in before["wall"].reshape(rows - 1, columns):
            wide = np.pad(costs, 1, mode="edge")
            costs = row + np.minimum(np.minimum(wide[:-2], wide[1:-1]), wide[2:])
        return {f"result {launches % 2}": costs}

    return Run(
        "pathfinder",
        {"columns": columns, "rows": rows, "height": height},
        seed=1,
        launches=["dynproc_kernel"] * launches,
        arrays={
            **{f"result {number}": 4 * columns for number in (0, 1)},
            "wall": 4 * columns * (rows - 1),
        },
        results=results,
    )


def ways_in_the_middle() -> list[Operation]:
    x = [252 - 2 + 64 + lane for lane in LANES]

    def row(number: int) -> list[Operation]:
        wall = load("wall", [1000 * number + column for column in x])
        return [
            *(compute(9), *[shared()] * 3, wall, WAIT),
            *(compute(6), shared(), BARRIER, compute(9)),
        ]

    begin = [compute(22), load("result 1", x), WAIT, shared(), BARRIER, compute(31)]
    return [*begin, *row(2), *COPY, *row(3), store("result 0", x)]


def ends_of_a_block_drop_out(operations: list[Operation]) -> None:
    first = 250 - 3
    loads = [op[2] for op in operations if op[0] == "LOAD"]
    assert loads[0] == [first + lane for lane in LANES]
    for step, wall in enumerate(loads[1:]):
        assert wall == [1000 * step + first + lane for lane in range(step + 1, 32)]
    assert operations[-1] == store("result 1", [250 + lane for lane in range(29)])


def left_of_the_grid(operations: list[Operation]) -> None:
    loads = [op[2] for op in operations if op[0] == "LOAD"]
    assert loads[0] == list(range(12)), "20 columns before the grid are left out"
    assert loads[1] == list(range(12)), "the grid's end is no end of the block"


RIGHT_OF_THE_GRID = [
    *(compute(22), BARRIER, compute(31)),
    *([compute(9), BARRIER, compute(9), BARRIER] * 20)[:-1],
]

PATHFINDER_RUNS = [
    pathfinder(1000, 21, 20, 1),
    pathfinder(432, 41, 20, 2),
    pathfinder(700, 30, 20, 2),
    pathfinder(1, 7, 3, 2),
    pathfinder(90, 50, 127, 1),
    pathfinder(1301, 33, 9, 4),
]
PATHFINDER_WARPS = [
    Warp("pathfinder", {"rows": 22}, geometry=("dynproc_kernel", 463, 256, 16, 2048)),
    Warp(
        "pathfinder",
        {"columns": 1000, "rows": 40, "height": 2},
        launch=1,
        block=1,
        warp=2,
        operations=ways_in_the_middle(),
    ),
    Warp(
        "pathfinder",
        {"columns": 1000, "rows": 40, "height": 3},
        block=1,
        operations=ends_of_a_block_drop_out,
    ),
    Warp("pathfinder", {"columns": 270, "rows": 21}, operations=left_of_the_grid),
    Warp("pathfinder", {"columns": 270, "rows": 21}, block=1, warp=3, operations=RIGHT_OF_THE_GRID),
]

# -- srad ------------------------------------------------------------------------------------------


def diffused(image: NDArray[Any], iterations: int) -> NDArray[Any]:
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


def srad(rows: int, columns: int) -> Run:
    def results(before: Arrays) -> Arrays:
        start = before["J"].reshape(rows, columns)
        expected = diffused(start, 3)
        assert expected.std() < 0.8 * start.std()
        return {"J": expected.ravel()}

    return Run(
        "srad",
        {"rows": rows, "columns": columns, "iterations": 3},
        seed=5,
        launches=["srad_cuda_1", "srad_cuda_2"] * 3,
        arrays=dict.fromkeys("JCEWSN", 4 * rows * columns),
        results=results,
        rel=1e-4,
    )


SRAD = {"rows": 64, "columns": 96}
CORNER = 96 * 16 + 32
OWN = [CORNER + 96 * y + x for y, x in ROWS_OF_A_WARP]
SOUTH = [CORNER + 96 * 16 + x for _, x in ROWS_OF_A_WARP]
EAST = [CORNER + 96 * y + 16 for y, _ in ROWS_OF_A_WARP]

DIFFERENTIATING = [
    compute(30),
    load("J", [CORNER - 96 + x for _, x in ROWS_OF_A_WARP]),
    load("J", SOUTH),
    *(WAIT, shared(), shared(), BARRIER),
    load("J", [CORNER + 96 * y - 1 for y, _ in ROWS_OF_A_WARP]),
    load("J", EAST),
    *(WAIT, shared(), shared(), BARRIER),
    *(load("J", OWN), WAIT, shared(), BARRIER),
    *([shared()] * 5),
    *(compute(145), shared(), BARRIER, shared()),
    *(store(name, OWN) for name in "CEWSN"),
]
ARRIVED = [WAIT, shared(), BARRIER]
DIFFUSING = [
    compute(30),
    *(load("J", OWN), *ARRIVED),
    *(load("C", SOUTH), *ARRIVED),
    *(load("C", EAST), *ARRIVED),
    *(load("C", OWN), *ARRIVED),
    *([shared()] * 4),
    *(load(name, OWN) for name in "NSWE"),
    *(WAIT, compute(24), shared(), BARRIER, shared(), store("J", OWN)),
]


def top_left(operations: list[Operation]) -> None:
    loads = [op[2] for op in operations if op[0] == "LOAD"]
    first_row = [x for _ in (0, 1) for x in TILE]
    south = [96 * 16 + x for _ in (0, 1) for x in TILE]
    west = [max(96 * y - 1, 0) for y in (0, 1) for _ in TILE]
    assert loads[:3] == [first_row, south, first_row]
    assert loads[3] == west, "the pixel before row 1 is the last one of row 0"
    assert loads[5] == [96 * y for y in (0, 1) for _ in TILE]
    assert len(loads) == 7


def bottom_right(operations: list[Operation]) -> None:
    loads = [op[2] for op in operations if op[0] == "LOAD"]
    corner = 96 * 48 + 80
    last_row = [corner + 96 * 15 + x for _ in (0, 1) for x in TILE]
    assert loads[1:3] == [last_row, last_row]
    beyond = [corner + 96 * y + 16 for y in (0, 1) for _ in TILE]
    assert loads[4:6] == [beyond, [index - 1 for index in beyond]]


def no_border(operations: list[Operation]) -> None:
    assert sum(op[0] == "LOAD" for op in operations) == 5


SRAD_WARPS = [
    Warp(
        "srad",
        SRAD,
        block=6 + 2,
        warp=3,
        geometry=("srad_cuda_1", 24, 256, 22, 6144),
        operations=DIFFERENTIATING,
    ),
    Warp(
        "srad",
        SRAD,
        launch=1,
        block=6 + 2,
        warp=3,
        geometry=("srad_cuda_2", 24, 256, 28, 5120),
        operations=DIFFUSING,
    ),
    Warp("srad", SRAD, operations=top_left),
    Warp("srad", SRAD, block=23, operations=bottom_right),
    Warp("srad", SRAD, block=8, operations=no_border),
]

# --------------------------------------------------------------------------------------------------

RUNS = [
    *HOTSPOT_RUNS,
    *PATHFINDER_RUNS,
    *(srad(rows, columns) for rows, columns in ((32, 32), (48, 176), (160, 32))),
]
WARPS = [*HOTSPOT_WARPS, *PATHFINDER_WARPS, *SRAD_WARPS]
REFUSED = [
    Refused("hotspot", {"height": 8}, message="height"),
    Refused("pathfinder", {"height": 128}, message="height"),
    Refused("srad", {"rows": 32, "columns": 40}, message="'columns' must be a multiple of 16: 40"),
]
