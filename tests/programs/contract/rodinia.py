"""Rodinia's programs on graphs, points and text: what they compute, and what their warps do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.graphs.generators import Grid, RodiniaRandom
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.graphs.k_way_tree import KWayTree
from gpusim.programs.rodinia.cfd import far_field
from gpusim.programs.rodinia.mummer import texel
from gpusim.programs.rodinia.streamcluster import POINT
from gpusim.programs.rodinia.suffix_tree import NOWHERE, ROOT, suffix_tree
from gpusim.programs.rodinia.tetrahedra import FAR_FIELD, WALL
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

IN_STEP: dict[str, dict[str, object]] = {
    "backprop": {},
    "bfs": {"graph.vertices": 700},
    "cfd": {},
    "kmeans": {},
    "mummer": {},
    "nn": {},
    "streamcluster": {},
}

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
        program="bfs",
        graph=graph,
        parameters={"source": source},
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
        program="bfs",
        graph=TREE,
        parameters={"levels": 2},
        launches=["bfs_kernel1", "bfs_kernel2"] * 2,
        results=lambda _: {"cost": [level if level <= 2 else -1 for level in levels(TREE, 0)]},
    ),
    Run(
        program="bfs",
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
    Warp(
        program="bfs",
        graph=STAR,
        geometry=("bfs_kernel1", 2, 512, 22, 0),
        operations=visiting(),
    ),
    Warp(
        program="bfs",
        graph=STAR,
        warp=1,
        operations=[compute(9), load("mask", [lane + 32 for lane in LANES]), WAIT],
    ),
    Warp(
        program="bfs",
        graph=STAR,
        launch=1,
        geometry=("bfs_kernel2", 2, 512, 12, 0),
        operations=ADVANCING,
    ),
    Warp(program="bfs", graph=STAR, launch=2, operations=only_looked_at),
    Warp(program="bfs", graph=SMALL, geometry=("bfs_kernel1", 1, 100, 22, 0)),
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
        program="backprop",
        parameters={"inputs": inputs},
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
        *(load("weights", of), load("old", of), store("weights", of), store("old", of)),
    ]


BACKPROP_WARPS = [
    Warp(
        program="backprop",
        parameters={"inputs": 64},
        block=2,
        warp=1,
        geometry=("bpnn_layerforward_CUDA", 4, 256, 20, 1088),
        operations=forward,
    ),
    Warp(
        program="backprop",
        parameters={"inputs": 64},
        launch=1,
        block=2,
        warp=1,
        geometry=("bpnn_adjust_weights_cuda", 4, 256, 27, 0),
        operations=adjusting,
    ),
    Warp(program="backprop", parameters={"inputs": 64}, launch=1, operations=bias_row),
]

# -- kmeans ----------------------------------------------------------------------------------------


def lloyd(
    points: NDArray[Any], clusters: int, iterations: int
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Centres, memberships and passes by Lloyd's algorithm in double precision."""
    points = points.astype(float)
    centers, member = points[:clusters], np.full(len(points), -1)
    for number in range(iterations):
        before = member
        member = ((points[:, None] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
        centers = np.array([points[member == c].mean(axis=0) for c in range(clusters)])
        if (member != before).mean() <= 0.001:
            return centers, member, number + 1
    return centers, member, iterations


def kmeans(points: int, features: int, clusters: int, iterations: int = 500) -> Run:
    def found(before: Arrays) -> tuple[NDArray[Any], NDArray[Any], int]:
        data = before["feature_flipped"].reshape(points, features)
        return lloyd(data, clusters, iterations)

    def results(before: Arrays) -> dict[str, Any]:
        centers, member, passes = found(before)
        assert passes == iterations or 2 < passes < 100

        def membership(of: NDArray[Any]) -> None:
            assert (of == member).mean() > 0.99

        def clusters_of(of: NDArray[Any]) -> None:
            assert of.reshape(clusters, features) == pytest.approx(centers, abs=1e-2)

        data = before["feature_flipped"].reshape(points, features)
        return {"feature": data.T.ravel(), "membership": membership, "clusters": clusters_of}

    return Run(
        program="kmeans",
        parameters={
            "points": points,
            "features": features,
            "clusters": clusters,
            "iterations": iterations,
        },
        seed=3,
        launches=lambda before: ["invert_mapping"] + ["kmeansPoint"] * found(before)[2],
        arrays={
            **dict.fromkeys(("feature_flipped", "feature"), 4 * points * features),
            "membership": 4 * points,
            "clusters": 4 * clusters * features,
        },
        results=results,
    )


def strides_over_points(operations: list[Operation]) -> None:
    threads = [2 * 256 + 32 + lane for lane in LANES]
    assert operations[:8] == [
        *(compute(8), load("feature_flipped", [34 * t for t in threads]), WAIT),
        *(store("feature", threads), compute(1)),
        *(load("feature_flipped", [34 * t + 1 for t in threads]), WAIT),
        store("feature", [t + 1300 for t in threads]),
    ]
    assert len(operations) == 1 + 4 * 34
    assert sum(int(op[1]) for op in operations[1:] if op[0] == "COMPUTE") == 34 + 5 * 8


def four_features_at_a_time() -> list[Operation]:
    threads = [5 * 256 + lane for lane in range(20)]
    loads = [load("feature", [t + 1300 * j for t in threads]) for j in range(6)]
    center = [*loads[:4], WAIT, compute(21), *loads[4:], WAIT, compute(13), compute(18)]
    return [compute(8), *center * 3, store("membership", threads)]


MANY = {"points": 1300, "features": 34, "clusters": 3}
KMEANS_WARPS = [
    Warp(  # 6 blocks, rounded up to a square
        program="kmeans",
        parameters=MANY,
        block=2,
        warp=1,
        geometry=("invert_mapping", 9, 256, 10, 0),
        operations=strides_over_points,
    ),
    *(Warp(program="kmeans", parameters=MANY, block=block, operations=[]) for block in (6, 7, 8)),
    Warp(
        program="kmeans",
        parameters={"points": 1300, "features": 6, "clusters": 3},
        launch=1,
        block=5,
        geometry=("kmeansPoint", 9, 256, 16, 0),
        operations=four_features_at_a_time(),
    ),
]

# -- nn --------------------------------------------------------------------------------------------


def nearest(records: int) -> Run:
    def results(before: Arrays) -> Arrays:
        places = before["locations"].reshape(-1, 2).astype(float)
        return {"distances": np.linalg.norm(places - (12.0, 100.0), axis=1)}

    return Run(
        program="nn",
        parameters={"records": records, "latitude": 12.0, "longitude": 100.0},
        seed=3,
        launches=["euclid"],
        arrays={"locations": 8 * records, "distances": 4 * records},
        results=results,
    )


RECORDS = [256 + 32 + lane for lane in range(12)]
NN_WARP = Warp(
    program="nn",
    parameters={"records": 300},
    block=1,
    warp=1,
    geometry=("euclid", 2, 256, 10, 0),
    operations=[
        *(compute(8), load("locations", [2 * record for record in RECORDS])),
        *(load("locations", [2 * record + 1 for record in RECORDS]), WAIT, compute(12)),
        store("distances", RECORDS),
    ],
)

# -- streamcluster ---------------------------------------------------------------------------------

ONE_CANDIDATE = {
    "points": 1000,
    "dimensions": 6,
    "fewest_centers": 3,
    "most_centers": 5,
    "candidates": 1,
}


def candidate(points: int) -> int:
    """The one candidate of three first centres: the generator's third draw."""
    rng = np.random.default_rng(2)
    rng.random((6, points), dtype=np.float32)
    rng.choice(points, 3, replace=False)
    return int(rng.integers(0, points, 1)[0])


def savings(points: int) -> Run:
    """What each point would save if one candidate were a centre."""

    def results(before: Arrays) -> dict[str, Any]:
        rows = before["coord"].reshape(6, -1).T.astype(float)
        distance = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
        assigned = before["p"].view(POINT)["assign"]
        centers, x = np.unique(assigned), candidate(points)
        assert len(centers) == 3
        cost = distance[:, centers].min(axis=1)
        assert (distance[np.arange(points), assigned] == cost).all()
        cheaper = distance[:, x] < cost
        assert 0 < cheaper.sum() < points
        saved = np.where(cheaper, distance[:, x] - cost, cost - distance[:, x])

        def work(found: NDArray[Any]) -> None:
            cells = found[: points * 4].reshape(points, 4)
            assert cells[cheaper, 3] == pytest.approx(saved[cheaper], abs=1e-5)
            for center in centers:  # the table may have them in any order
                own = ~cheaper & (assigned == center)
                column = np.flatnonzero(np.abs(cells[own]).sum(axis=0))
                assert len(column) <= 1
                assert cells[own].sum(axis=1) == pytest.approx(saved[own], abs=1e-5)

        return {"switch_membership": cheaper, "work_mem": work}

    return Run(
        program="streamcluster",
        parameters={**ONE_CANDIDATE, "points": points},
        seed=2,
        launches=["kernel_compute_cost"],
        arrays={
            "center_table": 4 * points,
            "switch_membership": points,
            "p": 32 * points,
            "coord": 24 * points,
            "work_mem": (points + 1) * 6 * 4,
        },
        results=results,
    )


def in_the_order_of_its_kernel(operations: list[Operation], before: Arrays, after: Arrays) -> None:
    x = candidate(1000)

    def row(number: int) -> list[Operation]:
        own = [number * 1000 + lane for lane in LANES]
        return [load("coord", own), load("coord", [number * 1000 + x] * 32)]

    assert operations[:18] == [
        *(compute(8), *row(0), *row(1), *row(2), *row(3), WAIT, compute(27)),
        *(*row(4), *row(5), WAIT, compute(15), load("p", [8 * lane for lane in LANES])),
    ]
    switching = np.flatnonzero(after["switch_membership"][:32]).tolist()
    staying = [lane for lane in LANES if lane not in switching]
    assert switching
    assert staying
    assign = before["p"].view(POINT)["assign"]
    table = [after["center_table"][assign[lane]] for lane in staying]
    own = [4 * lane + c for lane, c in zip(staying, table, strict=True)]
    new = [4 * lane + 3 for lane in switching]
    assert operations[18:] == [
        *(load("p", [8 * lane + 6 for lane in LANES]), WAIT, compute(2)),
        store("switch_membership", switching),
        *(load("p", [4 * lane + 2 for lane in staying]), WAIT),
        *(load("center_table", [assign[lane] for lane in staying]), WAIT),
        *(load("work_mem", new), WAIT, compute(1), store("work_mem", new)),
        *(load("work_mem", own), WAIT, compute(1), store("work_mem", own)),
    ]


def last_points(operations: list[Operation]) -> None:
    assert operations[1][2] == list(range(992, 1000))


STREAM_WARPS = [
    Warp(
        program="streamcluster",
        parameters=ONE_CANDIDATE,
        seed=2,
        geometry=("kernel_compute_cost", 2, 512, 24, 0),
        check=in_the_order_of_its_kernel,
    ),
    Warp(
        program="streamcluster",
        parameters=ONE_CANDIDATE,
        seed=2,
        block=1,
        warp=15,
        operations=last_points,
    ),
]

# -- cfd -------------------------------------------------------------------------------------------

CFD = (
    *("areas", "elements_surrounding_elements", "normals", "variables", "old_variables"),
    *("fluxes", "step_factors"),
)


def flux_of(state: NDArray[Any]) -> NDArray[Any]:
    """(5, 3) the Euler fluxes of a state."""
    density, momentum, energy = state[0], state[1:4], state[4]
    pressure = 0.4 * (energy - momentum @ momentum / density / 2)
    rows = [momentum, *(np.outer(momentum, momentum) / density + pressure * np.eye(3))]
    return np.array([*rows, (energy + pressure) * momentum / density])


def signal(state: NDArray[Any]) -> float:
    """Speed and speed of sound."""
    speed = float(np.linalg.norm(state[1:4])) / state[0]
    return float(speed + np.sqrt(1.4 * 0.4 * (state[4] / state[0] - speed**2 / 2)))


def flow_step(arrays: Arrays, variables: NDArray[Any]) -> NDArray[Any]:
    """One time step, element by element, in double precision."""
    n = variables.shape[1]
    neighbours = arrays["elements_surrounding_elements"].reshape(4, -1)
    normals = arrays["normals"].reshape(3, 4, -1).astype(float)
    old = variables
    factor = [0.5 / np.sqrt(arrays["areas"][e]) / signal(old[:, e]) for e in range(n)]
    for stage in range(3):
        new = old.copy()
        for e in range(n):
            total = np.zeros(5)
            own = variables[:, e]
            for face in range(4):
                other, normal = neighbours[face, e], normals[:, face, e]
                if other == WALL:
                    total[1:4] += normal * 0.4 * (own[4] - own[1:4] @ own[1:4] / own[0] / 2)
                    continue
                beyond = far_field().astype(float) if other == FAR_FIELD else variables[:, other]
                total += 0.5 * (flux_of(beyond) + flux_of(own)) @ normal
                if other >= 0:
                    size = np.linalg.norm(normal) * (signal(own) + signal(beyond))
                    total -= 0.1 * size * (own - beyond)
            new[:, e] += factor[e] / (4 - stage) * total
        variables = new
    return variables


def two_time_steps(before: Arrays) -> Arrays:
    count = before["variables"].size // 5
    expected = np.repeat(far_field().astype(float)[:, None], count, axis=1)
    for _ in range(2):
        expected = flow_step(before, expected)
    assert np.ptp(expected, axis=1).min() > 1e-3, "the body disturbs every variable"
    return {"variables": expected.ravel()}


STAGES = ["cuda_compute_flux", "cuda_time_step"] * 3


def still(arrays: Arrays) -> None:
    arrays["variables"][:] = 0


def far_field_everywhere(operations: list[Operation], before: Arrays, after: Arrays) -> None:
    assert not before["variables"].any()
    assert (after["variables"].reshape(5, -1)[:, LANES] == far_field()[:, None]).all()
    stores = [store("variables", [lane + 384 * j for lane in LANES]) for j in range(5)]
    assert operations == [compute(8), *stores]


def gathering(operations: list[Operation], before: Arrays, after: Arrays) -> None:
    threads, n = [192 + 64 + lane for lane in LANES], 768
    variables = [load("variables", [t + j * n for t in threads]) for j in range(5)]
    assert operations[:8] == [compute(8), *variables, WAIT, compute(60)]
    expected = []
    for face in range(4):
        neighbour = before["elements_surrounding_elements"][[t + face * n for t in threads]]
        inner = neighbour[neighbour >= 0].tolist()
        normals = [load("normals", [t + (face + 4 * a) * n for t in threads]) for a in range(3)]
        others = [load("variables", [e + j * n for e in inner]) for j in range(5)]
        expected += [
            load("elements_surrounding_elements", [t + face * n for t in threads]),
            *(*normals, WAIT, compute(18), *others, WAIT, compute(115)),
            *[compute(6)] * bool((neighbour == WALL).any()),
            *[compute(75)] * bool((neighbour == FAR_FIELD).any()),
        ]
    assert operations[8:-5] == expected
    assert operations[-5:] == [store("fluxes", [t + j * n for t in threads]) for j in range(5)]


def step_factors() -> list[Operation]:
    variables = [load("variables", [lane + 768 * j for lane in LANES]) for j in range(5)]
    area, factor = load("areas", LANES), store("step_factors", LANES)
    return [compute(8), *variables, area, WAIT, compute(40), factor]


def time_step() -> Iterator[Operation]:
    yield from (compute(8), load("step_factors", LANES))
    for j in (0, 4, 1, 2, 3):
        index = [lane + j * 768 for lane in LANES]
        yield from (load("old_variables", index), load("fluxes", index), WAIT)
        yield from (compute(10), store("variables", index))


CFD_RUNS = [
    Run(
        program="cfd",
        parameters={"elements": 250, "iterations": 2},
        seed=3,
        launches=["cuda_initialize_variables"] * 3 + ["cuda_compute_step_factor", *STAGES] * 2,
        results=two_time_steps,
        rel=0,
        abs=1e-4,
    ),
    Run(
        program="cfd",
        parameters={"elements": 700, "iterations": 1},
        seed=3,
        launches=["cuda_initialize_variables"] * 3 + ["cuda_compute_step_factor", *STAGES],
        arrays={
            name: 768 * 4 * words for name, words in zip(CFD, (1, 4, 12, 5, 5, 5, 1), strict=True)
        },
        results=lambda _: {},
    ),
]
BODY = {"elements": 700}
CFD_WARPS = [
    Warp(
        program="cfd",
        parameters={"elements": 200},
        edit=still,
        geometry=("cuda_initialize_variables", 2, 192, 8, 0),
        check=far_field_everywhere,
    ),
    Warp(
        program="cfd",
        parameters=BODY,
        seed=3,
        launch=4,
        block=1,
        warp=2,
        geometry=("cuda_compute_flux", 4, 192, 64, 0),
        check=gathering,
    ),
    Warp(
        program="cfd",
        parameters=BODY,
        seed=3,
        launch=3,
        geometry=("cuda_compute_step_factor", 4, 192, 18, 0),
        operations=step_factors(),
    ),
    Warp(
        program="cfd",
        parameters=BODY,
        seed=3,
        launch=5,
        geometry=("cuda_time_step", 4, 192, 16, 0),
        operations=list(time_step()),
    ),
]

# -- mummer ----------------------------------------------------------------------------------------


def longest_match(text: bytes, query: bytes) -> int:
    length = 0
    while length < len(query) and query[: length + 1] in text:
        length += 1
    return length


def longest_matches(before: Arrays) -> dict[str, Any]:
    """Every place of every query has its longest match."""
    text, tree = before["reference"].tobytes(), suffix_tree(before["reference"])
    parents = before["nodes"][texel(np.arange(len(tree.start)))]["parent"]
    queries = before["queries"].reshape(300, 22)[:, 1:-1]

    def check(found: NDArray[Any]) -> None:
        reported = 0
        for query, matches in zip(queries, found.reshape(300, 16), strict=True):
            for place, match in enumerate(matches):
                expected = longest_match(text, query[place:].tobytes())
                if expected < 5:
                    assert match["node"] == NOWHERE
                    continue
                reported += 1
                node, edge = int(match["node"]), int(match["edge_match_length"])
                top = int(parents[node]) if edge else node
                assert tree.depth[top] + edge == expected
                end = tree.start[node] + edge if edge else tree.end[node] + 1
                assert text[end - expected : end] == query[place : place + expected].tobytes()
        assert 0.5 < reported / found.size < 1

    return {"match_coords": check}


def walk_of_one_query(operations: list[Operation], before: Arrays, after: Arrays) -> None:
    query, tree = before["queries"][1:-1].tolist(), suffix_tree(before["reference"])
    expected = [compute(8), load("query_lengths", [0]), load("query_addresses", [0]), WAIT]
    expected.append(compute(18))

    def fetch(array: str, index: int, instructions: int = 0) -> None:
        expected.extend([load(array, [index]), WAIT, *[compute(instructions)] * (instructions > 0)])

    def at(node: int) -> int:
        return int(texel(np.array(node)))

    node, parent, matched = ROOT, ROOT, 0
    fetch("queries", 1)
    while matched < 21:
        fetch("children", at(node), 18)
        parent, node = node, int(tree.children[node, query[matched] - 1])
        fetch("nodes", at(node), 36)
        matched += 1
        fetch("queries", 1 + matched)
        for place in range(int(tree.start[node]) + 1, int(tree.end[node]) + 1):
            if matched == 21:
                break
            fetch("reference", place, 12)
            matched += 1
            fetch("queries", 1 + matched)
    expected += [compute(6), store("match_coords", [0])]
    fetch("nodes", at(parent), 12)
    assert operations[: len(expected)] == expected
    second = operations[len(expected) :]
    known = load("queries", [1 + int(tree.depth[parent])])
    assert second[:2] == [compute(18), known], "the rest is known"
    assert store("match_coords", [1]) in second
    assert "reference" not in [op[1] for op in second]


def share_that_matches(before: Arrays) -> dict[str, Any]:
    text = before["reference"].tobytes()
    whole = [row[1:-1].tobytes() in text for row in before["queries"].reshape(2000, 32)]
    assert np.mean(whole) == pytest.approx(0.7, abs=0.04)
    return {}


MUMMER_RUNS = [
    Run(
        program="mummer",
        parameters={
            "reference": 3000,
            "queries": 300,
            "query_length": 20,
            "min_match": 5,
            "matching": 0.8,
        },
        seed=4,
        launches=["mummergpuKernel"],
        arrays={
            "reference": 3001,
            "nodes": 2 << 20,
            "children": 2 << 20,
            "queries": 300 * 22,
            **dict.fromkeys(("query_addresses", "query_lengths"), 1200),
            "match_coords": 300 * 16 * 8,
        },
        results=longest_matches,
    ),
    Run(
        program="mummer",
        parameters={
            "reference": 20_000,
            "queries": 2000,
            "query_length": 30,
            "matching": 0.7,
        },
        seed=1,
        launches=["mummergpuKernel"],
        results=share_that_matches,
    ),
]
MUMMER_WARP = Warp(
    program="mummer",
    parameters={"reference": 2000, "queries": 1, "query_length": 21, "matching": 1.0},
    geometry=("mummergpuKernel", 1, 256, 32, 0),
    check=walk_of_one_query,
)

# --------------------------------------------------------------------------------------------------

ANY_GRAPH = [partial(bfs, source=0)]
RUNS = [
    *BFS_RUNS,
    *map(trained, (16, 160)),
    kmeans(512, 7, 4, 3),
    kmeans(700, 7, 4, 3),
    kmeans(2000, 5, 3),
    kmeans(1000, 34, 5, 2),
    *map(nearest, (1, 300, 1024)),
    *map(savings, (512, 700, 1000)),
    *CFD_RUNS,
    *MUMMER_RUNS,
]
WARPS = [
    *(*BFS_WARPS, *BACKPROP_WARPS, *KMEANS_WARPS, NN_WARP, *STREAM_WARPS, *CFD_WARPS),
    MUMMER_WARP,
]
REFUSED = [
    Refused(
        program="bfs",
        graph=PAIR,
        parameters={"source": 4},
        message="source = 4: pair has 4 vertices",
    ),
    Refused(program="backprop", parameters={"inputs": 40}, message="multiple of 16"),
    *(
        Refused(
            program="kmeans",
            parameters={"points": points, "features": features, "clusters": clusters},
            message=f"'clusters' must be at most {clusters - 1}",
        )
        for points, features, clusters in ((4, 3, 5), (10_000, 34, 482))
    ),
    Refused(
        program="streamcluster",
        parameters={"points": 10, "fewest_centers": 3, "most_centers": 11},
        message="'most_centers' must be from fewest_centers = 3 to",
    ),
    Refused(
        program="mummer",
        parameters={"reference": 50},
        message="'query_length' must be at most reference = 50: 100",
    ),
    Refused(
        program="mummer",
        parameters={"query_length": 10},
        message="'min_match' must be at most query_length = 10: 20",
    ),
]
