"""Sums over neighbours: what they are, and which features are asked for."""

from __future__ import annotations

import numpy as np

from gpusim.programs.graphs.graph import Graph
from tests.programs.contract.entries import (
    LANES,
    WAIT,
    Arrays,
    Operation,
    Run,
    Warp,
    load,
    store,
)
from tests.programs.contract.graphs import FIVE, FIVE_TO_ONE, STAR, tails

IN_STEP: dict[str, dict[str, object]] = {"spmm": {}}


def spmm(graph: Graph, width: int = 5) -> Run:
    def results(before: Arrays) -> Arrays:
        features = before["features"].astype(float).reshape(graph.vertices, width)
        sums = np.zeros((graph.vertices, width))
        np.add.at(sums, tails(graph), features[graph.col])
        return {"out": sums.ravel()}

    return Run(
        "spmm",
        {"width": width},
        graph=graph,
        seed=2,
        launches=["spmm_csr"],
        arrays=["row", "col", "features", "out"],
        results=results,
    )


def one_neighbour(operations: list[Operation]) -> None:
    """Vertex 20's arc leads to vertex 0; features 32 to 39 of 40."""
    accesses = [one for one in operations if one[0] in ("LOAD", "STORE") or one == WAIT]
    assert accesses == [
        load("row", [20] * 32),
        load("row", [21] * 32),
        WAIT,
        load("col", [1]),
        WAIT,
        WAIT,
        load("features", list(range(32, 40))),
        WAIT,
        store("out", list(range(20 * 40 + 32, 20 * 40 + 40))),
    ]


def no_neighbour(operations: list[Operation]) -> None:
    accesses = [one for one in operations if one[0] in ("LOAD", "STORE")]
    assert accesses == [
        load("row", [21] * 32),
        load("row", [22] * 32),
        store("out", [21 * 40 + lane for lane in LANES]),
    ]


RUNS = [spmm(STAR), spmm(FIVE_TO_ONE, 70)]

ANY_GRAPH = [spmm]

WARPS = [
    Warp(
        "spmm",
        {"width": 40},
        graph=FIVE_TO_ONE,
        block=25 + FIVE[1] // 4,
        geometry=("spmm_csr", 50, 128, 32, 512),
        operations=one_neighbour,
    ),
    Warp(
        "spmm",
        {"width": 40},
        graph=FIVE_TO_ONE,
        block=FIVE[1] // 4,
        warp=1,
        operations=no_neighbour,
    ),
]
