"""Pannotia's bc and sssp: what they compute, and what their warps do."""

from __future__ import annotations

from functools import partial
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from gpusim.programs.graphs.generators import Grid, RodiniaRandom
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.graphs.uniform_random import UniformRandom
from gpusim.programs.pannotia.rows import transposed, whole_weights
from gpusim.programs.pannotia.sssp import UNREACHED
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
    reduce,
    store,
)
from tests.programs.contract.graphs import (
    AFTER,
    FIVE,
    FIVE_TO_ONE,
    STAR,
    levels,
    tails,
    to_networkx,
    without_double_arcs,
)

FEW: dict[str, object] = {"graph.vertices": 700}
IN_STEP: dict[str, dict[str, object]] = {"bc": FEW, "sssp": {}, "sssp_ell": {}}


# -- bc --------------------------------------------------------------------------------------------


def bc(graph: Graph, tolerance: float = 1e-4) -> Run:
    simple = without_double_arcs(graph)

    def launches(before: Arrays) -> list[str]:
        found = ["clean_bc"]
        for source in range(simple.vertices):
            depth = max(levels(simple, source)) + 1
            found += ["clean_1d_array"] + ["bfs_kernel"] * depth + ["backtrack_kernel"] * depth
        return found

    def results(before: Arrays) -> dict[str, Any]:
        expected = nx.betweenness_centrality(to_networkx(simple), normalized=False)
        return {"bc": [expected[v] for v in range(simple.vertices)]}

    return Run(
        "bc",
        graph=simple,
        launches=launches,
        arrays=["bc", "d", "sigma", "rho", "stop", "row", "col", "row_t", "col_t"],
        results=results,
        rel=tolerance,
        abs=tolerance,
    )


ONE_SOURCE = UniformRandom(200, 900).generate(1)
DEPTH = max(levels(ONE_SOURCE, 0)) + 1


def forward() -> list[Operation]:
    def arc(edge: int, target: int) -> list[Operation]:
        seen = [load("col", [edge]), WAIT, compute(2), load("d", [target]), WAIT, compute(9)]
        fresh = [store("stop", [0]), store("d", [target])]
        return [*seen, *fresh, load("rho", [0]), WAIT, compute(3), reduce("rho", [target])]

    begin = [compute(8), load("d", LANES), WAIT, load("row", [1]), load("row", [0]), WAIT]
    return [*begin, *arc(0, 599), *arc(1, 1)]


def own_levels_are_seen(operations: list[Operation]) -> None:
    assert sum(op[:2] == ("STORE", "d") for op in operations) == 1
    assert sum(op[:2] == ("REDUCE", "rho") for op in operations) == 2


BACKWARD = [
    compute(8),
    load("d", LANES),
    WAIT,
    load("row_t", [2]),
    load("row_t", [1]),
    WAIT,
    load("col_t", [3]),
    WAIT,
    compute(2),
    load("d", [0]),
    WAIT,
    load("rho", [1]),
    compute(5),
    load("rho", [0]),
    WAIT,
    compute(10),
    load("sigma", [1]),
    WAIT,
    reduce("sigma", [0]),
    load("bc", [1]),
    load("sigma", [1]),
    WAIT,
    store("bc", [1]),
]

BC_RUNS = [
    Run(
        "bc",
        {"sources": 1},
        graph=ONE_SOURCE,
        launches=[
            *("clean_bc", "clean_1d_array"),
            *(["bfs_kernel"] * DEPTH + ["backtrack_kernel"] * DEPTH),
        ],
        results=lambda _: {"d": levels(ONE_SOURCE, 0)},
    ),
    Run(
        "bc",
        {"sources": 1},
        graph=STAR,
        launches=["clean_bc", "clean_1d_array"] + ["bfs_kernel"] * 2 + ["backtrack_kernel"] * 2,
        arrays={
            **dict.fromkeys(("bc", "d", "sigma", "rho"), 2400),
            "stop": 4,
            "row": 2404,
            "col": 20,
            "row_t": 2404,
            "col_t": 20,
        },
        results=lambda _: {"d": levels(STAR, 0)},
    ),
    bc(RodiniaRandom(140).generate(2), 1e-3),
]

BC_WARPS = [
    Warp("bc", graph=STAR, launch=2, geometry=("bfs_kernel", 5, 128, 22, 0), operations=forward()),
    Warp(
        "bc",
        graph=graph_from_arcs("two", 300, np.array([0, 0]), np.array([5, 5])),
        launch=2,
        operations=own_levels_are_seen,
    ),
    Warp(
        "bc",
        graph=STAR,
        launch=4,
        geometry=("backtrack_kernel", 5, 128, 29, 0),
        operations=BACKWARD,
    ),
]

# -- sssp, sssp_ell --------------------------------------------------------------------------------


def bellman_ford(
    graph: Graph, source: int, seed: int, most: int | None
) -> tuple[NDArray[Any], int]:
    """Distances after at most `most` rounds, and rounds; whole ones are those of networkx."""
    reverse = transposed(graph)
    weight, head = whole_weights(reverse, seed).astype(int), tails(reverse)
    found = np.full(graph.vertices, UNREACHED)
    found[source] = 0
    rounds, changed = 0, True
    while changed and rounds < min(most or graph.vertices, graph.vertices - 1):
        before = found.copy()
        np.minimum.at(found, head, before[reverse.col] + weight)
        changed = bool((found != before).any())
        rounds += 1
    if most is None:
        made = nx.MultiDiGraph()
        made.add_nodes_from(range(graph.vertices))
        arcs = zip(reverse.col.tolist(), head.tolist(), weight.tolist(), strict=True)
        made.add_weighted_edges_from(arcs)
        paths = nx.single_source_dijkstra_path_length(made, source)
        assert found.tolist() == [paths.get(v, UNREACHED) for v in range(graph.vertices)]
    return found, rounds


def sssp(program: str, graph: Graph, source: int = 0, most: int | None = None) -> Run:
    found, rounds = bellman_ford(graph, source, 2, most)
    names = ["row", "col", "data"] if program == "sssp" else ["col", "data"]
    product = "spmv_min_dot_plus_kernel" if program == "sssp" else "ell_min_dot_plus_kernel"
    return Run(
        program,
        graph=graph,
        seed=2,
        parameters={"source": source, "rounds": most},
        launches=["vector_init"] + ["vector_assign", product, "vector_diff"] * rounds,
        arrays=[*names, "stop", "vector1", "vector2"],
        results=lambda _: {"vector2": found},
    )


WIDE, LONG = Grid(13, 12).generate(0), Grid(20, 5).generate(0)


def within_two_steps(before: Arrays) -> dict[str, Any]:
    def check(found: NDArray[Any]) -> None:
        assert (found < UNREACHED).sum() == 6, "all within two steps of the corner"

    return {"vector2": check}


def rows_of_four() -> list[Operation]:
    def group(first: int, origins: list[int]) -> list[Operation]:
        slots = [first + i for i in range(len(origins))]
        arcs = [load(name, [slot]) for name in ("data", "col") for slot in slots]
        paths = [load("vector1", [origin]) for origin in origins]
        return [*arcs, WAIT, *paths, WAIT, *[compute(4)] * len(origins), compute(5)]

    begin = [compute(8), load("row", LANES), load("row", AFTER), load("vector1", LANES), WAIT]
    return [*begin, *group(0, FIVE[:4]), *group(4, [50]), store("vector2", LANES)]


def coalesced_slots(operations: list[Operation]) -> None:
    vertices = [64 + lane for lane in LANES]
    assert operations[:3] == [compute(8), load("vector1", vertices), WAIT]
    for array, first in (("data", 3), ("col", 7)):
        assert operations[first : first + 4] == [
            load(array, [slot * 100 + vertex for vertex in vertices]) for slot in range(4)
        ]
    assert operations[12][:2] == ("LOAD", "vector1")
    assert operations[-1] == store("vector2", vertices)


def last_slots(operations: list[Operation]) -> None:
    assert operations[-1] == store("vector2", [96, 97, 98, 99])


VECTOR1, VECTOR2 = load("vector1", LANES), load("vector2", LANES)

SSSP_RUNS = [
    *(
        sssp(program, graph, source)
        for program in ("sssp", "sssp_ell")
        for graph, source in (
            (RodiniaRandom(200).generate(1), 3),
            (UniformRandom(150, 500).generate(4), 3),
            (WIDE, 0),
        )
    ),
    *(
        Run(
            program,
            graph=WIDE,
            seed=2,
            parameters={"rounds": 2},
            launches=sssp(program, WIDE, most=2).launches,
            results=within_two_steps,
        )
        for program in ("sssp", "sssp_ell")
    ),
    Run(
        "sssp_ell",
        graph=LONG,
        launches=sssp("sssp_ell", LONG).launches,
        arrays={"col": 1600, "data": 1600, "stop": 4, "vector1": 400, "vector2": 400},
        results=lambda _: {"vector2": bellman_ford(LONG, 0, 0, None)[0]},
    ),
]

SSSP_WARPS = [
    Warp(
        "sssp",
        graph=FIVE_TO_ONE,
        launch=2,
        geometry=("spmv_min_dot_plus_kernel", 2, 64, 24, 0),
        operations=rows_of_four(),
    ),
    Warp("sssp_ell", graph=LONG, launch=2, block=1, operations=coalesced_slots),
    Warp("sssp_ell", graph=LONG, launch=2, block=1, warp=1, operations=last_slots),
    Warp(
        "sssp",
        graph=LONG,
        geometry=("vector_init", 2, 64, 10, 0),
        operations=[compute(8), store("vector1", LANES), store("vector2", LANES)],
    ),
    Warp(
        "sssp",
        graph=LONG,
        launch=1,
        operations=[compute(8), VECTOR2, WAIT, store("vector1", LANES)],
    ),
    Warp(
        "sssp",
        graph=LONG,
        launch=3,
        operations=[compute(8), VECTOR2, VECTOR1, WAIT, store("stop", [0, 0])],
    ),
]

SPOKES = np.arange(1, 20_000)
SSSP_REFUSED = [
    *(
        Refused(
            program,
            {"source": 156},
            graph=WIDE,
            message="source = 156: grid-13x12 has 156 vertices",
        )
        for program in ("sssp", "sssp_ell")
    ),
    Refused(
        "sssp_ell",
        graph=graph_from_arcs("hub", 20_000, SPOKES, np.zeros_like(SPOKES)),
        message="hub has a vertex of in-degree 19999, too much",
    ),
]

# --------------------------------------------------------------------------------------------------


def slots_or_rows(graph: Graph) -> Run:
    """The ELL format, but for graphs without arcs, which have no slot."""
    return sssp("sssp_ell" if graph.arcs else "sssp", graph)


ANY_GRAPH = [bc, partial(sssp, "sssp"), slots_or_rows]
RUNS = [*BC_RUNS, *SSSP_RUNS]
WARPS = [*BC_WARPS, *SSSP_WARPS]
REFUSED = SSSP_REFUSED
