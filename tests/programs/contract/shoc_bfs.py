"""SHOC's bfs: its levels, and what its warps do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.graphs.k_way_tree import KWayTree
from gpusim.programs.shoc.bfs import UNSEEN
from tests.programs.contract.entries import (
    WAIT,
    Operation,
    Refused,
    Run,
    Start,
    Warp,
    compute,
    load,
    store,
)
from tests.programs.contract.graphs import levels
from tests.programs.drain import drain

IN_STEP: dict[str, dict[str, object]] = {"shoc_bfs": {}}

# -- shoc_bfs --------------------------------------------------------------------------------------

PAPERS = CoPapers(1100, 16.0, 64, 32).generate(3)
FAN = np.concatenate(([33, 5], np.arange(200, 238)))
"""Neighbours of vertex 33; a search from 5, whose only neighbour is 33, has seen two of them."""


def distances(graph: Graph, source: int) -> list[int]:
    """Arcs from the source to each vertex; `UNSEEN` if there is no way."""
    return [UNSEEN if level < 0 else level for level in levels(graph, source)]


def search(graph: Graph, source: int = 0) -> Run:
    levels = distances(graph, source)
    deepest = max(level for level in levels if level != UNSEEN)
    vertices, arcs = graph.vertices, len(graph.col)
    return Run(
        "shoc_bfs",
        {"source": source},
        graph=graph,
        launches=["BFS_kernel_warp"] * (deepest + 1),
        arrays={
            "levels": 4 * vertices,
            "edgeArray": 4 * vertices + 4,
            "edgeArrayAux": 4 * arcs,
            "flag": 4,
        },
        results=lambda before: {"levels": levels},
    )


def levels_can_be_limited() -> None:
    tree = KWayTree(100, 3).generate(0)
    program = Start("shoc_bfs", {"levels": 2}, graph=tree).application()
    assert len(drain(program)) == 2


def wavefronts_of_64_hold_two_groups_of_lanes() -> None:
    program = Start("shoc_bfs", graph=KWayTree(1024, 2).generate(0)).application()
    chunk = next(iter(next(program.launches()).run_block(0, 64)))
    vertex = (chunk.address[0, 3] - program.memory["levels"].base) // 4
    assert vertex.tolist() == [192] * 32 + [224] * 32


def look(vertex: int) -> list[Operation]:
    return [compute(4), load("levels", [vertex] * 32), WAIT, compute(11)]


def arcs_of_a_vertex(operations: list[Operation]) -> None:
    """Vertex 33 is current and has 40 neighbours, two of them seen; 34 is not."""

    def arcs(count: int, first: int, targets: Sequence[int], fresh: Sequence[int]) -> list[Any]:
        return [
            load("edgeArrayAux", range(first, first + count)),
            WAIT,
            compute(6),
            load("levels", targets),
            WAIT,
            compute(4),
            store("levels", fresh),
            store("flag", [0] * len(fresh)),
            compute(17),
        ]

    targets = FAN.tolist()
    assert operations[:35] == [
        compute(69),
        *look(32),
        *look(33),
        load("edgeArray", [34] * 32),
        load("edgeArray", [33] * 32),
        WAIT,
        compute(12),
        *arcs(32, 1, targets[:32], targets[2:32]),
        *arcs(8, 33, targets[32:], targets[32:]),
        *look(34),
    ]
    assert len(operations) == 35 + 29 * 4


def ragged(operations: list[Operation]) -> None:
    assert operations[-4:] == look(1499)
    assert len(operations) == 1 + 4 * (1500 - 1024 - 14 * 32)


def in_the_fan(block: int, warp: int, check: Any) -> Warp:
    tails = np.concatenate(([5], np.full(40, 33)))
    return Warp(
        "shoc_bfs",
        {"source": 5},
        graph=graph_from_arcs("fan", 1500, tails, np.concatenate(([33], FAN))),
        launch=1,
        block=block,
        warp=warp,
        geometry=("BFS_kernel_warp", 2, 1024, 20, 0),
        operations=check,
    )


RUNS = [
    search(KWayTree(2500, 2).generate(0)),
    search(PAPERS, 700),
    search(KWayTree(100, 2).generate(0)),
]

ANY_GRAPH = [search]

WARPS = [in_the_fan(0, 1, arcs_of_a_vertex), in_the_fan(1, 14, ragged)]

REFUSED = [
    Refused(
        "shoc_bfs",
        {"source": 100},
        graph=KWayTree(100, 3).generate(0),
        message="source = 100: 3-way-tree-100 has 100 vertices",
    )
]

CHECKS = [levels_can_be_limited, wavefronts_of_64_hold_two_groups_of_lanes]
