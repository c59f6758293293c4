"""Pannotia's fw and fw_block: what they compute, and what their warps do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from gpusim.programs.graphs.generators import Grid
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.graphs.uniform_random import UniformRandom
from gpusim.programs.pannotia.rows import FAR
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

IN_STEP: dict[str, dict[str, object]] = {"fw": {}, "fw_block": {}}


UNIFORM = UniformRandom(64, 400).generate(3)
GRID = Grid(8, 4).generate(0)
DOUBLE = graph_from_arcs(
    "double", 16, np.array([1, 1, 2]), np.array([3, 3, 2]), np.array([9, 4, 7])
)


def fw(graph: Graph, iterations: int | None = None) -> Run:
    """All paths that avoid vertex 0."""
    n = graph.vertices
    last = min(iterations or n, n - 1)

    def results(before: Arrays) -> dict[str, Any]:
        expected = before["dist"].reshape(n, n)
        if graph is DOUBLE:  # of double arcs the last counts, and loops are free
            assert (expected[1, 3], expected[2, 2], expected[3, 1]) == (4, 0, FAR)
        for m in range(1, 1 + last):
            expected = np.minimum(expected, expected[:, m, None] + expected[m])

        def check(found: NDArray[Any]) -> None:
            middle = found.reshape(n, n)
            i, j = np.nonzero(middle)
            assert i.size or graph is DOUBLE
            through = expected[i, middle[i, j]] + expected[middle[i, j], j]
            assert iterations or (expected[i, j] == through).all()

        return {"dist": expected.ravel(), "next": check}

    return Run(
        "fw",
        {"iterations": iterations},
        graph=graph,
        launches=["floydwarshall"] * last,
        arrays=["dist", "next"],
        results=results,
    )


TILES = ("dia_block", "strip_blocks_x", "strip_blocks_y", "remaining_blocks")


def fw_block(graph: Graph) -> Run:
    n = graph.vertices

    def results(before: Arrays) -> dict[str, Any]:
        matrix = before["dist"].reshape(n, n)
        made = nx.DiGraph()
        made.add_nodes_from(range(n))
        known = np.argwhere(matrix < FAR).tolist()
        made.add_weighted_edges_from((i, j, int(matrix[i, j])) for i, j in known)
        expected = nx.floyd_warshall_numpy(made, nodelist=range(n))
        return {"dist": np.where(np.isinf(expected), FAR, expected).ravel()}

    return Run(
        "fw_block",
        graph=graph,
        launches=[f"floydwarshall_{tile}" for tile in TILES] * (n // 16),
        arrays=["dist"],
        results=results,
    )


def two_steps(before: Arrays) -> dict[str, Any]:
    def check(found: NDArray[Any]) -> None:
        assert (found <= before["dist"]).all()
        assert (found < before["dist"]).any()

    return {"dist": check}


def down_the_columns(operations: list[Operation]) -> None:
    rows = [48 + lane % 16 for lane in LANES]
    columns = [80 + 2 + lane // 16 for lane in LANES]
    places = [512 * i + j for i, j in zip(rows, columns, strict=True)]
    assert operations[:6] == [
        compute(28),
        load("dist", [512 * i + 3 for i in rows]),
        load("dist", [512 * 3 + j for j in columns]),
        load("dist", places),
        WAIT,
        compute(3),
    ]
    loads = operations[1:4]
    assert [len({place // 8 for place in op[2]}) for op in loads] == [16, 1, 16], "sectors"
    assert [len({place // 1024 for place in op[2]}) for op in loads] == [8, 1, 8], "pages"
    assert operations[6] == compute(3)
    first, second = operations[7:]
    assert (first[:2], second[:2]) == (("STORE", "dist"), ("STORE", "next"))
    assert first[2] == second[2]
    assert set(first[2]) < set(places)


def tile_by_tile(operations: list[Operation]) -> None:
    def tile(row: int, column: int) -> list[int]:
        return [64 * (16 * row + 10 + lane // 16) + 16 * column + lane % 16 for lane in LANES]

    def fetch(row: int, column: int) -> list[Operation]:
        return [compute(9), load("dist", tile(row, column)), WAIT, shared(), BARRIER]

    assert operations[0] == compute(17)
    assert operations[1:16] == [*fetch(3, 1), *fetch(1, 2), *fetch(3, 2)]
    assert operations[-2:] == [shared(), store("dist", tile(3, 2))]
    steps = operations[16:-2]
    assert sum(op[0] == "BARRIER" for op in steps) == 16
    assert steps[:4] == [shared()] * 3 + [compute(3)]
    assert 16 * 5 < len(steps) < 16 * 6, "only shorter paths are written"


def tiles_that_are_loaded(*tiles: tuple[int, int]) -> Any:
    def check(operations: list[Operation]) -> None:
        loads = [op[2][0] for op in operations if op[0] == "LOAD"]
        assert loads == [64 * 16 * row + 16 * column for row, column in tiles]

    return check


def tile_warps() -> Iterator[Warp]:
    own = {"program": "fw_block", "graph": UNIFORM, "parameters": {"steps": 1}}
    for number, (blocks, registers, block, tiles) in enumerate(
        (
            (1, 14, 0, [(0, 0)]),
            (4, 16, 3, [(0, 0), (0, 3)]),
            (4, 16, 3, [(0, 0), (3, 0)]),
            (16, 18, 7, [(1, 0), (0, 3), (1, 3)]),
        )
    ):
        memory = (1024, 2048, 2048, 3072)[number]
        yield Warp(
            **own,
            launch=number,
            block=block,
            geometry=(f"floydwarshall_{TILES[number]}", blocks, 256, registers, memory),
            operations=tiles_that_are_loaded(*tiles),
        )


WARPS = [
    Warp(
        "fw",
        {"iterations": 3},
        graph=UniformRandom(512, 65536).generate(0),
        launch=2,
        block=3 + 32 * 5,
        warp=1,
        geometry=("floydwarshall", 1024, 256, 12, 0),
        operations=down_the_columns,
    ),
    Warp(
        "fw_block",
        graph=UNIFORM,
        launch=7,
        block=2 + 4 * 3,
        warp=5,
        geometry=("floydwarshall_remaining_blocks", 16, 256, 18, 3072),
        operations=tile_by_tile,
    ),
    Warp(  # the middle vertices' own tiles are done
        program="fw_block",
        graph=UNIFORM,
        launch=7,
        block=1 + 4 * 3,
        warp=5,
        operations=[compute(17)],
    ),
    *tile_warps(),
]

REFUSED = [
    Refused(
        "fw", graph=Grid(5, 6).generate(0), message="has 30 vertices; must be a multiple of 16"
    ),
    Refused(
        "fw_block",
        graph=graph_from_arcs("bad", 16, np.array([0]), np.array([1]), np.array([1.5])),
        message=r"whole numbers from 0 to 999998: 1\.5",
    ),
]

RUNS = [
    fw(UNIFORM),
    fw(GRID),
    fw(DOUBLE),
    fw(UNIFORM, 5),
    fw_block(UNIFORM),
    fw_block(GRID),
    Run(
        "fw_block",
        {"steps": 2},
        graph=UNIFORM,
        launches=[f"floydwarshall_{tile}" for tile in TILES] * 2,
        results=two_steps,
    ),
]
