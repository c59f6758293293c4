"""Rodinia's bfs and backprop: what they compute, and what their warps do."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.graphs.generators import Grid, RodiniaRandom
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.graphs.k_way_tree import KWayTree
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
from tests.programs.contract.graphs import STAR, levels

IN_STEP: dict[str, dict[str, object]] = {"backprop": {}, "bfs": {"graph.vertices": 700}}

# -- bfs -------------------------------------------------------------------------------------------

FLAGS = ["nodes", "edges", "mask", "updating", "visited", "cost", "over"]


def bfs(graph: Graph, source: int | None = 0, first: int | None = None) -> Run:
    """A search from a source, or from where the graph's file or its first arc says."""
    start = source if first is None else first
    assert start is not None
    found = levels(graph, start)

    def results(before: Arrays) -> dict[str, Any]:
        assert np.flatnonzero(before["cost"] == 0).tolist() == [start]
        return {"cost": found}

    return Run(
        "bfs",
        {"source": source},
        graph=graph,
        launches=["bfs_kernel1", "bfs_kernel2"] * (max(found) + 1),
        arrays=FLAGS,
        results=results,
    )


PAIR = graph_from_arcs("pair", 4, np.array([2, 3]), np.array([3, 2]))
ARC = graph_from_arcs("arc", 2000, np.array([0, 1]), np.array([1, 0]))
SMALL = graph_from_arcs("small", 100, np.array([0]), np.array([1]))
TREE = KWayTree(40, 3).generate(0)
"""1 + 3 + 9 + 27 vertices; the last level of a whole search finds nothing."""

BFS_RUNS = [
    *map(bfs, (CoPapers(600, 16.0, 64, 32).generate(3), RodiniaRandom(1500).generate(1))),
    bfs(Grid(20, 13).generate(0)),
    bfs(PAIR, None, 2),
    bfs(Graph("told", PAIR.row, PAIR.col, source=1), None, 1),
    bfs(TREE, None, 0),
    Run(
        "bfs",
        {"levels": 2},
        graph=TREE,
        launches=["bfs_kernel1", "bfs_kernel2"] * 2,
        results=lambda _: {"cost": [level if level <= 2 else -1 for level in levels(TREE, 0)]},
    ),
    Run(
        "bfs",
        graph=ARC,
        launches=["bfs_kernel1", "bfs_kernel2"] * 2,
        arrays=dict(zip(FLAGS, (16000, 8, 2000, 2000, 2000, 8000, 1), strict=True)),
        results=lambda _: {"cost": levels(ARC, 0)},
    ),
]


def visiting() -> list[Operation]:
    def visit(edge: int, target: int) -> list[Operation]:
        return [
            *(compute(1), load("edges", [edge]), WAIT, compute(3), load("visited", [target]), WAIT),
            *(load("cost", [0]), WAIT, compute(7), store("cost", [target])),
            *(store("updating", [target]), load("nodes", [1]), load("nodes", [0]), WAIT),
            compute(5),
        ]

    begin = [compute(9), load("mask", LANES), WAIT, store("mask", [0])]
    node = [load("nodes", [1]), load("nodes", [0]), WAIT]
    return [*begin, *node, *visit(0, 599), *visit(1, 1)]


ADVANCING = [
    *(compute(9), load("updating", LANES), WAIT, store("mask", [1]), store("visited", [1])),
    *(store("over", [0]), store("updating", [1])),
]


def only_looked_at(operations: list[Operation]) -> None:
    """A visited neighbour."""
    look = [compute(1), load("edges", [2]), WAIT, compute(3), load("visited", [0]), WAIT]
    assert operations[-7:] == [*look, compute(5)]


BFS_WARPS = [
    Warp("bfs", graph=STAR, geometry=("bfs_kernel1", 2, 512, 22, 0), operations=visiting()),
    Warp(
        "bfs",
        graph=STAR,
        warp=1,
        operations=[compute(9), load("mask", [lane + 32 for lane in LANES]), WAIT],
    ),
    Warp(
        "bfs", graph=STAR, launch=1, geometry=("bfs_kernel2", 2, 512, 12, 0), operations=ADVANCING
    ),
    Warp("bfs", graph=STAR, launch=2, operations=only_looked_at),
    Warp("bfs", graph=SMALL, geometry=("bfs_kernel1", 1, 100, 22, 0)),
]

# -- backprop --------------------------------------------------------------------------------------


def trained(inputs: int) -> Run:
    """A training step, whose output layer's weights and target are the generator's next numbers."""

    def results(before: Arrays) -> dict[str, Any]:
        rng = np.random.default_rng(5)
        rng.random(inputs + 1, dtype=np.float32)
        rng.random((inputs + 1) * 17, dtype=np.float32)
        out, target = rng.random(17, dtype=np.float32).astype(float), float(rng.random())
        x, w = before["input"].astype(float), before["weights"].reshape(-1, 17).astype(float)
        hidden = 1 / (1 + np.exp(-(x @ w[:, 1:])))
        output = 1 / (1 + np.exp(-(out[0] + hidden @ out[1:])))
        error = output * (1 - output) * (target - output)
        delta = hidden * (1 - hidden) * out[1:] * error
        change = 0.3 * x[:, None] * delta

        def weights(found: NDArray[Any]) -> None:
            rows = found.reshape(-1, 17)
            assert rows[:, 1:] == pytest.approx(w[:, 1:] + change, rel=1e-5)
            assert rows[1:, 0] == pytest.approx(w[1:, 0]), "the bias column is not touched"

        def old(found: NDArray[Any]) -> None:
            assert found.reshape(-1, 17)[:, 1:] == pytest.approx(change, rel=1e-4, abs=1e-9)

        return {"delta": np.array([0, *delta]), "weights": weights, "old": old}

    return Run(
        "backprop",
        {"inputs": inputs},
        seed=5,
        launches=["bpnn_layerforward_CUDA", "bpnn_adjust_weights_cuda"],
        arrays=["input", "weights", "partial", "delta", "old"],
        results=results,
        rel=1e-4,
    )


PITCH_ROWS = [17 * (33 + 2 + y) + x + 1 for y in (0, 1) for x in range(16)]
UNITS = [35] * 16 + [36] * 16
DELTAS = list(range(1, 17)) * 2


def memory_of(operations: list[Operation]) -> list[Operation]:
    return [operation for operation in operations if operation[2]]


def forward(operations: list[Operation]) -> None:
    rows = PITCH_ROWS
    assert memory_of(operations) == [
        *(load("input", [35, 36]), load("weights", rows)),
        *(store("weights", rows), store("partial", [34, 35])),
    ]
    assert [op for op, _, _ in operations].count("BARRIER") == 8


def adjusting(operations: list[Operation]) -> None:
    rows, units, deltas = PITCH_ROWS, load("input", UNITS), load("delta", DELTAS)
    assert memory_of(operations) == [
        *(deltas, units, load("weights", rows), load("old", rows), store("weights", rows)),
        *(units, deltas, load("old", rows), store("old", rows)),
    ]


def bias_row(operations: list[Operation]) -> None:
    of = list(range(1, 17))
    assert memory_of(operations)[9:] == [
        *(load("weights", of), load("old", of), store("weights", of), store("old", of))
    ]


BACKPROP_WARPS = [
    Warp(
        "backprop",
        {"inputs": 64},
        block=2,
        warp=1,
        geometry=("bpnn_layerforward_CUDA", 4, 256, 20, 1088),
        operations=forward,
    ),
    Warp(
        "backprop",
        {"inputs": 64},
        launch=1,
        block=2,
        warp=1,
        geometry=("bpnn_adjust_weights_cuda", 4, 256, 27, 0),
        operations=adjusting,
    ),
    Warp("backprop", {"inputs": 64}, launch=1, operations=bias_row),
]

# --------------------------------------------------------------------------------------------------

ANY_GRAPH = [partial(bfs, source=0)]
RUNS = [*BFS_RUNS, *map(trained, (16, 160))]
WARPS = [*BFS_WARPS, *BACKPROP_WARPS]
REFUSED = [
    Refused("bfs", {"source": 4}, graph=PAIR, message="source = 4: pair has 4 vertices"),
    Refused("backprop", {"inputs": 40}, message="multiple of 16"),
]
