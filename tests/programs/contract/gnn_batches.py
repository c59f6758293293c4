"""Mini-batches of a graph: what is drawn, and which features are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.programs.graphs.graph import Graph
from tests.programs.contract.entries import Arrays, Operation, Run, Warp
from tests.programs.contract.graphs import FIVE_TO_ONE, STAR

IN_STEP: dict[str, dict[str, object]] = {"gnn_sample": {"batch": 60, "second_fanout": 3}}


def gnn_sample(graph: Graph, batch: int = 7, first: int = 3, second: int = 2) -> Run:
    def results(before: Arrays) -> dict[str, Any]:
        return {
            "neighbours_0": drawn(graph, before, min(batch, graph.vertices), first),
        }

    def drawn(graph: Graph, before: Arrays, count: int, fanout: int) -> Any:
        def look(found: np.ndarray) -> None:
            """Each vertex has as many neighbours as it can have, in different places of its row."""
            assert found.dtype == np.int32
            rows = found.reshape(-1, fanout)[:count]
            degrees = np.sort(np.minimum(np.diff(graph.row), fanout))
            own = np.sort((rows >= 0).sum(axis=1))
            assert own.sum() <= degrees[-count:].sum()
            assert set(found[found >= 0].tolist()) <= set(graph.col.tolist())

        return look

    return Run(
        "gnn_sample",
        {"batch": batch, "first_fanout": first, "second_fanout": second, "width": 8},
        graph=graph,
        seed=2,
        launches=["sample_neighbours", "sample_neighbours", "gather_rows"],
        arrays=[
            *("row", "col", "features", "vertices_0", "picked_0", "neighbours_0"),
            *("vertices_1", "picked_1", "neighbours_1", "wanted", "gathered"),
        ],
        results=results,
    )


def arcs_of_one_vertex(found: list[Operation], before: Arrays, after: Arrays) -> None:
    """What is stored are targets of arcs of the vertex, each arc once."""
    row, col = before["row"], before["col"]
    number = 1
    own = int(after["vertices_0"][number])
    targets = col[row[own] : row[own + 1]].tolist()
    stored = after["neighbours_0"].reshape(-1, 3)[number]
    stored = stored[stored >= 0].tolist()
    assert len(stored) == min(3, len(targets))
    assert set(stored) <= set(targets)
    loads = [lanes for kind, name, lanes in found if (kind, name) == ("LOAD", "col")]
    arcs = [one for lanes in loads for one in lanes]
    assert len(arcs) == len(set(arcs)) == len(stored)
    assert all(row[own] <= one < row[own + 1] for one in arcs)


RUNS = [gnn_sample(STAR), gnn_sample(FIVE_TO_ONE, 5, 2, 40)]

ANY_GRAPH = [gnn_sample]

WARPS = [
    Warp(
        "gnn_sample",
        {"batch": 7, "first_fanout": 3, "second_fanout": 2, "width": 8},
        graph=STAR,
        warp=1,
        geometry=("sample_neighbours", 2, 128, 40, 0),
        check=arcs_of_one_vertex,
    ),
]
